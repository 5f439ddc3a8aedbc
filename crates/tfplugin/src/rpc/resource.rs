//! Plans, applies and reads.

use diag::Diagnostic;
use tokio_util::sync::CancellationToken;

use super::registry::{Registry, ResourceEntry};
use super::wire;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::path::Path;
use crate::plan_rules::{self, Plan};
use crate::provider::{
    ApplyRequest, Change, Deferral, GenerateRequest, Identity, PlanRequest, ReadDataRequest, ReadRequest,
};
use crate::schema_plan::{plan_by_schema, without_write_only};
use crate::value::Object;

pub(super) async fn plan(
    registry: &Registry,
    stop: CancellationToken,
    request: proto::plan_resource_change::Request,
) -> Result<proto::plan_resource_change::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let ty = &entry.shape.ty;
    let prior = wire::decode(request.prior_state.as_ref(), ty)?;
    let proposed = wire::decode(request.proposed_new_state.as_ref(), ty)?;
    let config = wire::decode(request.config.as_ref(), ty)?.filter(|_| proposed.is_some());
    let prior_identity = wire::decode_identity(entry, request.prior_identity.as_ref())?;

    let (planned, requires_replace) = match (proposed, &config) {
        (Some(proposed), Some(config)) => {
            let plan = plan_by_schema(&entry.shape.schema, prior.as_ref(), config, proposed);
            (Some(plan.planned), plan.requires_replace)
        }
        (planned, _) => (planned, Vec::new()),
    };
    let response = entry
        .resource
        .plan(PlanRequest {
            change: change(prior.clone(), planned)?,
            config: config.clone(),
            requires_replace,
            private: wire::decode_private(&request.prior_private)?,
            identity: prior_identity.clone(),
            deferral_allowed: wire::deferral_allowed(request.client_capabilities.as_ref()),
            stop,
        })
        .await;

    let mut diagnostics = response.diagnostics;
    let planned = wire::complete(response.planned, ty)?;
    let mut requires_replace = response.requires_replace;
    requires_replace.sort();
    requires_replace.dedup();
    if !diagnostics.has_errors() {
        diagnostics.add(wire::enforce_rules("PlanResourceChange", || {
            let plan = Plan { planned: planned.as_ref(), requires_replace: &requires_replace };
            plan_rules::check_plan(&entry.shape.schema, prior.as_ref(), config.as_ref(), plan)
        }));
        diagnostics.add(check_identity("plan", prior.and(prior_identity), response.identity.as_ref()));
    }
    Ok(proto::plan_resource_change::Response {
        planned_state: Some(wire::encode_complete(planned, ty)),
        requires_replace: requires_replace.iter().map(Path::to_proto).collect(),
        planned_private: response.private.encode(),
        planned_identity: wire::encode_identity(entry, response.identity)?,
        deferred: response.deferred.map(Deferral::to_proto),
        diagnostics: diagnostics.into_proto(),
        ..proto::plan_resource_change::Response::default()
    })
}

pub(super) async fn apply(
    registry: &Registry,
    stop: CancellationToken,
    request: proto::apply_resource_change::Request,
) -> Result<proto::apply_resource_change::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let ty = &entry.shape.ty;
    let prior = wire::decode(request.prior_state.as_ref(), ty)?;
    let planned = wire::decode(request.planned_state.as_ref(), ty)?;
    let planned_identity = wire::decode_identity(entry, request.planned_identity.as_ref())?;
    let response = entry
        .resource
        .apply(ApplyRequest {
            change: change(prior.clone(), planned.clone())?,
            config: wire::decode(request.config.as_ref(), ty)?.filter(|_| planned.is_some()),
            private: wire::decode_private(&request.planned_private)?,
            identity: planned_identity.clone(),
            stop,
        })
        .await;

    let mut diagnostics = response.diagnostics;
    let state = stored(entry, response.state)?;
    if !diagnostics.has_errors() {
        if planned.is_some() && state.is_none() {
            diagnostics.add(missing_state("apply"));
        } else {
            diagnostics.add(wire::enforce_rules("ApplyResourceChange", || {
                plan_rules::check_apply(&entry.shape.schema, planned.as_ref(), state.as_ref())
            }));
        }
        diagnostics.add(check_identity(
            "apply",
            prior.and(planned_identity.clone()),
            response.identity.as_ref(),
        ));
    }
    let identity = state.as_ref().and(response.identity.or(planned_identity));
    Ok(proto::apply_resource_change::Response {
        new_state: Some(wire::encode_complete(state, ty)),
        private: response.private.encode(),
        new_identity: wire::encode_identity(entry, identity)?,
        diagnostics: diagnostics.into_proto(),
        ..proto::apply_resource_change::Response::default()
    })
}

