//! Custom resources that stand for a cloud resource, for kinds whose status is a [`KindStatus`].

use std::fmt::Debug;

use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use kube::core::object::{HasSpec, HasStatus};
use operations::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::KindStatus;

/// A custom resource that stands for a cloud resource. There is nothing to implement: every kind that kube derives, with
/// a status that is a [`KindStatus`], is one.
pub trait ExternalObject:
    kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + PartialEq
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    type Spec: Sync;

    fn wanted(&self) -> &Self::Spec;

    /// The stored status.
    fn recorded(&self, now: Timestamp) -> Status;

    /// Sets the status; `answer`, a read of the resource, says what to show of it.
    fn show(&mut self, status: Status, answer: Option<&Value>);
}

impl<O> ExternalObject for O
where
    O: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + HasSpec<Spec: Sync>
        + HasStatus<Status: KindStatus>
        + Clone
        + Debug
        + PartialEq
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static,
{
    type Spec = <O as HasSpec>::Spec;

    fn wanted(&self) -> &Self::Spec {
        self.spec()
    }

    fn recorded(&self, now: Timestamp) -> Status {
        self.status().map(|status| status.recorded(now)).unwrap_or_default()
    }

    fn show(&mut self, status: Status, answer: Option<&Value>) {
        self.status_mut().get_or_insert_default().show(status, answer);
    }
}
