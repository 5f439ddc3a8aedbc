//! The controllers of all kinds at Oracle Cloud, for one term of leadership.

use std::sync::Arc;
use std::time::Duration;

use cluster::{Selection, Session};
use kube::ResourceExt as _;
use manifest::Namespace;
use operations::{ExternalService, Schedule};
use tokio_util::sync::CancellationToken;

use super::controller::Controller;
use super::credentials::Clients;
use super::endpoint::EndpointSecret;
use super::fingerprint::keep_identity;
use super::object::ExternalObject;
use super::queue::QueueService;
use super::stream::StreamService;
use crate::api::{Queue, Stream};
use crate::events::Recorder;
use crate::metrics::Metrics;
use crate::store::{Source, Store};

/// How many objects of a kind are gone over at a time. What bounds the calls is the limit of their region, for which
/// this is plenty; what it bounds is the memory that a thousand objects take when all of them are due at once.
const AT_ONCE: usize = 12;
/// How long to wait for the Secrets of namespaces before objects are told that they are missing.
const PATIENCE: Duration = Duration::from_secs(10);

/// By these labels OSOK knows the endpoint Secrets that are its own, and so do we.
const QUEUE_LABEL: &str = "queue.oracle.com/queue-uid";
const STREAM_LABEL: &str = "streaming.oracle.com/stream-uid";

/// What the controllers work with.
#[derive(Clone)]
pub struct Surroundings {
    /// The cluster.
    pub session: Session,
    /// Who is told of transitions.
    pub recorder: Recorder,
    /// Where calls and operations are counted.
    pub metrics: Metrics,
    /// The intervals.
    pub settings: Schedule,
    /// How Oracle Cloud is called.
    pub oci: oraclecloud::Settings,
    /// The only namespace to look at; all of them when there is none.
    pub namespace: Option<Namespace>,
    /// The environment that the operator's own credentials come from.
    pub environment: fn(&str) -> Option<String>,
}

/// Runs the controllers until `stop`, and until the passes that are going on then have ended. Nothing that they
/// remember outlives it.
pub async fn run(with: Surroundings, stop: CancellationToken) {
    let clients = Arc::new(Clients::start(&with, &stop));
    tokio::select! {
        () = clients.secrets().synced() => {}
        () = tokio::time::sleep(PATIENCE) => {}
        () = stop.cancelled() => return,
    }
    let client = with.session.client();
    let of_queues = Arc::clone(&clients);
    let queues = controller(&with, &clients, &stop, move |queue: &Queue| {
        Ok(QueueService::new(of_queues.of(&queue.namespace().unwrap_or_default())?))
    })
    .with_endpoint(EndpointSecret::new(client.clone(), QUEUE_LABEL, |queue: &Queue| {
        queue.status.as_ref()?.observed.messages_endpoint.as_deref()
    }));
    let of_streams = Arc::clone(&clients);
    let streams = controller(&with, &clients, &stop, move |stream: &Stream| {
        let seen_in = stream.status.as_ref().and_then(|status| status.observed.compartment_id.clone());
        Ok(StreamService::new(of_streams.of(&stream.namespace().unwrap_or_default())?, seen_in))
    })
    .with_endpoint(EndpointSecret::new(client.clone(), STREAM_LABEL, |stream: &Stream| {
        stream.status.as_ref()?.observed.messages_endpoint.as_deref()
    }));
    tokio::join!(queues.run(AT_ONCE, stop.clone()), streams.run(AT_ONCE, stop.clone()));
}

fn controller<O: ExternalObject, S: ExternalService<Spec = O::Spec> + 'static>(
    with: &Surroundings,
    clients: &Clients,
    stop: &CancellationToken,
    reach: impl Fn(&O) -> Result<S, operations::CallError> + Send + Sync + 'static,
) -> Controller<O, S> {
    Controller {
        client: with.session.client().clone(),
        store: Store::start(with.session.clone(), source::<O>(with.namespace.clone()), stop),
        credentials: Some(clients.secrets().clone()),
        reach: Box::new(reach),
        endpoint: None,
        settings: with.settings,
        recorder: with.recorder.clone(),
        metrics: with.metrics.clone(),
    }
}

/// The objects of a kind, in a namespace or everywhere; of each no more than says whether a pass is due.
pub fn source<O: ExternalObject>(namespace: Option<Namespace>) -> Source {
    let gvk = format!("{}/{}", O::api_version(&()), O::kind(&()));
    let source = Source::of(gvk.parse().expect("a derived kind has a proper name"));
    Source { selection: Selection { namespace, ..Selection::default() }, trim: keep_identity, ..source }
}
