//! What is kept of objects that are listed with their state: how each stands, and the cloud operation in progress.

use std::collections::HashMap;
use std::sync::Arc;

use cluster::{Error, Selection, Session};
use manifest::{GroupVersionKind, ObjectRef};
use readiness::Health;
use serde_json::Value;

use super::{Informers, Shelf, Stores, uid};
use crate::support::cloud_operation::CloudOperation;
use crate::support::owner_tree::reference_of;

/// How an object stands.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) target: ObjectRef,
    pub(crate) created: Option<String>,
    /// Whether another object owns it.
    pub(crate) is_owned: bool,
    pub(crate) health: Health,
    pub(crate) operation: Option<CloudOperation>,
}

impl Summary {
    pub(crate) fn of(object: &Value) -> Option<Self> {
        let metadata = &object["metadata"];
        Some(Self {
            target: reference_of(object)?,
            created: metadata["creationTimestamp"].as_str().map(str::to_owned),
            is_owned: metadata["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty()),
            health: Health::of(object, false),
            operation: CloudOperation::of(object),
        })
    }
}

/// Summaries by uid.
#[derive(Default)]
pub(crate) struct Summaries(HashMap<String, Arc<Summary>>);

impl Summaries {
    pub(super) fn all(&self) -> Vec<Arc<Summary>> {
        self.0.values().cloned().collect()
    }
}

impl Shelf for Summaries {
    async fn list(
        session: &Session,
        gvk: &GroupVersionKind,
        selection: &Selection,
    ) -> Result<(Self, String), Error> {
        let read = |object: Value| Some((uid(&object), Arc::new(Summary::of(&object)?)));
        let listed = session.list_kept(gvk, selection, &read).await?;
        Ok((Self(listed.items.into_iter().flatten().collect()), listed.resource_version))
    }

    fn put(&mut self, object: Value) {
        if let Some(summary) = Summary::of(&object) {
            self.0.insert(uid(&object), Arc::new(summary));
        }
    }

    fn remove(&mut self, uid: &str) {
        self.0.remove(uid);
    }

    fn of(informers: &Informers) -> &Stores<Self> {
        &informers.summaries
    }
}
