//! Writes `src/schema/builtin.txt` from the OpenAPI documents that ship with Kubernetes.
//!
//! ```sh
//! cd tools/control-plane && documents=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)/api/openapi-spec/v3
//! cd ../.. && cargo run -p fields --example schema-table -- "$documents" > crates/fields/src/schema/builtin.txt
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Context as _, bail};
use serde_json::Value;

const REFERENCE: &str = "#/components/schemas/io.k8s.";
const HEADER: &str = "\
# What the API server knows about lists, maps and quantities of built-in kinds, beyond what a value shows by itself.
# Written by examples/schema-table.rs; src/schema/table.rs says how to read it.";

type Types = BTreeMap<String, Value>;

fn main() -> anyhow::Result<()> {
    let directory = std::env::args().nth(1).context("give the directory of the OpenAPI v3 documents")?;
    Ok(std::io::stdout().write_all(table(&directory)?.as_bytes())?)
}

/// The table of the documents in `directory`.
pub(crate) fn table(directory: &str) -> anyhow::Result<String> {
    let types = read_types(directory)?;
    let kinds = kinds(&types);
    let reachable = reachable(&types, kinds.values().map(String::as_str));

    let mut table = format!("{HEADER}\n");
    for (kind, name) in kinds {
        writeln!(table, "kind {kind} {name}")?;
    }
    for name in reachable {
        table.push_str(&describe(&types, &name)?);
    }
    Ok(table)
}

/// All types of all documents, by name without the leading `io.k8s.`.
fn read_types(directory: &str) -> anyhow::Result<Types> {
    let mut types = Types::new();
    for file in std::fs::read_dir(directory).with_context(|| format!("listing {directory}"))? {
        let path = file?.path();
        let text = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let mut document: Value =
            serde_json::from_slice(&text).with_context(|| format!("parsing {}", path.display()))?;
        let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas").map(Value::take)
        else {
            continue;
        };
        let named = schemas
            .into_iter()
            .filter_map(|(name, schema)| name.strip_prefix("io.k8s.").map(|name| (name.to_owned(), schema)));
        types.extend(named);
    }
    Ok(types)
}

/// `group/version Kind` to type name, of everything that is an object of its own.
fn kinds(types: &Types) -> BTreeMap<String, String> {
    let mut kinds = BTreeMap::new();
    for (name, schema) in types {
        let is_object = schema
            .pointer("/properties/metadata")
            .and_then(reference)
            .is_some_and(|metadata| metadata.ends_with(".ObjectMeta"));
        let names = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        for gvk in names.into_iter().flatten().filter(|_| is_object) {
            let part = |key: &str| gvk[key].as_str().unwrap_or_default();
            let separator = if part("group").is_empty() { "" } else { "/" };
            let kind = format!("{}{separator}{} {}", part("group"), part("version"), part("kind"));
            kinds.insert(kind, name.clone());
        }
    }
    kinds
}

fn reachable<'a>(types: &Types, roots: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<String> = roots.map(str::to_owned).collect();
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            open.extend(types.get(&name).into_iter().flat_map(references));
        }
    }
    found
}

fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(fields) => reference(schema)
            .map(str::to_owned)
            .into_iter()
            .chain(fields.values().flat_map(references))
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref"))?.as_str()?.strip_prefix(REFERENCE)
}

/// The lines of one type; none when nothing refers to it by name.
fn describe(types: &Types, name: &str) -> anyhow::Result<String> {
    let schema = &types[name];
    if named_shape(types, name)? != name {
        return Ok(String::new());
    }
    let mut lines = String::new();
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        let shape = shape(types, schema).with_context(|| format!("field {field} of {name}"))?;
        if shape != "plain" {
            writeln!(lines, "  {field} {shape}")?;
        }
    }
    let atomic = if schema["x-kubernetes-map-type"] == "atomic" { " atomic" } else { "" };
    Ok(format!("type {name}{atomic}\n{lines}"))
}

fn shape(types: &Types, schema: &Value) -> anyhow::Result<String> {
    if let Some(name) = reference(schema) {
        let shape = named_shape(types, name)?;
        let map_type = schema["x-kubernetes-map-type"].as_str();
        return Ok(map_type.map_or(shape.clone(), |map_type| format!("{map_type} {shape}")));
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return Ok("int-or-string".to_owned());
    }
    match schema["type"].as_str() {
        Some("array") => list_shape(types, schema),
        Some("object") => match schema.get("additionalProperties") {
            Some(element) => {
                let atomic = if schema["x-kubernetes-map-type"] == "atomic" { "atomic " } else { "" };
                Ok(format!("{atomic}map {}", shape(types, element)?))
            }
            // Content without a schema is held as a whole.
            None => Ok("atomic plain".to_owned()),
        },
        _ => Ok("plain".to_owned()),
    }
}

fn named_shape(types: &Types, name: &str) -> anyhow::Result<String> {
    let schema = types.get(name).with_context(|| format!("type {name} is missing"))?;
    Ok(match name.rsplit('.').next().unwrap_or_default() {
        "Quantity" => "quantity".to_owned(),
        "IntOrString" => "int-or-string".to_owned(),
        _ if schema.get("properties").is_some() && is_plain(schema) => "plain".to_owned(),
        _ if schema.get("properties").is_some() => name.to_owned(),
        // Text with a format, such as times.
        _ if schema["type"].is_string() && schema["type"] != "object" => "plain".to_owned(),
        _ => "atomic plain".to_owned(),
    })
}

/// Whether a value of the type shows everything about it. A field of another named type may do so too, but then
/// following its `$ref` costs a reader nothing.
fn is_plain(schema: &Value) -> bool {
    let fields = schema["properties"].as_object();
    schema["x-kubernetes-map-type"] != "atomic"
        && fields.into_iter().flatten().all(|(_, field)| {
            reference(field).is_none() && field["type"] != "array" && field["type"] != "object"
        })
}

fn list_shape(types: &Types, schema: &Value) -> anyhow::Result<String> {
    let element = shape(types, &schema["items"])?;
    match schema["x-kubernetes-list-type"].as_str() {
        None | Some("atomic") => Ok(format!("list {element}")),
        Some("set") => Ok(format!("set {element}")),
        Some("map") => {
            let item = reference(&schema["items"]).and_then(|name| types.get(name));
            let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
            let keys = keys.filter_map(Value::as_str).map(|key| {
                let default = item.map_or(&Value::Null, |item| &item["properties"][key]["default"]);
                if default.is_null() { key.to_owned() } else { format!("{key}={default}") }
            });
            Ok(format!("keyed {} {element}", keys.collect::<Vec<_>>().join(",")))
        }
        Some(other) => bail!("list type {other} is new"),
    }
}
