//! The custom resource definitions of cloud resources.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition,
};
use kube::CustomResourceExt as _;
use serde_json::{Map, Value, json};

use super::{Queue, Stream};

pub fn definitions() -> Vec<CustomResourceDefinition> {
    vec![
        definition(Queue::crd(), "DisplayName", ".spec.displayName"),
        definition(Stream::crd(), "Name", ".spec.name"),
    ]
}

/// What kube derives for a kind, with the columns that all kinds share and a cleaned-up schema. The column `name` shows the
/// field at `name_path`.
pub fn definition(
    mut derived: CustomResourceDefinition,
    name: &str,
    name_path: &str,
) -> CustomResourceDefinition {
    for version in &mut derived.spec.versions {
        version.additional_printer_columns = Some(columns(name, name_path));
        if let Some(validation) = &mut version.schema {
            let mut schema = serde_json::to_value(&*validation).expect("a schema is valid JSON");
            if let Some(root) = schema.get_mut("openAPIV3Schema") {
                polish(root);
            }
            *validation = serde_json::from_value(schema).expect("it still is a schema");
        }
    }
    derived
}

/// OSOK's columns, and between them the operation in flight.
fn columns(name: &str, name_path: &str) -> Vec<CustomResourceColumnDefinition> {
    vec![
        wide(column(name, "string", name_path)),
        column("Status", "string", ".status.status.conditions[-1].type"),
        column("Ready", "string", r#".status.conditions[?(@.type=="Ready")].status"#),
        column("Operation", "string", ".status.status.async.current.phase"),
        column("Percent", "number", ".status.status.async.current.percentComplete"),
        wide(column("Ocid", "string", ".status.status.ocid")),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]
}

fn column(name: &str, kind: &str, path: &str) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: kind.to_owned(),
        json_path: path.to_owned(),
        ..CustomResourceColumnDefinition::default()
    }
}

/// A column that is only shown with `-o wide`.
fn wide(column: CustomResourceColumnDefinition) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition { priority: Some(1), ..column }
}

/// Adapts a derived schema to Kubernetes. Null is not allowed: it would bypass the rules that keep a field from being
/// removed. There are no defaults: those of Rust types would become fields that the user did not write. Number formats are
/// ones that Kubernetes knows, since it warns about others.
fn polish(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    schema.remove("nullable");
    schema.remove("default");
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
        schema.insert("format".to_owned(), json!("int64"));
    }
    for name in ["items", "additionalProperties"] {
        if let Some(below) = schema.get_mut(name) {
            polish(below);
        }
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(Map::values_mut).for_each(polish);
}
