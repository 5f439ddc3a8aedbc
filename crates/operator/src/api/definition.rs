//! The custom resource definition of a described kind.

use oraclecloud::{Catalogue, Kind};
use serde_json::{Value, json};

use super::schema;

/// The version of every kind.
pub const VERSION: &str = "v1beta1";

/// Marks a kind that was derived from Oracle's SDK and has not been exercised end to end.
const DERIVED: &str = "plimsoll.dev/derived";

pub fn definitions(kinds: &Catalogue) -> Vec<Value> {
    kinds.kinds().iter().map(|kind| definition(*kind)).collect()
}

/// The name of a kind's definition: `queues.queue.oracle.com`.
pub fn crd_name(kind: Kind) -> String {
    format!("{}.{}", kind.plural, kind.group())
}

pub fn definition(kind: Kind) -> Value {
    let described = kind.description();
    let noun = kind.noun();
    let text = |written: &Option<String>, otherwise: String| written.clone().unwrap_or(otherwise);
    let about = text(&described.doc.kind, format!("{} of Oracle Cloud.", described.name));
    let mut spec = schema::spec(kind);
    spec["description"] = json!(text(&described.doc.spec, format!("What is asked of the {noun}.")));
    let mut status = schema::status(kind);
    status["description"] =
        json!(text(&described.doc.status, "What is known about the resource.".to_owned()));
    let mut metadata = json!({"name": crd_name(kind)});
    if described.derived {
        metadata["annotations"] = json!({DERIVED: "true"});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": kind.group(),
            "names": {
                "kind": described.name,
                "plural": described.plural,
                "singular": described.name.to_lowercase(),
            },
            "scope": "Namespaced",
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns(kind),
                "schema": {"openAPIV3Schema": {
                    "description": about,
                    "title": described.name,
                    "type": "object",
                    "required": ["spec"],
                    "properties": {"spec": spec, "status": status},
                }},
            }],
        },
    })
}

/// OSOK's columns, and between them the operation in flight.
fn columns(kind: Kind) -> Vec<Value> {
    let column = |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    let wide = |mut column: Value| {
        column["priority"] = json!(1);
        column
    };
    let field = &kind.name_field;
    let title: String = field[..1].to_uppercase() + &field[1..];
    vec![
        wide(column(&title, "string", &format!(".spec.{field}"))),
        column("Status", "string", ".status.status.conditions[-1].type"),
        column("Ready", "string", r#".status.conditions[?(@.type=="Ready")].status"#),
        column("Operation", "string", ".status.status.async.current.phase"),
        column("Percent", "number", ".status.status.async.current.percentComplete"),
        wide(column("Ocid", "string", ".status.status.ocid")),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]
}
