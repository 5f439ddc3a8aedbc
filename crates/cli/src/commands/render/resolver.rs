//! Resolves the requirements of functions from files instead of a cluster.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use composition::protocol::{Match, Object, Resource, ResourceSelector, Schema, SchemaSelector};
use composition::{object, openapi};
use functions::{ResolveFuture, Resolver};
use manifest::GroupVersionKind;
use serde_json::Value;

/// Objects and OpenAPI documents from files.
pub(crate) struct FileResolver<'a> {
    objects: &'a [Object],
    schemas: &'a [Object],
    required: Mutex<Requirements>,
}

/// What functions and pipelines required, found or not, without duplicates and in order of first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requirements {
    pub(crate) resources: Vec<ResourceSelector>,
    pub(crate) schemas: Vec<SchemaSelector>,
}

impl<'a> FileResolver<'a> {
    pub(crate) fn new(objects: &'a [Object], schemas: &'a [Object]) -> Self {
        Self { objects, schemas, required: Mutex::default() }
    }

    pub(crate) fn requirements(&self) -> Requirements {
        self.required.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The matching objects, sorted by namespace and name.
    pub(crate) fn find(&self, selector: &ResourceSelector) -> Vec<Resource> {
        note(&mut self.required.lock().unwrap_or_else(PoisonError::into_inner).resources, selector);
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
    pub(crate) fn schema_of(&self, selector: &SchemaSelector) -> Schema {
        note(&mut self.required.lock().unwrap_or_else(PoisonError::into_inner).schemas, selector);
        let openapi_v3 = self.schemas.iter().find_map(|document| openapi::schema(document, selector));
        Schema { openapi_v3 }
    }
}

fn note<T: Clone + PartialEq>(required: &mut Vec<T>, selector: &T) {
    if !required.contains(selector) {
        required.push(selector.clone());
    }
}

impl Resolver for FileResolver<'_> {
    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> ResolveFuture<'a, Vec<Resource>> {
        Box::pin(async { Ok(self.find(selector)) })
    }

    fn schema<'a>(&'a self, selector: &'a SchemaSelector) -> ResolveFuture<'a, Schema> {
        Box::pin(async { Ok(self.schema_of(selector)) })
    }
}
