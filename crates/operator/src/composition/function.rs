//! The controller of Functions: it runs those that are packages, and reports whether each can be reached. What a flag or an
//! annotation locates is not run.
//!
//! ```text
//! Function ──┬─ annotated with an endpoint ─────────────────────────────▶ reached? ──▶ Installed, Healthy
//!            └─ package ──▶ FunctionRevisions ──▶ certificate, Deployment ──▶┘
//! ```

mod authority;
mod installed;
mod locations;
mod unsupported;

pub(super) use authority::OwnAuthority;
pub(super) use locations::{FunctionLocations, packages};
pub(super) use unsupported::report_unsupported;

use std::sync::Arc;
use std::time::Duration;

use backoff::Backoff;
use cluster::{Propagation, Selection};
use composition::composite::is_paused;
use composition::condition::{Condition, Conditions};
use composition::function::ANNOTATION_ENDPOINT;
use composition::object;
use composition::package;
use composition::package::health::{Standing, function_status};
use composition::package::revisions::{Plan, plan};
use composition::package::runtime::LABEL_FUNCTION;
use composition::protocol::Object;
use manifest::{Namespace, ObjectRef};
use serde_json::Value;

use super::certificates::Identities;
use super::engine::Engine;
use super::{MANAGER, Stores};
use crate::runtime::client::ApiError;
use crate::runtime::controller::{Action, ReconcileError, Reconciler};
use crate::runtime::events::{EventType, reference};
use crate::runtime::queue::Queue;
use crate::runtime::store::{Change, Key, Source, Store};
use installed::Installed;

/// The source of Events, as in Crossplane.
const COMPONENT: &str = "packages/function.pkg.crossplane.io";
/// How long connecting to a function may take before it counts as unhealthy.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const HEALTHY_INTERVAL: Duration = Duration::from_secs(30);
const UNHEALTHY_INTERVAL: Duration = Duration::from_secs(2);

/// Reconciles Functions.
pub(super) struct FunctionController {
    engine: Arc<Engine>,
    identities: Arc<Identities>,
    authority: Arc<OwnAuthority>,
    locations: Arc<FunctionLocations>,
    /// Where functions run.
    namespace: String,
    functions: Store,
    revisions: Store,
    configs: Store,
    deployments: Store,
    pub(super) queue: Queue<Self>,
}

impl FunctionController {
    pub(super) fn new(
        engine: &Arc<Engine>,
        identities: Arc<Identities>,
        authority: Arc<OwnAuthority>,
        locations: Arc<FunctionLocations>,
        stores: &Stores,
        namespace: &str,
    ) -> Self {
        let start = |kind: &str, selection: Selection| {
            let source = Source { selection, ..Source::of(kind.parse().expect("a valid kind")) };
            engine.start_store(source.without_managed_fields())
        };
        let own = Selection {
            namespace: Namespace::new(namespace),
            labels: Some(LABEL_FUNCTION.to_owned()),
            ..Selection::default()
        };
        Self {
            identities,
            authority,
            locations,
            namespace: namespace.to_owned(),
            functions: stores.functions.clone(),
            revisions: stores.function_revisions.clone(),
            configs: start("pkg.crossplane.io/v1beta1/DeploymentRuntimeConfig", Selection::default()),
            deployments: start("apps/v1/Deployment", own),
            queue: Queue::default(),
            engine: Arc::clone(engine),
        }
    }

    /// Enqueues the Functions that changes concern. Never returns.
    pub(super) async fn watch(&self, on_function: impl Fn(&Change) -> [String; 1]) {
        let all =
            |_: &Change| -> Vec<String> { self.functions.keys().into_iter().map(|key| key.name).collect() };
        tokio::join!(
            self.queue.watch(self.functions.subscribe(), on_function),
            self.queue.watch(self.revisions.subscribe(), packages),
            self.queue.watch(self.configs.subscribe(), all),
            self.queue
                .watch(self.deployments.subscribe(), |change| locations::labelled(change, LABEL_FUNCTION)),
        );
    }
}

impl Reconciler for FunctionController {
    type Key = String;
    type Memory = Installed;
    type Signals = ();
    type Error = String;

    const NAME: &'static str = "function";
    const MAX_CONCURRENT_RECONCILES: usize = 16;
    const BACKOFF: Backoff = Backoff::new(UNHEALTHY_INTERVAL, HEALTHY_INTERVAL);

