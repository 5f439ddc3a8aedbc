//! Waiting, and looking later on what has become of it.

use std::time::Duration;

use cluster::{Class, Error, ErrorKind, Readiness};
use diag::Diagnostic;
use serde_json::Value as Json;
use tfplugin::CancellationToken;
use tfplugin::provider::{ReadRequest, ReadResponse};
use tfplugin::value::{Object, Value};
use wait::Refreshed;

use super::wait_for;
use crate::context::{self, Context, Reach};
use crate::dynamic::dynamic;
use crate::object::new_id;
use crate::reference::Reference;
use crate::report::{self, titled};
use crate::{codes, stop};

const FAILED: &str = "Wait Operation Failed";
const NO_CLIENT: &str = "Failed to Create Kubernetes Client";
const NO_KIND: &str = "Failed to Discover GVR";

/// Waits as `planned` says, and gives the state.
pub(super) async fn run(
    context: &Context,
    mut planned: Object,
    stop: &CancellationToken,
) -> Result<Object, Box<Diagnostic>> {
    let cluster = match context.reach(planned.get("cluster")) {
        Ok(Reach::Ready(cluster)) => cluster,
        Ok(Reach::NotYet | Reach::Nowhere) => return Err(Box::new(context::nowhere())),
        Err(error) => return Err(Box::new(titled(error.diagnostic(), NO_CLIENT))),
    };
    let work = async {
        let reference = reference(&planned)?;
        let target = reference.locate(cluster.session()).await.map_err(|error| undiscovered(&error))?;
        let Some(wait) = wait_for(&planned) else { return Ok(None) };
        match cluster.session().wait_for(&target, &wait).await {
            Ok(Readiness::Met { value, .. }) => Ok(value),
            Ok(Readiness::Unmet { diagnosis, .. }) => Err(diagnosis),
            Err(error) => Err(Box::new(titled(error.diagnostic("Wait"), FAILED))),
        }
    };
    let value =
        stop::unless(stop, Duration::ZERO, work).await.unwrap_or_else(|| Err(Box::new(interrupted())))?;
    if planned.get("id").is_unknown() {
        planned.set("id", new_id());
    }
    Ok(planned.with("result", result(value.as_ref())))
}

/// Looks whether the object is still there and what the tracked field is now.
pub(super) async fn refresh(context: &Context, request: ReadRequest) -> ReadResponse {
    let cluster = match context.reach(request.state.get("cluster")) {
        Ok(Reach::Ready(cluster)) => cluster,
        // Nothing can be asked yet, and nothing follows from that.
        Ok(Reach::NotYet | Reach::Nowhere) => return request.unchanged(),
        Err(error) => return with(request.unchanged(), titled(error.diagnostic(), NO_CLIENT)),
    };
    let Ok(reference) = reference(&request.state) else { return request.unchanged() };
    let found = async {
        let target = reference.locate(cluster.session()).await?;
        cluster.session().read(&target).await
    };
    let live = match found.await {
        Ok(Some(reply)) => reply.object,
        // Whatever comes in its place is waited for again.
        Ok(None) => return ReadResponse::default(),
        Err(error) if matches!(error.kind(), ErrorKind::KindMissing(_)) => return ReadResponse::default(),
        Err(error) => return with(request.unchanged(), unread(&error)),
    };
    let mut response = request.unchanged();
    if let Some(state) = &mut response.state
        && let Some(wait) = wait_for(state)
    {
        let refreshed = Refreshed::new(&wait, &live, false);
        state.set("result", result(refreshed.value.as_ref()));
    }
    response
}

fn reference(attributes: &Object) -> Result<Reference, Box<Diagnostic>> {
    let empty = Object::new();
    Reference::parse(attributes.get("object_ref").as_object().unwrap_or(&empty), NO_KIND)
}

fn result(value: Option<&Json>) -> Value {
    value.map_or(Value::Null, dynamic)
}

fn with(mut response: ReadResponse, diagnostic: Diagnostic) -> ReadResponse {
    response.diagnostics.add(diagnostic);
    response
}

fn undiscovered(error: &Error) -> Box<Diagnostic> {
    Box::new(titled(error.diagnostic("Wait"), NO_KIND))
}

/// Refused credentials are no reason to stop: the plan may come with new ones.
fn unread(error: &Error) -> Diagnostic {
    let told = error.diagnostic("Read");
    match error.class() {
        Class::AuthenticationFailed | Class::InsufficientPermissions => report::prior_state_used(&told),
        _ => titled(told, "Read: Failed to verify resource"),
    }
}

fn interrupted() -> Diagnostic {
    Diagnostic::error(codes::INTERRUPTED, FAILED)
        .detail("The wait was interrupted before the object was ready.")
        .hint("Run terraform apply again to wait again.")
}
