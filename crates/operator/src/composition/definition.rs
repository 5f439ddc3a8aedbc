//! The controller of XRDs: it defines the kinds, runs their controllers, and removes both with the XRD.
//!
//! ```text
//! XRD ──▶ finalizers ──▶ CRDs applied ──▶ CRDs established ──▶ controllers run ──▶ Established, Offered
//!     deleted ──▶ claims deleted ──▶ claim CRD deleted ──▶ XRs deleted ──▶ XR CRD deleted ──▶ finalizers removed
//! ```

mod establish;
mod finalize;
mod rbac;
mod role;
mod standing;
mod status;

pub(crate) use role::Role;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use backoff::Backoff;
use composition::definition::Definition;
use composition::intent::Applied;
use composition::object;
use composition::protocol::Object;
use diag::Diagnostic;
use serde_json::Value;

use super::MANAGER;
use super::engine::Engine;
use super::kinds::Kinds;
use crate::runtime::client::ApiError;
use crate::runtime::controller::{self, Action, ReconcileError, Reconciler};
use crate::runtime::events::{EventLog, EventType, reference};
use crate::runtime::finalizer;
use crate::runtime::health::Readiness;
use crate::runtime::queue::Queue;
use crate::runtime::store::{Change, Key, Source, Store};
use status::Status;

/// Reconciles XRDs.
pub(super) struct Definitions {
    engine: Arc<Engine>,
    kinds: Kinds,
    xrds: Store,
    readiness: Readiness,
    queue: Queue<Self>,
}

/// What one reconcile of an XRD leaves for the next.
#[derive(Default)]
pub(super) struct DefinitionMemory {
    applied: BTreeMap<Role, Applied>,
    /// The ClusterRoles that were found to be in place.
    granted: Vec<Object>,
    events: EventLog<XrdEvent>,
}

/// An Event about an XRD; the role decides which controller it comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct XrdEvent {
    role: Role,
    kind: EventType,
    reason: &'static str,
    message: String,
}

/// One reconcile of one XRD.
struct Reconcile<'a> {
    definitions: &'a Definitions,
    /// As it was last read or written.
    xrd: Object,
    memory: &'a mut DefinitionMemory,
    events: Vec<XrdEvent>,
}

type Result<T> = std::result::Result<T, ReconcileError<String>>;

impl Definitions {
    pub(super) fn new(engine: Arc<Engine>, xrds: Store, readiness: Readiness) -> Self {
        let kinds = Kinds::new(Arc::clone(&engine));
        Self { engine, kinds, xrds, readiness, queue: Queue::default() }
    }

    /// Runs until the engine stops. The controllers it started go on, so that it can be started again.
    pub(super) async fn run(self: &Arc<Self>) {
        let crd = "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a valid kind");
        let source = Source { trim: keep_owner_and_status, ..Source::of(crd) };
        let crds = self.engine.start_store(source);
        self.readiness.requires(&crds);
        tokio::select! {
            biased;
            () = controller::run(self, &self.queue, &self.engine.metrics, self.engine.stop.clone()) => {}
            () = self.queue.watch(self.xrds.subscribe(), |change| [change.key.name.clone()]) => {}
            () = self.queue.watch(crds.subscribe(), xrds_of) => {}
        }
    }

    /// Stops the controllers it started, and waits until they have ended.
    pub(super) async fn end(&self) {
        self.kinds.stop_all().await;
    }

    async fn stop_controllers(&self, xrd: &str) {
        self.kinds.stop(Role::Claim, xrd).await;
        self.kinds.stop(Role::Composite, xrd).await;
    }

    fn record(&self, xrd: &Object, event: &XrdEvent) {
        let recorder = self.engine.events.recorder(event.role.words().component);
        recorder.record(reference(xrd), event.kind, event.reason, &event.message);
    }
}

impl Reconciler for Definitions {
    type Key = String;
    type Memory = DefinitionMemory;
    type Signals = ();
    type Error = String;

    const NAME: &'static str = "definition";
    const MAX_CONCURRENT_RECONCILES: usize = 8;
    const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

    fn find(&self, name: &String) -> Option<Arc<Value>> {
        self.xrds.get(&Key::cluster_scoped(name))
    }

    async fn reconcile(
        self: &Arc<Self>,
        _name: &String,
        xrd: Arc<Value>,
        memory: &mut DefinitionMemory,
    ) -> Result<Action> {
        let Some(xrd) = xrd.as_object().cloned() else { return Ok(Action::await_change()) };
        let mut reconcile = Reconcile { definitions: self, xrd, memory, events: Vec::new() };
        let outcome = reconcile.run().await;
        let Reconcile { xrd, memory, events, .. } = reconcile;
        for event in memory.events.update(events, &BTreeSet::new()) {
            self.record(&xrd, &event);
        }
        outcome
    }

    /// Without its XRD a kind is not watched, even if its finalizers were removed by force.
    async fn forget(&self, name: &String, _memory: DefinitionMemory) {
        self.stop_controllers(name).await;
    }
}

