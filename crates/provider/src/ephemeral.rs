//! Ephemeral resources: objects and tokens that Terraform uses while it runs, and stores nowhere.

mod object;
mod token;

use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{OpenRequest, OpenResponse};
use tfplugin::value::Object;

use crate::context::Context;

pub(crate) use object::EphemeralObject;
pub(crate) use token::Token;

/// The response if the cluster is not known yet and the client can wait for it.
fn deferred(context: &Context, request: &OpenRequest) -> Option<OpenResponse> {
    let deferred = context.read_deferral(request.config.get("cluster"), request.deferral_allowed)?;
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
