//! The kinds that the operator reconciles, from the CRDs it installs.

use std::fmt::Write as _;

use operator::Half;
use operator::install::definitions;
use oraclecloud::Catalogue;
use serde_json::Value;

pub(super) fn page() -> String {
    let mut page = String::from(
        "# Kinds\n\nThe kinds that `plimsoll crds` prints and `plimsoll operator` reconciles, generated from their CRDs by \
         `cargo xtask book`. `kubectl explain` shows the same on a cluster.\n",
    );
    for definition in Half::ALL.iter().flat_map(|half| definitions(*half, &Catalogue::standard())) {
        kind(&mut page, &definition["spec"]);
    }
    page
}

fn kind(page: &mut String, spec: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, group, scope) = (text(&spec["names"]["kind"]), text(&spec["group"]), text(&spec["scope"]));
    for version in spec["versions"].as_array().into_iter().flatten() {
        let schema = &version["schema"]["openAPIV3Schema"];
        let _infallible = write!(page, "\n## {kind}\n\n`{group}/{}`, {scope}. ", text(&version["name"]));
        let _infallible =
            writeln!(page, "{}\n\n| field | type | description |\n|---|---|---|", about(schema));
        for part in ["spec", "status"] {
            fields(page, part, &schema["properties"][part]);
        }
    }
}

fn fields(page: &mut String, path: &str, schema: &Value) {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let needed = if required.contains(&name.as_str()) { ", required" } else { "" };
        let _infallible = writeln!(page, "| `{path}` | {}{needed} | {} |", type_of(field), about(field));
        fields(page, &path, field);
        fields(page, &format!("{path}[]"), &field["items"]);
    }
}

fn type_of(schema: &Value) -> String {
    let name = schema["type"].as_str().unwrap_or("any");
    match (name, &schema["enum"]) {
        (_, Value::Array(allowed)) => {
            let allowed: Vec<String> =
                allowed.iter().filter(|it| !it.is_null()).map(Value::to_string).collect();
            format!("one of {}", allowed.join(", "))
        }
        ("array", _) => format!("list of {}", schema["items"]["type"].as_str().unwrap_or("any")),
        ("object", _) if schema["additionalProperties"].is_object() => {
            format!("map of {}", schema["additionalProperties"]["type"].as_str().unwrap_or("any"))
        }
        _ => name.to_owned(),
    }
}

/// The description on one line of a table.
fn about(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
