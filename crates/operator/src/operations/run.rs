//! The controllers of all kinds at Oracle Cloud, for one term of leadership.

use std::sync::Arc;
use std::time::Duration;

use cluster::Selection;
use futures::future::join;
use kube::ResourceExt as _;
use manifest::{GroupVersionKind, Namespace};
use operations::{CallError, ExternalService};
use oraclecloud::Client;
use tokio_util::sync::CancellationToken;

use super::connected::Connected;
use super::controller::ExternalController;
use super::credentials::{self, Clients};
use super::credentials_in_use::CredentialsInUse;
use super::endpoint::EndpointSecret;
use super::fingerprint::keep_identity;
use super::namespaces::{self, Namespaces};
use super::object::ExternalObject;
use super::queue::QueueService;
use super::stream::StreamService;
use crate::api::{Queue, Stream};
use crate::run::Context;
use crate::runtime::client::ObjectClient;
use crate::runtime::store::{Source, Store};

/// How long to wait for the Secrets and annotations of namespaces before objects report that they are not known.
const SECRETS_TIMEOUT: Duration = Duration::from_secs(10);
/// The source of the Events.
const COMPONENT: &str = "plimsoll-oci";

/// The labels by which OSOK recognizes the endpoint Secrets that it owns.
const QUEUE_LABEL: &str = "queue.oracle.com/queue-uid";
const STREAM_LABEL: &str = "streaming.oracle.com/stream-uid";

/// Runs the controllers until `stop`, and lets running reconciles end. Nothing they remember outlives it.
pub async fn run(context: Context, stop: CancellationToken) {
    let clients = Clients::start(&context, &stop);
    let namespaces = Namespaces::start(&context, &stop);
    tokio::select! {
        _ = join(clients.secrets().wait_until_synced(), namespaces.store().wait_until_synced()) => {}
        () = tokio::time::sleep(SECRETS_TIMEOUT) => {}
        () = stop.cancelled() => return,
    }
    let start = |source| Store::start(context.session.clone(), source, &stop);
    let namespace = &context.options.namespace;
    let queues = start(source::<Queue>(namespace.clone()));
    let streams = start(source::<Stream>(namespace.clone()));
    let client = ObjectClient::new(context.session.clone());
    let users = vec![queues.clone(), streams.clone()];
    let in_use = CredentialsInUse::new(client, clients.secrets().clone(), users);
    let cloud = Arc::new(Cloud { clients, namespaces, in_use: Arc::new(in_use) });
    let queues = controller(&context, &cloud, queues, QueueService::new)
        .with_endpoint(EndpointSecret::new(QUEUE_LABEL, |queue: &Queue| {
            queue.status.as_ref()?.observed.messages_endpoint.as_deref()
        }));
    let streams =
        controller(&context, &cloud, streams, StreamService::new)
            .with_endpoint(EndpointSecret::new(STREAM_LABEL, |stream: &Stream| {
                stream.status.as_ref()?.observed.messages_endpoint.as_deref()
            }));
    tokio::join!(
        queues.run(stop.clone()),
        streams.run(stop.clone()),
        cloud.in_use.run(&context.metrics, stop.clone())
    );
}

/// What the controllers of all kinds share.
struct Cloud {
    clients: Clients,
    namespaces: Namespaces,
    in_use: Arc<CredentialsInUse>,
}

impl Cloud {
    async fn connect(&self, namespace: &str) -> Result<Connected<Client>, CallError> {
        let policy = self.namespaces.policy(namespace)?;
        let connected = self.clients.connect(namespace, &self.in_use).await?;
        Ok(Connected { policy, ..connected })
    }
}

fn controller<O: ExternalObject, S: ExternalService<Spec = O::Spec> + 'static>(
    context: &Context,
    cloud: &Arc<Cloud>,
    store: Store,
    service: fn(Client) -> S,
) -> ExternalController<O, S> {
    let Context { session, events, metrics, options, readiness, .. } = context;
    readiness.requires(&store);
    let recorder = events.recorder(COMPONENT);
    let of_objects = Arc::clone(cloud);
    let connect = move |object: &O| {
        let (cloud, namespace) = (Arc::clone(&of_objects), object.namespace().unwrap_or_default());
        async move { Ok(cloud.connect(&namespace).await?.map(service)) }
    };
    ExternalController::new(session.clone(), store, connect, options.operations, recorder, metrics.clone())
        .watching(cloud.clients.secrets().clone(), credentials::changed)
        .watching(cloud.namespaces.store().clone(), namespaces::changed)
}

/// The objects of a kind, in a namespace or everywhere, trimmed to what says whether a reconcile is due.
pub fn source<O: ExternalObject>(namespace: Option<Namespace>) -> Source {
    let selection = Selection { namespace, ..Selection::default() };
    Source { selection, trim: keep_identity, ..Source::of(gvk::<O>()) }
}

pub(super) fn gvk<O: ExternalObject>() -> GroupVersionKind {
    format!("{}/{}", O::api_version(&()), O::kind(&())).parse().expect("a derived kind has a valid name")
}
