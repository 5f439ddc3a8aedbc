//! What commands share: the terminal, the process, the input files, and the cluster.

pub(crate) mod age;
pub(crate) mod applyset;
pub(crate) mod ask;
pub(crate) mod batch;
pub(crate) mod catalogue;
pub(crate) mod cause;
pub(crate) mod cloud_operation;
pub(crate) mod completion;
pub(crate) mod concurrency;
pub(crate) mod connect;
pub(crate) mod content;
pub(crate) mod definitions;
pub(crate) mod exit;
pub(crate) mod files;
pub(crate) mod in_flight;
pub(crate) mod informer;
pub(crate) mod kinds;
pub(crate) mod managed_object;
pub(crate) mod mask_key;
pub(crate) mod multicall;
pub(crate) mod owner_tree;
pub(crate) mod platform;
pub(crate) mod printer;
pub(crate) mod private_file;
pub(crate) mod process;
pub(crate) mod refusal;
pub(crate) mod report;
#[cfg(has_sandbox)]
pub(crate) mod sandbox_progress;
pub(crate) mod saved_plan;
pub(crate) mod targets;
pub(crate) mod tty;

use manifest::{Namespace, ObjectRef};
use serde_json::Value;

/// `fields` about an object, with the fields that identify it.
pub(crate) fn object_json(object: &ObjectRef, mut fields: Value) -> Value {
    fields["apiVersion"] = object.api_version().to_string().into();
    fields["kind"] = object.kind().into();
    fields["namespace"] = object.namespace.as_ref().map(Namespace::as_str).into();
    fields["name"] = object.name.as_str().into();
    fields
}
