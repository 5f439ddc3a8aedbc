//! Resolves the requirements of functions from files instead of a cluster.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use composition::object;
use composition::protocol::{Match, Object, Resource, ResourceSelector, Schema, SchemaSelector};
use functions::{ResolveFuture, Resolver};
use manifest::{ApiVersion, GroupVersionKind};
use serde_json::Value;

/// The nesting depth at which references stay as they are: some schemas refer to themselves.
const DEEPEST: usize = 32;

/// Objects and OpenAPI documents from files.
pub(in crate::commands) struct Files<'a> {
    objects: &'a [Object],
    schemas: &'a [Object],
    asked: Mutex<Asked>,
}

/// What functions and pipelines required, found or not, without duplicates and in order of first use.
#[derive(Clone, Debug, Default)]
pub(in crate::commands) struct Asked {
    pub(in crate::commands) resources: Vec<ResourceSelector>,
    pub(in crate::commands) schemas: Vec<SchemaSelector>,
}

impl<'a> Files<'a> {
    pub(in crate::commands) fn new(objects: &'a [Object], schemas: &'a [Object]) -> Self {
        Self { objects, schemas, asked: Mutex::default() }
    }

    pub(in crate::commands) fn asked(&self) -> Asked {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The matching objects, sorted by namespace and name.
    pub(in crate::commands) fn find(&self, selector: &ResourceSelector) -> Vec<Resource> {
        note(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner).resources, selector);
        let kind = selector.gvk();
        let has_labels = |object: &Object, labels: &BTreeMap<String, String>| {
            labels.iter().all(|(key, value)| {
                let found = object::nested(object, &["metadata", "labels", key]);
                found.and_then(Value::as_str) == Some(value.as_str())
            })
        };
        let fits = |object: &&Object| {
            GroupVersionKind::of(object) == kind
                && match &selector.matching {
                    Match::Name(name) => object::name(object) == Some(name.as_str()),
                    Match::Labels(labels) => has_labels(object, labels),
                    Match::All => true,
                }
                && selector.namespace.as_deref().is_none_or(|namespace| {
                    namespace.is_empty() || object::namespace(object) == Some(namespace)
                })
        };
        let mut found: Vec<&Object> = self.objects.iter().filter(fits).collect();
        found.sort_by_key(|object| {
            (object::namespace(object).unwrap_or_default(), object::name(object).unwrap_or_default())
        });
        found.into_iter().map(|object| Resource::of(Value::Object(object.clone()))).collect()
    }

    /// The schema of a kind with its references inlined.
    pub(in crate::commands) fn schema_of(&self, selector: &SchemaSelector) -> Schema {
        note(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner).schemas, selector);
        let Ok(api_version) = selector.api_version.parse::<ApiVersion>() else { return Schema::default() };
        let is_of = |schema: &Value| {
            let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
            let part =
                |one: &Value, key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            kinds.is_some_and(|kinds| {
                kinds.len() == 1
                    && part(&kinds[0], "group") == api_version.group()
                    && part(&kinds[0], "version") == api_version.version()
                    && part(&kinds[0], "kind") == selector.kind
            })
        };
        for document in self.schemas {
            let schemas = object::nested(document, &["components", "schemas"]).and_then(Value::as_object);
            let Some(schemas) = schemas else { continue };
            if let Some(schema) = schemas.values().find(|schema| is_of(schema)) {
                let inlined = inline(schema, schemas, DEEPEST);
                return Schema { openapi_v3: inlined.as_object().cloned() };
            }
        }
        Schema::default()
    }
}

fn note<T: Clone + PartialEq>(asked: &mut Vec<T>, selector: &T) {
    if !asked.contains(selector) {
        asked.push(selector.clone());
    }
}

/// The schema with its references inlined.
fn inline(schema: &Value, all: &Object, depth: usize) -> Value {
    match schema {
        Value::Object(object) => {
            let name = object.get("$ref").and_then(Value::as_str).and_then(|name| name.rsplit('/').next());
            if let (Some(target), 1..) = (name.and_then(|name| all.get(name)), depth) {
                return inline(target, all, depth - 1);
            }
            // A description beside a reference is written as `allOf` with one entry.
            if let Some([only]) = object.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
                && only.get("$ref").is_some()
            {
                let mut merged = inline(only, all, depth).as_object().cloned().unwrap_or_default();
                let beside = object.iter().filter(|(key, _)| *key != "allOf");
                merged.extend(beside.map(|(key, value)| (key.clone(), inline(value, all, depth))));
                return Value::Object(merged);
            }
            object.iter().map(|(key, value)| (key.clone(), inline(value, all, depth))).collect()
        }
        Value::Array(list) => list.iter().map(|value| inline(value, all, depth)).collect(),
        plain => plain.clone(),
    }
}

impl Resolver for Files<'_> {
    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> ResolveFuture<'a, Vec<Resource>> {
        Box::pin(async { Ok(self.find(selector)) })
    }

    fn schema<'a>(&'a self, selector: &'a SchemaSelector) -> ResolveFuture<'a, Schema> {
        Box::pin(async { Ok(self.schema_of(selector)) })
    }
}
