//! Where an object keeps what deciding needs: the one thing that a kind's provider does not know.

use std::fmt::Debug;

use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use progress::{ExternalService, Status};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A kind at a provider, with the objects that ask for it.
pub trait ControlledKind: ExternalService {
    /// The objects.
    type Object: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + PartialEq
        + Serialize
        + DeserializeOwned
        + Send
        + Sync;

    /// What an object asks for.
    fn spec(object: &Self::Object) -> &Self::Spec;

    /// What is on record for an object; what an older operator left in flight is resumed.
    fn status(object: &Self::Object, now: Timestamp) -> Status;

    /// Puts `status` into an object, and what `answer`, a read of its resource, shows. Without an answer what was shown
    /// stays, as long as it is about the resource that the object is bound to.
    fn show(object: &mut Self::Object, status: Status, answer: Option<&Value>);
}
