//! Ephemeral resources: objects and tokens that Terraform uses while it runs, and stores nowhere.

mod object;
mod token;

use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{Deferral, OpenRequest, OpenResponse};
use tfplugin::value::Object;

use crate::connection::Configured;
use crate::context::Context;

pub(crate) use object::EphemeralObject;
pub(crate) use token::Token;

/// The response if the cluster is not known yet and the client can wait for it.
fn deferred(context: &Context, request: &OpenRequest) -> Option<OpenResponse> {
    let is_unknown = matches!(context.cluster(request.config.get("cluster")), Ok(Configured::Unknown));
    let deferred = (is_unknown && request.deferral_allowed).then_some(Deferral::ProviderConfigUnknown)?;
    Some(OpenResponse { deferred: Some(deferred), ..OpenResponse::default() })
}

fn respond(opened: Result<(Object, Diagnostics), Diagnostics>) -> OpenResponse {
    match opened {
        Ok((result, diagnostics)) => {
            OpenResponse { result: Some(result), diagnostics, ..OpenResponse::default() }
        }
        Err(diagnostics) => OpenResponse { diagnostics, ..OpenResponse::default() },
    }
}
