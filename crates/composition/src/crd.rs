//! The CustomResourceDefinitions of XRs and claims, as the reference generates them from an XRD.

mod schema;

use diag::Diagnostic;
use serde_json::{Value, json};

use crate::codes;
use crate::definition::{Definition, Names, Scope, Version};
use crate::object;
use crate::run::Object;

/// Why no CRD can be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrdError {
    /// A version has no schema.
    #[error("cannot generate CRD for {what:?} {name:?}: custom resource validation cannot be nil")]
    NoSchema {
        /// `Composite Resource` or `Composite Resource Claim`.
        what: &'static str,
        /// The XRD's name.
        name: String,
    },
    /// The XRD offers no claim.
    #[error("invalid resource claim names: missing names")]
    NoClaim,
    /// Claim and XR have a name in common.
    #[error("invalid resource claim names: {0:?} conflicts with composite resource name")]
    ClaimName(
        /// The name.
        String,
    ),
}

/// Names are used as label values, which end here.
const MAX_NAME: i64 = 63;

/// The CRD of the XRs of `definition`.
pub fn composite(definition: &Definition) -> Result<Object, CrdError> {
    let spec = &definition.spec;
    let scope = definition.scope;
    let mut versions = Vec::with_capacity(spec.versions.len());
    for version in &spec.versions {
        let mut generated = base_version(version)
            .ok_or_else(|| CrdError::NoSchema { what: "Composite Resource", name: name(definition) })?;
        let properties = schema::composite_spec(scope, spec.default_composition_update_policy);
        inject(&mut generated, "spec", properties);
        let mut properties = schema::status(scope);
        properties.insert("crossplane".to_owned(), schema::engine_status());
        inject(&mut generated, "status", properties);
        append_columns(&mut generated, schema::composite_columns(scope));
        versions.push(generated);
    }
    let crd_scope = if scope == Scope::Namespaced { "Namespaced" } else { "Cluster" };
    let crd_name = object::name(&definition.object).unwrap_or_default();
    Ok(crd(definition, crd_name, crd_scope, &spec.names, "composite", &versions))
}

/// The CRD of the claims of `definition`.
pub fn claim(definition: &Definition) -> Result<Object, CrdError> {
    let spec = &definition.spec;
    let names = spec.claim_names.as_ref().ok_or(CrdError::NoClaim)?;
    if let Some((_, name)) = spec.claim_name_conflict() {
        return Err(CrdError::ClaimName(name.to_owned()));
    }
    let mut versions = Vec::with_capacity(spec.versions.len());
    for version in &spec.versions {
        let mut generated = base_version(version)
            .ok_or_else(|| CrdError::NoSchema { what: "Composite Resource Claim", name: name(definition) })?;
        inject(&mut generated, "spec", schema::claim_spec(spec.default_composite_delete_policy));
        // The reference gives claims `claimConditionTypes` too, though only XRs use it.
        inject(&mut generated, "status", schema::status(Scope::LegacyCluster));
        append_columns(&mut generated, schema::claim_columns());
        versions.push(generated);
    }
    let crd_name = format!("{}.{}", names.plural, spec.group);
    Ok(crd(definition, &crd_name, "Namespaced", names, "claim", &versions))
}

fn name(definition: &Definition) -> String {
    object::name(&definition.object).unwrap_or_default().to_owned()
}

fn crd(
    definition: &Definition,
    name: &str,
    scope: &str,
    names: &Names,
    category: &str,
    versions: &[Value],
) -> Object {
    let mut labels = object::nested(&definition.object, &["metadata", "labels"])
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let extra = &definition.spec.metadata;
    labels.extend(extra.labels.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))));
    let mut owner = object::controller_reference(&definition.object);
    // v1 is the stored version, and the one the reference names whichever the XRD was written in.
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

/// A version with what is taken from the user's schema; nothing if there is none.
fn base_version(version: &Version) -> Option<Value> {
    let user = &version.schema.as_ref()?.open_api_v3;
    let mut generated = json!({
        "name": version.name,
        "served": version.served,
        "storage": version.referenceable,
        "schema": {"openAPIV3Schema": base_schema(user)},
        "subresources": {"status": {}},
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
    generated["additionalPrinterColumns"] = version.additional_printer_columns.clone().into();
    Some(generated)
}

const ROOT_KEYWORDS: [&str; 2] = ["description", "x-kubernetes-validations"];
const SPEC_KEYWORDS: [&str; 5] =
    ["required", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations", "oneOf", "description"];
const STATUS_KEYWORDS: [&str; 4] = ["required", "x-kubernetes-validations", "oneOf", "description"];

fn base_schema(user: &Object) -> Value {
    let wanted = object::nested(user, &["properties", "metadata", "properties", "name", "maxLength"]);
    let max_length = wanted.and_then(Value::as_i64).map_or(MAX_NAME, |wanted| wanted.min(MAX_NAME));
    let part = |name: &str, keywords: &[&str]| {
        let user = object::nested(user, &["properties", name]).and_then(Value::as_object);
        let properties = user.and_then(|user| user.get("properties")).and_then(Value::as_object).cloned();
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

/// Injected properties override the user's of the same name.
fn inject(version: &mut Value, part: &str, properties: Object) {
    let target = &mut version["schema"]["openAPIV3Schema"]["properties"][part]["properties"];
    for (key, value) in properties {
        target[key] = value;
    }
}

fn append_columns(version: &mut Value, columns: Vec<Value>) {
    let target = version["additionalPrinterColumns"].as_array_mut();
    target.expect("base_version makes it a list").extend(columns);
}

/// Warns of what the user's schema says without effect; the reference drops it silently.
pub(crate) fn dropped_keywords(user: &Object, version: &str, found: &mut Vec<Diagnostic>) {
    let root = format!("{version}.schema.openAPIV3Schema");
    let part = |name: &str| object::nested(user, &["properties", name]).and_then(Value::as_object);
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
