//! The controllers of all kinds at Oracle Cloud, for one term of leadership.

use std::sync::Arc;
use std::time::Duration;

use cluster::Selection;
use kube::ResourceExt as _;
use manifest::{GroupVersionKind, Namespace};
use operations::ExternalService;
use tokio_util::sync::CancellationToken;

use super::controller::ExternalController;
use super::credentials::Clients;
use super::endpoint::EndpointSecret;
use super::fingerprint::keep_identity;
use super::object::ExternalObject;
use super::queue::QueueService;
use super::stream::StreamService;
use crate::api::{Queue, Stream};
use crate::run::Context;
use crate::runtime::store::{Source, Store};

/// How long to wait for the Secrets of namespaces before objects report that they are missing.
const SECRETS_TIMEOUT: Duration = Duration::from_secs(10);
/// The source of the Events.
const COMPONENT: &str = "plimsoll-oci";

/// The labels by which OSOK recognizes the endpoint Secrets that it owns.
const QUEUE_LABEL: &str = "queue.oracle.com/queue-uid";
const STREAM_LABEL: &str = "streaming.oracle.com/stream-uid";

/// Runs the controllers until `stop`, and lets running reconciles end. Nothing they remember outlives it.
pub async fn run(context: Context, stop: CancellationToken) {
    let clients = Arc::new(Clients::start(&context, &stop));
    tokio::select! {
        () = clients.secrets().wait_until_synced() => {}
        () = tokio::time::sleep(SECRETS_TIMEOUT) => {}
        () = stop.cancelled() => return,
    }
    let of_queues = Arc::clone(&clients);
    let queues = controller(&context, &clients, &stop, move |queue: &Queue| {
        Ok(QueueService::new(of_queues.of(&queue.namespace().unwrap_or_default())?))
    })
    .with_endpoint(EndpointSecret::new(QUEUE_LABEL, |queue: &Queue| {
        queue.status.as_ref()?.observed.messages_endpoint.as_deref()
    }));
    let of_streams = Arc::clone(&clients);
    let streams = controller(&context, &clients, &stop, move |stream: &Stream| {
        let seen_in = stream.status.as_ref().and_then(|status| status.observed.compartment_id.clone());
        Ok(StreamService::new(of_streams.of(&stream.namespace().unwrap_or_default())?, seen_in))
    })
    .with_endpoint(EndpointSecret::new(STREAM_LABEL, |stream: &Stream| {
        stream.status.as_ref()?.observed.messages_endpoint.as_deref()
    }));
    tokio::join!(queues.run(stop.clone()), streams.run(stop));
}

fn controller<O: ExternalObject, S: ExternalService<Spec = O::Spec> + 'static>(
    context: &Context,
    clients: &Clients,
    stop: &CancellationToken,
    connect: impl Fn(&O) -> Result<S, operations::CallError> + Send + Sync + 'static,
) -> ExternalController<O, S> {
    let Context { session, events, metrics, options, readiness, .. } = context;
    let store = Store::start(session.clone(), source::<O>(options.namespace.clone()), stop);
    readiness.requires(&store);
    let recorder = events.recorder(COMPONENT);
    ExternalController::new(session.clone(), store, connect, options.operations, recorder, metrics.clone())
        .with_credentials(clients.secrets().clone())
}

/// The objects of a kind, in a namespace or everywhere, trimmed to what says whether a reconcile is due.
pub fn source<O: ExternalObject>(namespace: Option<Namespace>) -> Source {
    let selection = Selection { namespace, ..Selection::default() };
    Source { selection, trim: keep_identity, ..Source::of(gvk::<O>()) }
}

pub(super) fn gvk<O: ExternalObject>() -> GroupVersionKind {
    format!("{}/{}", O::api_version(&()), O::kind(&())).parse().expect("a derived kind has a valid name")
}
