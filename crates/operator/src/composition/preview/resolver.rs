//! Gives functions what they require, read once for all XRs of a preview.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use composition::object;
use composition::protocol::{Match, Resource, ResourceSelector, Schema, SchemaSelector};
use diag::error_chain;
use functions::{ResolveError, ResolveFuture, Resolver};
use manifest::{Namespace, ObjectRef};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::composition::pass::SecretRights;
use crate::composition::schema;
use crate::composition::watches::Scope;
use crate::runtime::client::ObjectClient;

/// Read by the first that requires it.
type Once<T> = Arc<OnceCell<Result<T, ResolveError>>>;

pub(super) struct ReadResolver {
    client: ObjectClient,
    found: Mutex<BTreeMap<ResourceSelector, Once<Vec<Resource>>>>,
    schemas: Mutex<BTreeMap<SchemaSelector, Once<Schema>>>,
}

impl ReadResolver {
    pub(super) fn new(client: ObjectClient) -> Self {
        Self { client, found: Mutex::default(), schemas: Mutex::default() }
    }

    async fn read(&self, selector: &ResourceSelector) -> Result<Vec<Resource>, ResolveError> {
        let scope = Scope::required(selector).map_err(|error| ResolveError(error.to_string()))?;
        let session = self.client.session();
        let served = session.resource(&scope.gvk).await.map_err(|error| ResolveError(error_chain(&error)))?;
        let namespace = selector.namespace.as_deref().and_then(Namespace::new);
        if let Match::Name(name) = &selector.matching
            && served.namespaced == namespace.is_some()
        {
            // The right to get an object by its name is more common than the one to list.
            let target = ObjectRef::new(scope.gvk, namespace, name.clone());
            let read = self.client.read(&target).await.map_err(|error| ResolveError(error.text()))?;
            return Ok(read.map(|found| without_managers(Value::Object(found))).into_iter().collect());
        }
        let source = scope.source();
        let keep = |mut object| {
            (source.trim)(&mut object);
            object
        };
        let listed = session.list_kept(&source.gvk, &source.selection, &keep).await;
        let mut items = listed.map_err(|error| ResolveError(error_chain(&error)))?.items;
        items.sort_by_cached_key(|object| {
            let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            format!("{}/{}", text("/metadata/namespace"), text("/metadata/name"))
        });
        Ok(items.into_iter().map(without_managers).collect())
    }
}

/// Functions have no use for managedFields.
fn without_managers(mut object: Value) -> Resource {
    manifest::server_metadata::remove(object.get_mut("metadata"), manifest::server_metadata::OWNERSHIP);
    Resource::of(Value::Object(object::from_value(object)))
}

/// The same for one XR: without the Secrets that its functions may not be given.
pub(super) struct RightfulResolver<'a> {
    pub(super) all: &'a ReadResolver,
    pub(super) rights: SecretRights<'a>,
}

impl Resolver for RightfulResolver<'_> {
    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> ResolveFuture<'a, Vec<Resource>> {
        Box::pin(async move {
            let scope = Scope::required(selector).map_err(|error| ResolveError(error.to_string()))?;
            self.rights.check(&scope).await?;
            let cell = {
                let mut found = self.all.found.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(found.entry(selector.clone()).or_default())
            };
            cell.get_or_init(|| self.all.read(selector)).await.clone()
        })
    }

    fn schema<'a>(&'a self, selector: &'a SchemaSelector) -> ResolveFuture<'a, Schema> {
        Box::pin(async move {
            let cell = {
                let mut schemas = self.all.schemas.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(schemas.entry(selector.clone()).or_default())
            };
            cell.get_or_init(|| schema::of(self.all.client.session(), selector)).await.clone()
        })
    }
}
