//! Streams what a list resource finds.

use std::sync::Arc;

use futures::{FutureExt, StreamExt, stream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::codegen::BoxStream;

use super::registry::{Registry, ResourceEntry};
use super::respond::catch_panic;
use super::stop::interrupted;
use super::wire;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6::{self as proto, list_resource::Event};
use crate::provider::{ListRequest, Listed, Results};

/// How many instances may wait for Terraform to read them.
const BUFFER: usize = 16;

pub(super) fn list(
    registry: &Registry,
    stop: CancellationToken,
    request: &proto::list_resource::Request,
) -> BoxStream<Event> {
    match start(registry, stop, request) {
        Ok(events) => events,
        Err(diagnostics) => Box::pin(stream::iter(last(diagnostics).map(Ok))),
    }
}

fn start(
    registry: &Registry,
    stop: CancellationToken,
    request: &proto::list_resource::Request,
) -> Result<BoxStream<Event>, Diagnostics> {
    let entry = registry.list_resource(&request.type_name)?;
    let resource = Arc::clone(registry.resource(&request.type_name)?);
    let item = Arc::clone(&entry.item);
    let request = ListRequest {
        config: wire::decode(request.config.as_ref(), &entry.shape.ty)?.unwrap_or_default(),
        include_resource: request.include_resource_object,
        limit: usize::try_from(request.limit).unwrap_or_default(),
        stop: stop.clone(),
    };
    let (sender, receiver) = mpsc::channel(BUFFER);
    let work = tokio::spawn(async move {
        let list = catch_panic("ListResource", item.list(request, Results(sender)));
        tokio::select! {
            biased;
            done = list => done.unwrap_or_else(|panic| panic),
            () = stop.cancelled() => interrupted().into(),
        }
    });
    let found = stream::unfold(receiver, |mut receiver| async {
        let listed = receiver.recv().await?;
        Some((listed, receiver))
    });
    let found = found.map(move |listed| event(&resource, listed).unwrap_or_else(failed));
    let end = work.map(|done| stream::iter(done.ok().and_then(last))).flatten_stream();
    Ok(Box::pin(found.chain(end).map(Ok)))
}

fn event(resource: &ResourceEntry, listed: Listed) -> Result<Event, Diagnostics> {
    let object = listed.resource.map(|object| wire::encode(Some(object), &resource.shape.ty)).transpose()?;
    Ok(Event {
        identity: wire::encode_identity(resource, Some(listed.identity))?,
        display_name: listed.display_name,
        resource_object: object,
        diagnostic: Vec::new(),
    })
}

fn failed(diagnostics: Diagnostics) -> Event {
    Event { diagnostic: diagnostics.into_proto(), ..Event::default() }
}

/// Warnings and errors come after everything that was found, in an event without an instance.
fn last(diagnostics: Diagnostics) -> Option<Event> {
    (!diagnostics.is_empty()).then(|| failed(diagnostics))
}
