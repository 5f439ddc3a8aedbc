//! Objects with something at a provider: what passes need of them, which every derived kind with a status of ours has.

use std::fmt::Debug;

use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use kube::core::object::{HasSpec, HasStatus};
use operations::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::KindStatus;

/// An object with something at a provider. There is nothing to implement: a kind that kube derives, with a status
/// that is a [`KindStatus`], is one.
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
    /// What it asks for.
    type Spec: Sync;

    /// What it asks for.
    fn wanted(&self) -> &Self::Spec;

    /// What is on record for it.
    fn recorded(&self, now: Timestamp) -> Status;

    /// Puts `status` on record, and shows what `answer`, a read of its resource, says.
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