    fn find(&self, name: &String) -> Option<Arc<Value>> {
        self.functions.get(&Key::cluster_scoped(name))
    }

    async fn reconcile(
        self: &Arc<Self>,
        name: &String,
        function: Arc<Value>,
        memory: &mut Installed,
    ) -> Result<Action, ReconcileError<String>> {
        let Some(function) = function.as_object().filter(|function| self.engine.shard.selects(function))
        else {
            return Ok(Action::await_change());
        };
        if object::is_being_deleted(function) || is_paused(function) {
            return Ok(Action::await_change());
        }
        let standing = self.standing(name, function, memory).await?;
        let is_healthy = matches!(&standing, Standing::Active { trouble: None, .. });
        if let Some(reported) = function_status(function, &standing, self.engine.clock.now()) {
            let written = self.engine.client.replace_status(&reported, MANAGER).await?;
            let was_healthy = Conditions::of(function).get("Healthy").is_some_and(Condition::is_true);
            if is_healthy && !was_healthy {
                let recorder = self.engine.events.recorder(COMPONENT);
                let message = "Successfully installed package revision";
                recorder.record(reference(&written), EventType::Normal, "InstallPackageRevision", message);
            }
            self.functions.record_write(Value::Object(written));
        }
        Ok(match standing {
            Standing::Active { trouble: None, .. } => Action::requeue(HEALTHY_INTERVAL),
            Standing::Inactive { .. } => Action::await_change(),
            Standing::Active { .. } => Action::requeue(UNHEALTHY_INTERVAL),
        })
    }
}

impl FunctionController {
    /// Installs the function as far as that is this operator's task; how it stands then.
    async fn standing(
        &self,
        name: &str,
        function: &Object,
        memory: &mut Installed,
    ) -> Result<Standing, ReconcileError<String>> {
        let of_flag = self.locations.of_flag(name).map(|endpoint| (endpoint, "of --function".to_owned()));
        let of_annotation = object::annotation(function, ANNOTATION_ENDPOINT)
            .map(|endpoint| (endpoint, format!("in the annotation {ANNOTATION_ENDPOINT}")));
        if let Some((endpoint, origin)) = of_flag.or(of_annotation) {
            self.remove_deployments(name, None).await?;
            return Ok(Standing::Active {
                current: None,
                about: format!("called at the endpoint {origin}; no package is installed"),
                trouble: self.unreachable(name, endpoint).await,
            });
        }
        match plan(function, &locations::objects(&self.revisions), &self.namespace) {
            Plan::External(revision) => {
                let endpoint = package::endpoint(&revision).unwrap_or_default();
                let about = format!(
                    "called at the endpoint of FunctionRevision {}, whose runtime is not Plimsoll's",
                    object::name(&revision).unwrap_or_default()
                );
                Ok(Standing::Active { current: None, about, trouble: self.unreachable(name, endpoint).await })
            }
            Plan::Ours(planned) => self.install(name, function, &planned, memory).await,
        }
    }

    /// Why the function cannot be reached at `endpoint`, if it cannot.
    async fn unreachable(&self, name: &str, endpoint: &str) -> Option<String> {
        let reachable = self.engine.functions.reachable(name);
        match tokio::time::timeout(CONNECT_TIMEOUT, reachable).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.message),
            Err(_) => Some(format!("no connection to {endpoint} within {} s", CONNECT_TIMEOUT.as_secs())),
        }
    }

    /// Deletes the Deployments of a function, except that of the active revision.
    async fn remove_deployments(&self, name: &str, active: Option<&Object>) -> Result<(), ApiError> {
        for deployment in locations::objects(&self.deployments) {
            let is_of = object::label(&deployment, LABEL_FUNCTION) == Some(name);
            let is_of_revision =
                object::controller(&deployment).is_some_and(|owner| owner.kind == "FunctionRevision");
            let is_wanted = active.is_some_and(|active| object::is_controlled_by(&deployment, active));
            if is_of && is_of_revision && !is_wanted && !object::is_being_deleted(&deployment) {
                let target = ObjectRef::of(&deployment)?;
                let uid = object::uid(&deployment);
                self.engine.client.delete(&target, uid, None, Propagation::Background).await?;
            }
        }
        Ok(())
    }
}
