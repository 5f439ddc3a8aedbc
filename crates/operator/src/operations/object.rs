//! Custom resources that stand for a cloud resource.

use std::fmt::Debug;

use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use kube::core::object::{HasSpec, HasStatus};
use operations::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::{KindStatus, Queue, Stream};

/// A custom resource that stands for a cloud resource: a kind that kube derives, with a status that is a [`KindStatus`].
/// Everything is provided.
pub trait ExternalObject:
    kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + HasSpec<Spec: Sync>
    + HasStatus<Status: KindStatus>
    + Clone
    + Debug
    + PartialEq
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// The stored status.
    fn recorded(&self, now: Timestamp) -> Status {
        self.status().map(|status| status.recorded(now)).unwrap_or_default()
    }

    /// Sets the status; `answer`, a read of the resource, says what to show of it.
    fn show(&mut self, status: Status, answer: Option<&Value>) {
        self.status_mut().get_or_insert_default().show(status, answer);
    }
}

impl ExternalObject for Queue {}
impl ExternalObject for Stream {}
