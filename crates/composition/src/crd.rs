//! The CustomResourceDefinitions of XRs and claims, as Crossplane generates them from an XRD.

mod schema;
mod served;

use diag::Diagnostic;
use serde_json::{Value, json};

use crate::codes;
use crate::definition::{Definition, Names, Scope, Version};
use crate::object;
use crate::protocol::Object;
pub use served::{fill_defaults, prune};

/// Names are used as label values, which end here.
const MAX_NAME: i64 = 63;

/// The CRD of the XRs of `definition`.
pub fn composite(definition: &Definition) -> Object {
    let (spec, scope) = (&definition.spec, definition.scope);
    let mut status = schema::status(scope);
    status.insert("crossplane".to_owned(), schema::engine_status());
    let engine = EngineFields {
        spec: schema::composite_spec(scope, spec.default_composition_update_policy),
        status,
        columns: schema::composite_columns(scope),
    };
    let crd_scope = if scope == Scope::Namespaced { "Namespaced" } else { "Cluster" };
    let name = object::name(&definition.object).unwrap_or_default();
    crd(definition, name, crd_scope, &spec.names, "composite", &engine)
}

/// The CRD of the claims of `definition`, if it offers any.
pub fn claim(definition: &Definition) -> Option<Object> {
    let spec = &definition.spec;
    let names = spec.claim_names.as_ref()?;
    let engine = EngineFields {
        spec: schema::claim_spec(spec.default_composite_delete_policy),
        // Crossplane gives claims `claimConditionTypes` too, though only XRs use it.
        status: schema::status(Scope::LegacyCluster),
        columns: schema::claim_columns(),
    };
    let name = format!("{}.{}", names.plural, spec.group);
    Some(crd(definition, &name, "Namespaced", names, "claim", &engine))
}

/// Whether an XRD defined `crd`, as `rendered` is: it has the category and, in every version, the engine's fields. Users do not
/// write such a CRD, so one without a controller has only lost it, for instance in a backup.
pub fn is_generated(crd: &Object, rendered: &Object) -> bool {
    let category = |crd: &Object| object::texts(crd, &["spec", "names", "categories"]).pop();
    let has_fields = |version: &Value| {
        let spec = version.pointer("/schema/openAPIV3Schema/properties/spec/properties");
        let has = |field| spec.is_some_and(|spec| spec.get(field).is_some());
        has("crossplane") || has("compositionRef") && has("compositionRevisionRef")
    };
    category(rendered)
        .is_some_and(|ours| object::texts(crd, &["spec", "names", "categories"]).contains(&ours))
        && object::list(crd, &["spec", "versions"]).all(has_fields)
}

/// What the engine adds to every version of a kind. Its properties override the user's of the same name.
struct EngineFields {
    spec: Object,
    status: Object,
    columns: Vec<Value>,
}

fn crd(
    definition: &Definition,
    name: &str,
    scope: &str,
    names: &Names,
    category: &str,
    engine: &EngineFields,
) -> Object {
    let versions: Value = definition.spec.versions.iter().map(|version| generated(version, engine)).collect();
    let mut labels = object::map(&definition.object, &["metadata", "labels"]).cloned().unwrap_or_default();
    let extra = &definition.spec.metadata;
    labels.extend(extra.labels.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))));
    let mut owner = object::controller_reference(&definition.object);
    // v1 is the stored version, and the one Crossplane names whichever version the XRD was written in.
    owner["apiVersion"] = "apiextensions.crossplane.io/v1".into();
    owner["kind"] = "CompositeResourceDefinition".into();
    let mut metadata = json!({"name": name, "ownerReferences": [owner]});
    if !labels.is_empty() {
        metadata["labels"] = labels.into();
    }
    if !extra.annotations.is_empty() {
        metadata["annotations"] = json!(extra.annotations);
    }
    let mut spec = json!({
        "group": definition.spec.group, "names": names_value(names, category), "scope": scope, "versions": versions,
    });
    if let Some(conversion) = &definition.spec.conversion {
        spec["conversion"] = conversion.clone();
    }
    object::object(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": metadata, "spec": spec,
    }))
}

