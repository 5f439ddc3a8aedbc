//! What functions require, from stores that are opened for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use composition::composition::Composition;
use composition::protocol::{Match, Resource, ResourceSelector, Schema, SchemaSelector};
use composition::requeue::ContentHash;
use diag::error_chain;
use functions::{ResolveError, ResolveFuture, Resolver};
use serde_json::Value;

use super::observe::content_hash;
use crate::composition::engine::Engine;
use crate::composition::pass::{Actor, SecretRights};
use crate::composition::schema;
use crate::composition::watches::{Scope, Watched, is_secret};

/// A store, and the objects that were last given from it.
pub(super) type Opened = (Arc<Watched>, Vec<ContentHash>);

/// Gives functions what they require for one XR, in one reconcile.
pub(super) struct StoreResolver<'a> {
    engine: &'a Engine,
    actor: &'a Actor,
    rights: SecretRights<'a>,
    opened: Mutex<BTreeMap<Scope, Opened>>,
}

impl<'a> StoreResolver<'a> {
    pub(super) fn new(engine: &'a Engine, actor: &'a Actor, revision: &Composition) -> Self {
        Self { engine, actor, rights: SecretRights::new(actor, revision), opened: Mutex::default() }
    }

    /// The stores that were opened.
    pub(super) fn into_opened(self) -> BTreeMap<Scope, Opened> {
        self.opened.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, scope: &Scope) -> Arc<Watched> {
        let watched = self.engine.watches.open(scope);
        let mut opened = lock(&self.opened);
        Arc::clone(&opened.entry(scope.clone()).or_insert((watched, Vec::new())).0)
    }

    /// The objects in the store of `scope`, which is open.
    fn give(&self, scope: &Scope) -> Vec<Arc<Value>> {
        let mut opened = lock(&self.opened);
        let Some((watched, given)) = opened.get_mut(scope) else { return Vec::new() };
        let found: Vec<Arc<Value>> = watched.store.state().collect();
        *given = found.iter().filter_map(|object| content_hash(object)).collect();
        found
    }

    /// Objects as they are now, of which no copy is kept. Only the TTL of its answer makes the function see changes.
    async fn list(&self, scope: &Scope) -> Result<Vec<Resource>, ResolveError> {
        let source = scope.source();
        let client = if self.rights.include(scope) { &self.engine.client } else { &self.actor.client };
        let keep = |mut object| {
            (source.trim)(&mut object);
            Resource::of(object)
        };
        let listed = client.session().list_kept(&source.gvk, &source.selection, &keep).await;
        listed.map(|listed| listed.items).map_err(|error| ResolveError(error_chain(&error)))
    }
}

impl Resolver for StoreResolver<'_> {
    fn size<'a>(&'a self, selector: &'a ResourceSelector) -> ResolveFuture<'a, usize> {
        Box::pin(async move {
            let scope = Scope::required(selector).map_err(|error| ResolveError(error.to_string()))?;
            if is_listed(selector, &scope) {
                return Ok(0);
            }
            self.rights.check(&scope).await?;
            let watched = self.open(&scope);
            watched.ready().await.map_err(ResolveError)?;
            Ok(watched.store.size())
        })
    }

    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> ResolveFuture<'a, Vec<Resource>> {
        Box::pin(async move {
            let scope = Scope::required(selector).map_err(|error| ResolveError(error.to_string()))?;
            if is_listed(selector, &scope) {
                return self.list(&scope).await;
            }
            self.rights.check(&scope).await?;
            self.open(&scope).ready().await.map_err(ResolveError)?;
            let mut found = self.give(&scope);
            found.sort_by_cached_key(|object| {
                let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                format!("{}/{}", text("/metadata/namespace"), text("/metadata/name"))
            });
            let owned =
                |object: Arc<Value>| Arc::try_unwrap(object).unwrap_or_else(|shared| Value::clone(&shared));
            Ok(found.into_iter().map(|object| Resource::of(owned(object))).collect())
        })
    }

    fn schema<'a>(&'a self, selector: &'a SchemaSelector) -> ResolveFuture<'a, Schema> {
        Box::pin(schema::of(self.engine.client.session(), selector))
    }
}

/// Whether the objects are listed whenever they are needed: Secrets are watched only by their names.
fn is_listed(selector: &ResourceSelector, scope: &Scope) -> bool {
    is_secret(&scope.gvk) && !matches!(selector.matching, Match::Name(_))
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
