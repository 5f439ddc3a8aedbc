//! The fields the engine puts into the schemas of XRs and claims.

use serde_json::{Value, json};

use crate::composite::UpdatePolicy;
use crate::definition::{DeletePolicy, Scope};
use crate::protocol::Object;

/// The engine's properties of an XR's spec: directly in it, or under `crossplane`.
pub(super) fn composite_spec(scope: Scope, default_policy: Option<UpdatePolicy>) -> Object {
    let mut properties = composition_choice();
    if let Some(policy) = default_policy {
        properties["compositionUpdatePolicy"]["default"] = policy.as_str().into();
    }
    let mut reference = json!({
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": strings(&["apiVersion", "kind", "name"]),
    });
    // A namespaced XR composes in its own namespace only.
    if scope != Scope::Namespaced {
        reference["properties"]["namespace"] = json!({"type": "string"});
    }
    let references = json!({"type": "array", "items": reference, "x-kubernetes-list-type": "atomic"});
    properties.insert("resourceRefs".to_owned(), references);
    if scope == Scope::LegacyCluster {
        properties.insert("claimRef".to_owned(), reference_to(&["apiVersion", "kind", "namespace", "name"]));
        properties.insert("writeConnectionSecretToRef".to_owned(), reference_to(&["name", "namespace"]));
        return properties;
    }
    let crossplane = json!({
        "type": "object",
        "description": "Configures how Crossplane will reconcile this composite resource",
        "properties": properties,
    });
    [("crossplane".to_owned(), crossplane)].into_iter().collect()
}

/// The engine's properties of a claim's spec.
pub(super) fn claim_spec(default_policy: Option<DeletePolicy>) -> Object {
    let mut properties = composition_choice();
    let mut delete = json!({"type": "string", "enum": ["Background", "Foreground"]});
    if let Some(policy) = default_policy {
        delete["default"] = policy.as_str().into();
    }
    properties.insert("compositeDeletePolicy".to_owned(), delete);
    properties.insert("resourceRef".to_owned(), reference_to(&["apiVersion", "kind", "name"]));
    properties.insert("writeConnectionSecretToRef".to_owned(), reference_to(&["name"]));
    properties
}

/// The engine's properties of a status, as Crossplane has them.
pub(super) fn status(scope: Scope) -> Object {
    let mut condition = strings(&["message", "reason", "status", "type"]);
    condition.insert("lastTransitionTime".to_owned(), json!({"type": "string", "format": "date-time"}));
    condition.insert("observedGeneration".to_owned(), json!({"type": "integer", "format": "int64"}));
    let conditions = json!({
        "description": "Conditions of the resource.",
        "type": "array",
        "x-kubernetes-list-map-keys": ["type"],
        "x-kubernetes-list-type": "map",
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "reason", "status", "type"],
            "properties": condition,
        },
    });
    let mut properties = Object::new();
    properties.insert("conditions".to_owned(), conditions);
    if scope == Scope::LegacyCluster {
        let time = json!({"type": "string", "format": "date-time"});
        let details = json!({"type": "object", "properties": {"lastPublishedTime": time}});
        properties.insert("connectionDetails".to_owned(), details);
        properties.insert("claimConditionTypes".to_owned(), string_set());
    }
    properties
}

/// What this engine keeps in the status of XRs and Crossplane does not.
pub(super) fn engine_status() -> Value {
    let map_by = |key: &str, properties: Object, required: &[&str]| {
        json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key],
            "items": {"type": "object", "required": required, "properties": properties},
        })
    };
    json!({
        "type": "object",
        "description": "State and results that the engine keeps for this composite resource",
        "properties": {
            "conditionTypes": map_by("type", strings(&["type", "revision"]), &["type", "revision"]),
            "failure": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "reportedToClaim": {"type": "boolean"}},
            },
            "lastHandledReconcileAt": {"type": "string"},
            "pipeline": {
                "type": "array", "maxItems": 20, "x-kubernetes-list-type": "atomic",
                "items": {
                    "type": "object",
                    "required": ["step", "severity", "target", "message"],
                    "properties": strings(&["step", "severity", "target", "reason", "message"]),
                },
            },
            "retiredConditionTypes": string_set(),
        },
    })
}

/// The columns of an XR behind the user's.
pub(super) fn composite_columns(scope: Scope) -> Vec<Value> {
    let engine = if scope == Scope::LegacyCluster { ".spec" } else { ".spec.crossplane" };
    let mut revision = column("COMPOSITIONREVISION", &format!("{engine}.compositionRevisionRef.name"));
    revision["priority"] = 1.into();
    vec![
        condition_column("SYNCED", "Synced"),
        condition_column("READY", "Ready"),
        column("COMPOSITION", &format!("{engine}.compositionRef.name")),
        revision,
        age_column(),
    ]
}

/// The columns of a claim behind the user's.
pub(super) fn claim_columns() -> Vec<Value> {
    vec![
        condition_column("SYNCED", "Synced"),
        condition_column("READY", "Ready"),
        column("CONNECTION-SECRET", ".spec.writeConnectionSecretToRef.name"),
        age_column(),
    ]
}

/// How XRs and claims alike choose a composition.
fn composition_choice() -> Object {
    let selector = json!({
        "type": "object",
        "required": ["matchLabels"],
        "properties": {"matchLabels": {"type": "object", "additionalProperties": {"type": "string"}}},
    });
    [
        ("compositionRef", reference_to(&["name"])),
        ("compositionSelector", selector.clone()),
        ("compositionRevisionRef", reference_to(&["name"])),
        ("compositionRevisionSelector", selector),
        ("compositionUpdatePolicy", json!({"type": "string", "enum": ["Automatic", "Manual"]})),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

fn reference_to(fields: &[&str]) -> Value {
    json!({"type": "object", "required": fields, "properties": strings(fields)})
}

fn strings(keys: &[&str]) -> Object {
    keys.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect()
}

fn string_set() -> Value {
    json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}})
}

fn condition_column(name: &str, condition: &str) -> Value {
    column(name, &format!(".status.conditions[?(@.type=='{condition}')].status"))
}

fn column(name: &str, path: &str) -> Value {
    json!({"name": name, "type": "string", "jsonPath": path})
}

fn age_column() -> Value {
    json!({"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
}
