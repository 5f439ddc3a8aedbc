//! Runs the wait at apply, and refreshes its result.

use std::fmt::Write as _;
use std::time::Duration;

use cluster::{Error, Readiness, Session};
use diag::{Diagnostic, Severity};
use manifest::{GoDuration, ObjectRef};
use readiness::Wait;
use tfplugin::CancellationToken;
use tfplugin::private::Private;
use tfplugin::provider::{ReadRequest, ReadResponse};
use tfplugin::value::Object;
use tokio::time::Instant;

use super::wait_for;
use crate::context::Context;
use crate::dynamic::dynamic_like;
use crate::object::new_id;
use crate::private::{Keys as _, STALE_READ};
use crate::reference::Reference;
use crate::report::titled;
use crate::{cluster_identity, codes, refresh, stop, wait_attribute};

const FAILED: &str = "Wait Operation Failed";
const NO_CLIENT: &str = "Failed to Create Kubernetes Client";
const NO_KIND: &str = "Failed to Discover GVR";

/// Waits as `planned` says, and returns the new state.
pub(super) async fn run(
    context: &Context,
    (prior, mut planned): (Option<&Object>, Object),
    private: &mut Private,
    stop: &CancellationToken,
) -> Result<Object, Box<Diagnostic>> {
    let cluster = context.known_cluster(planned.get("cluster"), NO_CLIENT)?;
    let work = async {
        let reference = reference(&planned)?;
        let wait = wait_for(&planned);
        let timeout = wait.as_ref().map_or(GoDuration::default(), |wait| wait.timeout);
        let (target, timeout) = locate(cluster.session(), &reference, timeout).await?;
        let Some(wait) = wait.map(|wait| Wait { timeout, ..wait }) else { return Ok(None) };
        match cluster.session().wait_for(&target, &wait, wait_attribute::log(&target)).await {
            Ok(Readiness::Met { value, .. }) => Ok(value),
            Ok(Readiness::Unmet { diagnosis, .. }) => Err(diagnosis),
            Err(error) => Err(Box::new(titled(error.diagnostic("Wait"), FAILED))),
        }
    };
    let value = stop::run_unless_stopped(stop, Duration::ZERO, work)
        .await
        .unwrap_or_else(|| Err(Box::new(interrupted())))?;
    cluster_identity::store(private, &cluster).await;
    private.set_flag(STALE_READ, false);
    if planned.get("id").is_unknown() {
        planned.set("id", new_id());
    }
    let before = prior.map(|prior| prior.get("result"));
    Ok(planned.with("result", dynamic_like(before, value.as_ref())))
}

/// The object in the cluster, and what is left of `timeout`, which also covers waiting for the kind to exist.
pub(crate) async fn locate(
    session: &Session,
    reference: &Reference,
    timeout: GoDuration,
) -> Result<(ObjectRef, GoDuration), Box<Diagnostic>> {
    let missing = match reference.locate(session).await {
        Ok(target) => return Ok((target, timeout)),
        Err(error) if error.dependency().is_some() => error,
        Err(error) => return Err(undiscovered(&error)),
    };
    let began = Instant::now();
    let located = async {
        loop {
            match reference.when_possible(session, || reference.locate(session)).await {
                Err(error) if error.dependency().is_some() => {}
                located => return located,
            }
        }
    };
    match tokio::time::timeout(timeout.to_std().unwrap_or_default(), located).await {
        Ok(Ok(target)) => {
            // In whole seconds, because the diagnosis of an unfinished wait shows it.
            let spent = Duration::from_secs(began.elapsed().as_secs()).as_nanos();
            let rest = timeout.as_nanos() - i64::try_from(spent).unwrap_or(i64::MAX);
            Ok((target, GoDuration::from_nanos(rest)))
        }
        Ok(Err(error)) => Err(undiscovered(&error)),
        Err(_) => {
            let mut diagnostic = undiscovered(&missing);
            let _infallible = write!(diagnostic.detail, "\n\nThe kind was not installed within {timeout}.");
            Err(diagnostic)
        }
    }
}

/// Reads the tracked field again; if the object is gone, removes the wait from the state.
pub(super) async fn refresh(context: &Context, request: ReadRequest) -> ReadResponse {
    let cluster = match refresh::cluster(context, &request.state, NO_CLIENT) {
        Ok(cluster) => cluster,
        Err(diagnostic) => return refresh::unchanged(request, diagnostic),
    };
    let Ok(reference) = reference(&request.state) else { return request.unchanged() };
    let live = match reference.look(cluster.session()).await {
        Ok((_, Some(reply))) => reply.object,
        // A new object of this name has to be waited for again.
        Ok((_, None)) => return ReadResponse::default(),
        Err(error) if error.is_kind_absent() => return ReadResponse::default(),
        Err(error) => {
            let diagnostic = unread(&error);
            let is_stale = !diagnostic.is_error();
            let mut response = refresh::unchanged(request, diagnostic);
            response.private.set_flag(STALE_READ, is_stale);
            return response;
        }
    };
    // An object of this name in another cluster says nothing about this one.
    if cluster_identity::differs(&request.private, &cluster).await {
        return ReadResponse::default();
    }
    let mut response = request.unchanged();
    if let Some(state) = &mut response.state
        && let Some(wait) = wait_for(state)
    {
        state.set("result", dynamic_like(Some(state.get("result")), wait.tracked(&live).as_ref()));
    }
    response.private.set_flag(STALE_READ, false);
    response
}

fn reference(attributes: &Object) -> Result<Reference, Box<Diagnostic>> {
    let empty = Object::new();
    Reference::parse(attributes.get("object_ref").as_object().unwrap_or(&empty), NO_KIND)
}

fn undiscovered(error: &Error) -> Box<Diagnostic> {
    Box::new(titled(error.diagnostic("Wait"), NO_KIND))
}

fn unread(error: &Error) -> Diagnostic {
    refresh::prior_state_used(error).unwrap_or_else(|| {
        // Whatever the class of the error, nothing is known about the object.
        let severity = Severity::Error;
        Diagnostic { severity, ..titled(error.diagnostic("Read"), "Read: Failed to verify resource") }
    })
}

fn interrupted() -> Diagnostic {
    Diagnostic::error(codes::INTERRUPTED, FAILED)
        .detail("The wait was interrupted before the object was ready.")
        .hint("Run terraform apply again to wait again.")
}
