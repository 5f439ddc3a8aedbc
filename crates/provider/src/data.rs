//! Data sources: manifests split into single objects, and objects as they are in a cluster.

mod glob;
mod input;
mod kustomize;
mod live_object;
mod manifests;
mod objects;
mod split_source;

use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{ReadDataRequest, ReadDataResponse};
use tfplugin::value::Object;

use crate::context::Context;

pub(crate) use live_object::{LiveObject, look, shown, validate, wait_for};
pub(crate) use objects::Objects;
pub(crate) use split_source::{YAML_SCOPED, YAML_SPLIT, split};

/// The response if the cluster is not known yet and the client can wait for it.
fn deferred(context: &Context, request: &ReadDataRequest) -> Option<ReadDataResponse> {
    let deferred = context.read_deferral(request.config.get("cluster"), request.deferral_allowed)?;
    Some(ReadDataResponse { deferred: Some(deferred), ..ReadDataResponse::default() })
}

/// The response with the values read and their diagnostics, or with the errors.
fn respond(read: Result<(Object, Diagnostics), Diagnostics>) -> ReadDataResponse {
    match read {
        Ok((state, diagnostics)) => {
            ReadDataResponse { state: Some(state), diagnostics, ..ReadDataResponse::default() }
        }
        Err(diagnostics) => ReadDataResponse { diagnostics, ..ReadDataResponse::default() },
    }
}