impl Reconcile<'_> {
    async fn run(&mut self) -> Result<Action> {
        if !self.definitions.engine.shard.selects(&self.xrd) {
            return self.follow().await;
        }
        let definition = match Definition::read(&self.xrd) {
            Ok((definition, warnings)) => {
                self.warn(&warnings);
                definition
            }
            Err(found) if object::is_being_deleted(&self.xrd) => return self.finalize_invalid(&found).await,
            Err(found) => return self.reject(&found).await,
        };
        if object::is_being_deleted(&self.xrd) {
            self.finalize(&definition).await
        } else {
            self.establish(&definition).await
        }
    }

    /// Another shard establishes and finalizes this XRD. Its XRs and claims may belong to any shard, so controllers run here
    /// too, as long as there can be any.
    async fn follow(&mut self) -> Result<Action> {
        let read = Definition::read(&self.xrd).ok().map(|(definition, _)| definition);
        let Some(definition) = read.or_else(|| Definition::salvaged(&self.xrd)) else {
            return Ok(Action::await_change());
        };
        let (definition, _) = self.standing(&definition).await?;
        for role in Role::of(&definition) {
            if status::is_served(&self.xrd, role) || object::is_being_deleted(&self.xrd) {
                self.definitions.kinds.start(role, self.kind(&definition)).await;
            }
        }
        Ok(Action::await_change())
    }

    /// Warns about fields without effect while the XRD is new or has just changed, not after every restart.
    fn warn(&mut self, warnings: &[Diagnostic]) {
        if status::watched_generation(&self.xrd, Role::Composite) != object::generation(&self.xrd) {
            for warning in warnings {
                self.event(Role::Composite, EventType::Warning, "RenderCRD", in_words(warning));
            }
        }
    }

    /// An invalid XRD defines nothing until it changes. What an earlier version established stays, and is reconciled.
    async fn reject(&mut self, found: &[Diagnostic]) -> Result<Action> {
        let why = found.iter().map(in_words).collect::<Vec<_>>().join("; ");
        let why = format!("cannot render composite resource CustomResourceDefinition: {why}");
        self.event(Role::Composite, EventType::Warning, "RenderCRD", why.clone());
        let mut status = Status::of(&self.xrd, self.definitions.engine.clock.now());
        status.failed(Role::Composite, "RenderCRD", &why);
        if status.is_established() {
            self.uphold().await?;
        } else {
            self.revoke().await;
        }
        self.write_status(status).await?;
        Ok(Action::await_change())
    }

    /// Writes the status if it has changed.
    async fn write_status(&mut self, status: Status) -> Result<()> {
        if let Some(changed) = status.changed(&self.xrd) {
            let written = self.definitions.engine.client.replace_status(&changed, MANAGER).await;
            let doing = "cannot update status of CompositeResourceDefinition";
            self.xrd = self.check(written, Role::Composite, doing)?;
        }
        Ok(())
    }

    async fn set_finalizers(&mut self, roles: &[Role], present: bool, doing: &str) -> Result<()> {
        let names: Vec<&str> = roles.iter().map(|role| role.words().finalizer).collect();
        let set = finalizer::set(&self.definitions.engine.client, &self.xrd, &names, present, MANAGER).await;
        if let Some(xrd) = self.check(set, roles.first().copied().unwrap_or(Role::Composite), doing)? {
            self.xrd = xrd;
        }
        Ok(())
    }

    /// The outcome of a read or write; a failure becomes an Event that says what was being done.
    fn check<T>(&mut self, outcome: std::result::Result<T, ApiError>, role: Role, doing: &str) -> Result<T> {
        outcome.map_err(|error| {
            if error.is_conflict() {
                return ReconcileError::Conflict;
            }
            let words = role.words();
            let deleting = object::is_being_deleted(&self.xrd);
            let reason = if deleting { words.terminate } else { words.establish };
            let message = format!("{doing}: {}", error.text());
            self.event(role, EventType::Warning, reason, message.clone());
            ReconcileError::Failed(message)
        })
    }

    fn event(&mut self, role: Role, kind: EventType, reason: &'static str, message: impl Into<String>) {
        self.events.push(XrdEvent { role, kind, reason, message: message.into() });
    }
}

/// A diagnostic in one sentence.
fn in_words(found: &Diagnostic) -> String {
    match &found.field {
        Some(field) => format!("{field}: {}", found.summary),
        None => found.summary.clone(),
    }
}

/// The XRDs that control a changed CRD.
fn xrds_of(change: &Change) -> Vec<String> {
    let owners = change.sides().filter_map(object::controller);
    owners.filter(|owner| owner.kind == "CompositeResourceDefinition").map(|owner| owner.name).collect()
}

/// Trims a CRD to its controller and status; the rest is large.
fn keep_owner_and_status(crd: &mut Value) {
    if let Some(crd) = crd.as_object_mut() {
        crd.remove("spec");
        if let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
            metadata.remove("annotations");
        }
    }
}

#[cfg(test)]
mod tests;
