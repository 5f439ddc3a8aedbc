//! Plans actions, and streams what they report while they run.

use std::sync::Arc;

use futures::{FutureExt, StreamExt, stream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::codegen::BoxStream;

use super::registry::Registry;
use super::respond::catch_panic;
use super::stop::interrupted;
use super::wire;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6::{self as proto, invoke_action::Event, invoke_action::event};
use crate::provider::{ActionRequest, Deferral, Progress};

pub(super) async fn plan(
    registry: &Registry,
    stop: CancellationToken,
    request: proto::plan_action::Request,
) -> Result<proto::plan_action::Response, Diagnostics> {
    let entry = registry.action(&request.action_type)?;
    let config = wire::decode_required(request.config.as_ref(), &entry.shape.ty)?;
    let deferral_allowed = wire::deferral_allowed(request.client_capabilities.as_ref());
    let response = entry.item.plan(ActionRequest { config, deferral_allowed, stop }).await;
    Ok(proto::plan_action::Response {
        deferred: response.deferred.map(Deferral::to_proto),
        diagnostics: response.diagnostics.into_proto(),
    })
}

/// Any number of progress messages, then exactly one completion.
pub(super) fn invoke(
    registry: &Registry,
    stop: CancellationToken,
    request: &proto::invoke_action::Request,
) -> BoxStream<Event> {
    match start(registry, stop, request) {
        Ok(events) => events,
        Err(diagnostics) => Box::pin(stream::iter([Ok(completed(diagnostics))])),
    }
}

fn start(
    registry: &Registry,
    stop: CancellationToken,
    request: &proto::invoke_action::Request,
) -> Result<BoxStream<Event>, Diagnostics> {
    let entry = registry.action(&request.action_type)?;
    let config = wire::decode_required(request.config.as_ref(), &entry.shape.ty)?;
    if stop.is_cancelled() {
        return Err(interrupted().into());
    }
    let item = Arc::clone(&entry.item);
    let (sender, receiver) = mpsc::unbounded_channel();
    // A task of its own: the action completes even if Terraform no longer listens.
    let work = tokio::spawn(async move {
        let request = ActionRequest { config, deferral_allowed: false, stop };
        let done = catch_panic("InvokeAction", item.invoke(request, Progress(sender))).await;
        done.unwrap_or_else(|panic| panic)
    });
    let reported = stream::unfold(receiver, |mut receiver| async {
        let message = receiver.recv().await?;
        Some((progress(message), receiver))
    });
    let end = work.map(|done| completed(done.unwrap_or_default())).into_stream();
    Ok(Box::pin(reported.chain(end).map(Ok)))
}

fn progress(message: String) -> Event {
    Event { r#type: Some(event::Type::Progress(event::Progress { message })) }
}

fn completed(diagnostics: Diagnostics) -> Event {
    let completed = event::Completed { diagnostics: diagnostics.into_proto() };
    Event { r#type: Some(event::Type::Completed(completed)) }
}