pub(super) async fn read(
    registry: &Registry,
    stop: CancellationToken,
    request: proto::read_resource::Request,
) -> Result<proto::read_resource::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let ty = &entry.shape.ty;
    let mut private = wire::decode_private(&request.private)?;
    let just_imported = private.take_imported();
    let identity = wire::decode_identity(entry, request.current_identity.as_ref())?;
    let response = entry
        .resource
        .read(ReadRequest {
            state: wire::decode_required(request.current_state.as_ref(), ty)?,
            private,
            identity: identity.clone(),
            stop,
        })
        .await;

    let mut diagnostics = response.diagnostics;
    let state = checked_state(entry, "ReadResource", response.state, &mut diagnostics)?;
    if !diagnostics.has_errors() && state.is_some() && !just_imported {
        diagnostics.add(check_identity("read", identity.clone(), response.identity.as_ref()));
    }
    let identity = state.as_ref().and(response.identity.or(identity));
    Ok(proto::read_resource::Response {
        new_state: Some(wire::encode_complete(state, ty)),
        private: response.private.encode(),
        new_identity: wire::encode_identity(entry, identity)?,
        diagnostics: diagnostics.into_proto(),
        ..proto::read_resource::Response::default()
    })
}

pub(super) async fn read_data(
    registry: &Registry,
    stop: CancellationToken,
    request: proto::read_data_source::Request,
) -> Result<proto::read_data_source::Response, Diagnostics> {
    let entry = registry.data_source(&request.type_name)?;
    let ty = &entry.shape.ty;
    let config = wire::decode_required(request.config.as_ref(), ty)?;
    let deferral_allowed = wire::deferral_allowed(request.client_capabilities.as_ref());
    let response = entry.item.read(ReadDataRequest { config, deferral_allowed, stop }).await;
    let mut diagnostics = response.diagnostics;
    let state = wire::complete(response.state, ty)?;
    if !diagnostics.has_errors() && response.deferred.is_none() {
        match &state {
            None => diagnostics.add(missing_state("read")),
            Some(state) => diagnostics.add(wire::enforce_rules("ReadDataSource", || {
                plan_rules::check_read(&entry.shape.schema, state)
            })),
        }
    }
    Ok(proto::read_data_source::Response {
        state: Some(wire::encode_complete(state, ty)),
        diagnostics: diagnostics.into_proto(),
        deferred: response.deferred.map(Deferral::to_proto),
    })
}

pub(super) async fn generate_config(
    registry: &Registry,
    stop: CancellationToken,
    request: proto::generate_resource_config::Request,
) -> Result<proto::generate_resource_config::Response, Diagnostics> {
    let entry = registry.resource(&request.type_name)?;
    let state = wire::decode(request.state.as_ref(), &entry.shape.ty)?.ok_or_else(state_not_sent)?;
    let response = entry.resource.generate_config(GenerateRequest { state, stop }).await;
    Ok(proto::generate_resource_config::Response {
        config: Some(wire::encode(response.config, &entry.shape.ty)?),
        diagnostics: response.diagnostics.into_proto(),
    })
}

/// For Terraform 1.14.0, which asks for the configuration of a state that it does not send.
fn state_not_sent() -> Diagnostic {
    Diagnostic::error(codes::MISSING_STATE, "Terraform sent no state to generate a configuration from")
        .detail("Terraform 1.14.0 does not send the state of the resource.")
        .hint("Use Terraform 1.14.1 or later, or write the configuration by hand.")
}

/// A state as it is stored: complete, and without write-only values.
fn stored(entry: &ResourceEntry, state: Option<Object>) -> Result<Option<Object>, Diagnostics> {
    let state = state.map(|state| without_write_only(&entry.shape.schema.attributes, state));
    wire::complete(state, &entry.shape.ty)
}

/// Conforms and checks a state that was not planned.
pub(super) fn checked_state(
    entry: &ResourceEntry,
    call: &str,
    state: Option<Object>,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Object>, Diagnostics> {
    let state = stored(entry, state)?;
    if let (Some(state), false) = (&state, diagnostics.has_errors()) {
        diagnostics.add(wire::enforce_rules(call, || plan_rules::check_read(&entry.shape.schema, state)));
    }
    Ok(state)
}

/// For a provider that reports neither an error nor a state.
pub(super) fn missing_state(call: &str) -> Diagnostic {
    Diagnostic::error(codes::MISSING_STATE, "The provider returned no state")
        .detail(format!("The {call} reported neither an error nor a state."))
        .hint("This is a bug in the provider; report it.")
}

fn change(prior: Option<Object>, planned: Option<Object>) -> Result<Change, Diagnostics> {
    match (prior, planned) {
        (None, Some(planned)) => Ok(Change::Create { planned }),
        (Some(prior), Some(planned)) => Ok(Change::Update { prior, planned }),
        (Some(prior), None) => Ok(Change::Delete { prior }),
        (None, None) => Err(missing_state("request").into()),
    }
}

fn check_identity(call: &str, before: Option<Identity>, after: Option<&Identity>) -> Diagnostics {
    match (before, after) {
        (Some(before), Some(after)) if before != *after => {
            Diagnostic::error(codes::IDENTITY_CHANGED, "Unexpected Identity Change")
                .detail(format!("The {call} returned another identity than the stored one."))
                .hint("This is a bug in the provider; report it.")
                .into()
        }
        _ => Diagnostics::new(),
    }
}
