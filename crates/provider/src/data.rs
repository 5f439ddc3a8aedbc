//! Data sources: manifests split into single objects, and an object as it is in a cluster.

mod glob;
mod input;
mod kustomize;
mod live_object;
mod manifests;
mod split_source;

use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::ReadDataResponse;
use tfplugin::value::Object;

pub(crate) use live_object::LiveObject;
pub(crate) use split_source::{YAML_SCOPED, YAML_SPLIT};

/// The response with the values read and their diagnostics, or with the errors.
fn respond(read: Result<(Object, Diagnostics), Diagnostics>) -> ReadDataResponse {
    match read {
        Ok((state, diagnostics)) => {
            ReadDataResponse { state: Some(state), diagnostics, ..ReadDataResponse::default() }
        }
        Err(diagnostics) => ReadDataResponse { diagnostics, ..ReadDataResponse::default() },
    }
}
