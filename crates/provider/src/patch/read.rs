//! Looking how the target of a patch is now. Nothing is written: what has drifted shows in the plan.

use cluster::{Class, Error, ErrorKind};
use diag::Diagnostic;
use serde_json::Value as Json;
use tfplugin::provider::{ReadRequest, ReadResponse};
use tfplugin::value::{Object, Value};

use super::content::Content;
use super::shown::Shown;
use super::{NO_CLIENT, manager, projection_failed, reference};
use crate::context::{Context, Reach};
use crate::projection;
use crate::report::{self, api_warnings, titled};

pub(super) async fn read(context: &Context, request: ReadRequest) -> ReadResponse {
    let cluster = match context.reach(request.state.get("cluster")) {
        Ok(Reach::Ready(cluster)) => cluster,
        // Nothing can be asked yet, and nothing follows from that.
        Ok(Reach::NotYet | Reach::Nowhere) => return request.unchanged(),
        Err(error) => return with(request.unchanged(), titled(error.diagnostic(), NO_CLIENT)),
    };
    let Ok(reference) = reference(&request.state) else { return request.unchanged() };
    let found = async {
        let target = reference.locate(cluster.session()).await?;
        Ok(cluster.session().read(&target).await?.map(|reply| (target, reply)))
    };
    let (target, reply) = match found.await {
        Ok(Some(found)) => found,
        Ok(None) => return ReadResponse::default(),
        Err(error) => return unread(request, &error),
    };
    let mut response = request.unchanged();
    response.diagnostics.add(api_warnings(&target, &reply.warnings));
    if let Some(state) = &mut response.state {
        let content = Content::of(state).and_then(Result::ok);
        let body = content.as_ref().and_then(|content| content.body(&target));
        let manager = manager(state.text("id"));
        match Shown::of(&reply.object, &manager, body.as_ref().unwrap_or(&reply.object)) {
            Ok(shown) => keep(state, &shown, body.as_ref()),
            Err(error) => response.diagnostics.add(projection_failed(&target, &error)),
        }
    }
    response
}

/// Puts the maps into a state; only server-side apply has values to show.
pub(super) fn keep(state: &mut Object, shown: &Shown, body: Option<&Json>) {
    let values = body.map_or(Value::Null, |_| projection::attribute(&shown.values));
    state.set("managed_state_projection", values);
    state.set("managed_fields", projection::attribute(&shown.managers));
}

fn unread(request: ReadRequest, error: &Error) -> ReadResponse {
    if matches!(error.kind(), ErrorKind::KindMissing(_)) {
        return ReadResponse::default();
    }
    let told = error.diagnostic("Read Target Resource");
    // Refused credentials are no reason to stop: the plan may come with new ones.
    let refused = matches!(error.class(), Class::AuthenticationFailed | Class::InsufficientPermissions);
    with(request.unchanged(), if refused { report::prior_state_used(&told) } else { told })
}

fn with(mut response: ReadResponse, diagnostic: Diagnostic) -> ReadResponse {
    response.diagnostics.add(diagnostic);
    response
}