fn names_value(names: &Names, category: &str) -> Value {
    let mut value = json!({"plural": names.plural, "kind": names.kind});
    for (key, name) in [("singular", &names.singular), ("listKind", &names.list_kind)] {
        if let Some(name) = name.as_ref().filter(|name| !name.is_empty()) {
            value[key] = name.as_str().into();
        }
    }
    if !names.short_names.is_empty() {
        value["shortNames"] = json!(names.short_names);
    }
    let categories = names.categories.iter().map(String::as_str).chain([category]);
    value["categories"] = categories.collect();
    value
}

/// A version with what is taken from the user's schema, and the engine's fields.
fn generated(version: &Version, engine: &EngineFields) -> Value {
    let none = Object::new();
    // An XRD in which a version has no schema is refused when it is read.
    let user = version.schema.as_ref().map_or(&none, |schema| &schema.open_api_v3);
    let mut schema = base_schema(user);
    for (part, properties) in [("spec", &engine.spec), ("status", &engine.status)] {
        for (key, value) in properties {
            schema["properties"][part]["properties"][key] = value.clone();
        }
    }
    let columns = version.additional_printer_columns.iter().chain(&engine.columns);
    let mut generated = json!({
        "name": version.name,
        "served": version.served,
        "storage": version.referenceable,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns.collect::<Vec<_>>(),
    });
    if version.deprecated {
        generated["deprecated"] = true.into();
    }
    if let Some(warning) = &version.deprecation_warning {
        generated["deprecationWarning"] = warning.as_str().into();
    }
    if let Some(scale) = &version.subresources.scale {
        generated["subresources"]["scale"] = scale.clone();
    }
    generated
}

const ROOT_KEYWORDS: [&str; 2] = ["description", "x-kubernetes-validations"];
const SPEC_KEYWORDS: [&str; 5] =
    ["required", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations", "oneOf", "description"];
const STATUS_KEYWORDS: [&str; 4] = ["required", "x-kubernetes-validations", "oneOf", "description"];

fn base_schema(user: &Object) -> Value {
    let wanted = object::nested(user, &["properties", "metadata", "properties", "name", "maxLength"]);
    let max_length = wanted.and_then(Value::as_i64).map_or(MAX_NAME, |wanted| wanted.min(MAX_NAME));
    let part = |name: &str, keywords: &[&str]| {
        let user = object::map(user, &["properties", name]);
        let properties = user.and_then(|user| object::map(user, &["properties"])).cloned();
        let mut part = json!({"type": "object", "properties": properties.unwrap_or_default()});
        copy(user, &mut part, keywords);
        part
    };
    let mut schema = json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": max_length}},
            },
            "spec": part("spec", &SPEC_KEYWORDS),
            "status": part("status", &STATUS_KEYWORDS),
        },
    });
    copy(Some(user), &mut schema, &ROOT_KEYWORDS);
    schema
}

fn copy(from: Option<&Object>, to: &mut Value, keywords: &[&str]) {
    for keyword in keywords {
        let value = from.and_then(|from| from.get(*keyword));
        if let Some(value) = value.filter(|value| !is_empty(value)) {
            to[*keyword] = value.clone();
        }
    }
}

/// Go leaves out what is empty.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// Warns about keywords of the user's schema that have no effect; Crossplane drops them silently.
pub(crate) fn dropped_keywords(user: &Object, version: &str, found: &mut Vec<Diagnostic>) {
    let root = format!("{version}.schema.openAPIV3Schema");
    let part = |name: &str| object::map(user, &["properties", name]);
    let mut check = |path: String, schema: Option<&Object>, known: &[&str]| {
        for key in schema.into_iter().flat_map(Object::keys) {
            if !matches!(key.as_str(), "type" | "properties") && !known.contains(&key.as_str()) {
                found.push(
                    Diagnostic::warning(
                        codes::DEFINITION_SCHEMA_DROPPED,
                        format!("{key} has no effect here"),
                    )
                    .field(format!("{path}.{key}"))
                    .hint("Move it to a property below, or express it with x-kubernetes-validations."),
                );
            }
        }
    };
    // `required: [spec]` is what every XR has.
    check(root.clone(), Some(user), &["description", "x-kubernetes-validations", "required"]);
    check(format!("{root}.properties.spec"), part("spec"), &SPEC_KEYWORDS);
    check(format!("{root}.properties.status"), part("status"), &STATUS_KEYWORDS);
}

#[cfg(test)]
mod tests;
