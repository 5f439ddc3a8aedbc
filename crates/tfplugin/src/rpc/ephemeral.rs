//! Opens ephemeral resources.

use tokio_util::sync::CancellationToken;

use super::registry::Registry;
use super::resource::missing_state;
use super::wire;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::plan_rules;
use crate::provider::{Deferral, OpenRequest};

pub(super) async fn open(
    registry: &Registry,
    stop: CancellationToken,
    request: proto::open_ephemeral_resource::Request,
) -> Result<proto::open_ephemeral_resource::Response, Diagnostics> {
    let entry = registry.ephemeral_resource(&request.type_name)?;
    let config = wire::decode_required(request.config.as_ref(), &entry.shape.ty)?;
    let deferral_allowed = wire::deferral_allowed(request.client_capabilities.as_ref());
    let response = entry.item.open(OpenRequest { config, deferral_allowed, stop }).await;
    let mut diagnostics = response.diagnostics;
    let result = wire::complete(response.result, &entry.shape.ty)?;
    if !diagnostics.has_errors() && response.deferred.is_none() {
        match &result {
            None => diagnostics.add(missing_state("open")),
            Some(result) => diagnostics.add(wire::enforce_rules("OpenEphemeralResource", || {
                plan_rules::check_read(&entry.shape.schema, result)
            })),
        }
    }
    Ok(proto::open_ephemeral_resource::Response {
        result: Some(wire::encode_complete(result, &entry.shape.ty)),
        deferred: response.deferred.map(Deferral::to_proto),
        diagnostics: diagnostics.into_proto(),
        ..proto::open_ephemeral_resource::Response::default()
    })
}
