//! The controllers of all kinds at Oracle Cloud, for one term of leadership: one for each kind whose definition is
//! installed, as definitions come and go.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cluster::Selection;
use futures::FutureExt as _;
use futures::future::join;
use jiff::Timestamp;
use manifest::Namespace;
use operations::CallError;
use oraclecloud::Kind;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use super::awaited_secrets::AwaitedSecrets;
use super::connected::Connected;
use super::controller::CloudController;
use super::credentials::{self, Clients};
use super::credentials_in_use::CredentialsInUse;
use super::endpoint::EndpointSecret;
use super::fingerprint::keep_identity;
use super::installed::InstalledKinds;
use super::namespaces::{self, Namespaces};
use super::object::gvk;
use crate::run::Context;
use crate::runtime::client::ObjectClient;
use crate::runtime::metrics::Metrics;
use crate::runtime::queue::Queue;
use crate::runtime::store::{Source, Store};
use crate::runtime::supervisor::supervise;

/// How long to wait for the Secrets and annotations of namespaces before objects report that they are not known.
const SECRETS_TIMEOUT: Duration = Duration::from_secs(10);
/// The source of the Events.
const COMPONENT: &str = "plimsoll-oci";

/// Runs the controllers until `stop`, and lets running reconciles end. Nothing they remember outlives it.
pub async fn run(context: Context, stop: CancellationToken) {
    let began = Timestamp::now();
    let clients = Clients::start(&context, &stop);
    let namespaces = Namespaces::start(&context, &stop);
    let installed = InstalledKinds::start(&context, &stop);
    // Without these, no object is reconciled.
    context.readiness.requires(clients.secrets());
    context.readiness.requires(namespaces.store());
    let secrets = join(clients.secrets().wait_until_synced(), namespaces.store().wait_until_synced());
    tokio::select! {
        _ = join(secrets, installed.wait_until_known()) => {}
        () = tokio::time::sleep(SECRETS_TIMEOUT) => {}
        () = stop.cancelled() => return,
    }
    let client = ObjectClient::new(context.session.clone()).while_leading(context.leadership.clone());
    let in_use = Arc::new(CredentialsInUse::new(client, clients.secrets().clone()));
    let cloud = Arc::new(Cloud { clients, namespaces, in_use, began });
    let start = {
        let (context, cloud) = (context.clone(), Arc::clone(&cloud));
        move |kind, stop| control(&context, &cloud, kind, stop)
    };
    let keep_credentials = || cloud.in_use.run(&context.metrics, stop.clone());
    tokio::select! {
        () = run_kinds(&installed, &context.metrics, &stop, start, |kinds| cloud.in_use.set_installed(kinds)) => {}
        () = supervise("Credentials", &context.metrics, &stop, keep_credentials) => {}
    }
}

/// Runs what `start` makes for each installed kind, until `stop` or until one of them ends on its own, which none should.
/// `known` is called with the kinds that are installed, before the first of them starts.
async fn run_kinds<F: Future<Output = ()> + Send + 'static>(
    installed: &InstalledKinds,
    metrics: &Metrics,
    stop: &CancellationToken,
    start: impl Fn(Kind, CancellationToken) -> F + Clone + Send + Sync + 'static,
    known: impl Fn(&[Kind]),
) {
    let mut controllers = JoinSet::new();
    let mut running: HashMap<Id, (Kind, CancellationToken)> = HashMap::new();
    let mut changes = installed.subscribe();
    loop {
        let kinds = installed.kinds();
        known(&kinds);
        for (kind, stop) in running.values().filter(|(kind, _)| !kinds.contains(kind)) {
            tracing::info!(?kind, "its definition is gone; stopping its controller");
            stop.cancel();
        }
        for kind in kinds {
            if running.values().all(|(known, _)| *known != kind) {
                let (start, metrics, stop) = (start.clone(), metrics.clone(), stop.child_token());
                let stop_kind = stop.clone();
                let started = controllers.spawn(async move {
                    let start = || start(kind, stop_kind.clone());
                    supervise(kind.label, &metrics, &stop_kind, start).await;
                });
                running.insert(started.id(), (kind, stop));
            }
        }
        let ended = tokio::select! {
            ended = controllers.join_next_with_id(), if !controllers.is_empty() => ended,
            () = changes.changed() => None,
            () = stop.cancelled() => break,
        };
        let id = match ended {
            None => continue,
            Some(Ok((id, ()))) => id,
            Some(Err(error)) => error.id(),
        };
        if running.remove(&id).is_none_or(|(_, stop)| !stop.is_cancelled()) {
            return;
        }
    }
    while controllers.join_next().await.is_some() {}
}

/// What the controllers of all kinds share.
struct Cloud {
    clients: Clients,
    namespaces: Namespaces,
    in_use: Arc<CredentialsInUse>,
    began: Timestamp,
}

impl Cloud {
    async fn connect(&self, namespace: &str) -> Result<Connected, CallError> {
        let policy = self.namespaces.policy(namespace)?;
        let connected = self.clients.connect(namespace, &self.in_use).await?;
        Ok(Connected { policy, ..connected })
    }
}

/// Runs the controller of one kind until `stop`.
fn control(
    context: &Context,
    cloud: &Arc<Cloud>,
    kind: Kind,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send + use<> {
    let Context { session, events, metrics, options, readiness, leadership, .. } = context;
    let start = |source| Store::start(session.clone(), source, metrics, &stop);
    let all = source(kind, options.namespace.clone());
    let store = start(all.clone().in_shard(&options.shard));
    readiness.requires(&store);
    // The objects of other shards need the credentials of their namespace too.
    let users = if options.shard.is_everything() { store.clone() } else { start(all) };
    cloud.in_use.add(kind, users.clone());
    let of_objects = Arc::clone(cloud);
    let controller = CloudController {
        kind,
        client: ObjectClient::new(session.clone()).while_leading(leadership.clone()),
        store,
        of_namespaces: vec![
            (cloud.clients.secrets().clone(), credentials::changed),
            (cloud.namespaces.store().clone(), namespaces::changed),
        ],
        connect: Box::new(move |namespace| {
            let cloud = Arc::clone(&of_objects);
            async move { cloud.connect(&namespace).await }.boxed()
        }),
        endpoint: EndpointSecret::of(kind),
        settings: options.operations,
        began: cloud.began,
        recorder: events.recorder(COMPONENT),
        metrics: metrics.clone(),
        counts: metrics.part(),
        queue: Queue::default(),
        awaited_secrets: AwaitedSecrets::default(),
    };
    let in_use = Arc::clone(&cloud.in_use);
    async move {
        tokio::select! {
            () = controller.run(stop) => {}
            () = in_use.watch(&users) => {}
        }
        in_use.remove(kind);
    }
}

/// The objects of a kind, in a namespace or everywhere, trimmed to what says whether a reconcile is due.
fn source(kind: Kind, namespace: Option<Namespace>) -> Source {
    let selection = Selection { namespace, ..Selection::default() };
    Source { selection, trim: keep_identity, ..Source::of(gvk(kind)) }
}

#[cfg(test)]
mod tests;
