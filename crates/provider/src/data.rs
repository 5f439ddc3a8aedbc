//! Data sources: manifests split into single objects, and an object as it is in a cluster.

mod division;
mod glob;
mod input;
mod kustomize;
mod live_object;
mod manifests;
mod yaml_scoped;
mod yaml_split;

use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::ReadDataResponse;
use tfplugin::value::Object;

pub(crate) use live_object::LiveObject;
pub(crate) use yaml_scoped::YAML_SCOPED;
pub(crate) use yaml_split::YAML_SPLIT;

/// The response with the values read and their diagnostics, or with the errors.
fn answer(read: Result<(Object, Diagnostics), Diagnostics>) -> ReadDataResponse {
    match read {
        Ok((state, diagnostics)) => ReadDataResponse { state: Some(state), diagnostics },
        Err(diagnostics) => ReadDataResponse { state: None, diagnostics },
    }
}
