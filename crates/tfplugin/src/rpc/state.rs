//! States from elsewhere: older schema versions, imports, other resource types.

use diag::Diagnostic;
use tokio_util::sync::CancellationToken;

use super::registry::Registry;
use super::resource::{checked_state, missing_state};
use super::wire;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::provider::{ImportRequest, ImportTarget, MoveRequest, RawState, UpgradeRequest, UpgradeResponse};

/// Terraform calls this for every state it reads, even one of the current version.
pub(super) async fn upgrade(
    registry: &Registry,
    request: proto::upgrade_resource_state::Request,
) -> Result<proto::upgrade_resource_state::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let Some(raw) = request.raw_state else { return Ok(proto::upgrade_resource_state::Response::default()) };
    if raw.json.is_empty() {
        return Err(unreadable("the state is in the format of Terraform 0.11"));
    }
    let raw = RawState(raw.json);
    let response = if request.version == entry.shape.schema.version {
        let state = raw.decode(&entry.shape.ty).map_err(|error| unreadable(&error.to_string()))?;
        UpgradeResponse { state: Some(state), diagnostics: Diagnostics::new() }
    } else {
        entry.resource.upgrade(UpgradeRequest { version: request.version, state: raw }).await
    };
    let mut diagnostics = response.diagnostics;
    let state = checked_state(entry, "UpgradeResourceState", response.state, &mut diagnostics)?;
    if state.is_none() && !diagnostics.has_errors() {
        diagnostics.add(missing_state("upgrade"));
    }
    Ok(proto::upgrade_resource_state::Response {
        upgraded_state: Some(wire::encode(state, &entry.shape.ty)?),
        diagnostics: diagnostics.into_proto(),
    })
}

/// There is only one version of each identity so far.
pub(super) fn upgrade_identity(
    registry: &Registry,
    request: proto::upgrade_resource_identity::Request,
) -> Result<proto::upgrade_resource_identity::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let (Some((schema, ty)), Some(raw)) = (&entry.identity, request.raw_identity) else {
        return Ok(proto::upgrade_resource_identity::Response::default());
    };
    if request.version != schema.version {
        return Err(unreadable(&format!(
            "its identity has version {}, not {}",
            request.version, schema.version
        )));
    }
    let identity = RawState(raw.json).decode(ty).map_err(|error| unreadable(&error.to_string()))?;
    Ok(proto::upgrade_resource_identity::Response {
        upgraded_identity: wire::encode_identity(entry, Some(identity))?,
        diagnostics: Vec::new(),
    })
}

pub(super) async fn import(
    registry: &Registry,
    stop: CancellationToken,
    request: proto::import_resource_state::Request,
) -> Result<proto::import_resource_state::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let target = match wire::decode_identity(entry, request.identity.as_ref())? {
        Some(identity) => ImportTarget::Identity(identity),
        None => ImportTarget::Id(request.id),
    };
    let response = entry.resource.import(ImportRequest { target, stop }).await;
    let mut diagnostics = response.diagnostics;
    let mut imported_resources = Vec::new();
    match response.imported {
        None if !diagnostics.has_errors() => diagnostics.add(missing_state("import")),
        None => {}
        Some(mut imported) => {
            let state = checked_state(entry, "ImportResourceState", Some(imported.state), &mut diagnostics)?;
            imported.private.mark_imported();
            imported_resources.push(proto::import_resource_state::ImportedResource {
                type_name: request.type_name,
                state: Some(wire::encode(state, &entry.shape.ty)?),
                private: imported.private.encode(),
                identity: wire::encode_identity(entry, imported.identity)?,
            });
        }
    }
    Ok(proto::import_resource_state::Response {
        imported_resources,
        diagnostics: diagnostics.into_proto(),
        deferred: None,
    })
}

pub(super) async fn move_state(
    registry: &Registry,
    stop: CancellationToken,
    request: proto::move_resource_state::Request,
) -> Result<proto::move_resource_state::Response, Diagnostics> {
    let entry = registry.resource(&request.target_type_name)?;
    let refusal = Diagnostic::error(codes::NO_MOVE, "Unable to Move Resource State")
        .detail(format!(
            "{} cannot use the state of this resource.\n\n\
             Source Provider Address: {}\nSource Resource Type: {}\nSource Resource Schema Version: {}",
            request.target_type_name,
            request.source_provider_address,
            request.source_type_name,
            request.source_schema_version,
        ))
        .hint("Use an import block for the new resource and a removed block for the old one.");
    let moved = MoveRequest {
        source_provider: request.source_provider_address,
        source_type: request.source_type_name,
        source_version: request.source_schema_version,
        source_state: RawState(request.source_state.unwrap_or_default().json),
        source_private: request.source_private,
        stop,
    };
    let response = entry.resource.move_state(moved).await.ok_or_else(|| Diagnostics::from(refusal))?;
    let mut diagnostics = response.diagnostics;
    let state = checked_state(entry, "MoveResourceState", response.state, &mut diagnostics)?;
    if state.is_none() && !diagnostics.has_errors() {
        diagnostics.add(missing_state("move"));
    }
    Ok(proto::move_resource_state::Response {
        target_state: Some(wire::encode(state, &entry.shape.ty)?),
        target_private: response.private.encode(),
        target_identity: wire::encode_identity(entry, response.identity)?,
        diagnostics: diagnostics.into_proto(),
    })
}

fn unreadable(problem: &str) -> Diagnostics {
    Diagnostic::error(codes::UNREADABLE_STATE, "Unable to Read Previously Saved State for UpgradeResourceState")
        .detail(format!("The saved state of the resource does not match its schema: {problem}."))
        .hint(
            "If the state was edited by hand, correct it; if it is too old for this provider, apply once with an older \
             version of the provider first.",
        )
        .into()
}
