//! The kinds that XRDs define, and the controllers that run for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use composition::definition::Definition;
use composition::object;
use manifest::GroupVersionKind;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::definition::Role;
use super::engine::Engine;
use super::{claim, composite};
use crate::runtime::supervisor::supervise;

/// What one XRD defines, as its controllers see it. It never changes: a changed XRD makes a new one and restarts the
/// controllers.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The XRD, with the scope of its XRs.
    pub(crate) definition: Definition,
    /// The kind of its XRs, in the referenceable version.
    pub(crate) composite: GroupVersionKind,
    /// The kind of its claims, if it offers any.
    pub(crate) claim: Option<GroupVersionKind>,
}

impl Kind {
    pub(crate) fn new(definition: Definition) -> Self {
        let (composite, claim) = (definition.composite.clone(), definition.claim.clone());
        Self { definition, composite, claim }
    }

    /// The name of the XRD.
    pub(crate) fn name(&self) -> &str {
        object::name(&self.definition.object).unwrap_or_default()
    }

    /// Whether the XRD, and with it this kind, is being deleted.
    pub(crate) fn is_being_deleted(&self) -> bool {
        object::is_being_deleted(&self.definition.object)
    }

    /// Whether controllers that run for `self` fit `other` too.
    fn serves(&self, other: &Self) -> bool {
        let annotations =
            |kind: &Self| object::nested(&kind.definition.object, &["metadata", "annotations"]).cloned();
        self.definition.spec == other.definition.spec
            // An XRD that is refused leaves them in the version that is served.
            && (&self.composite, &self.claim) == (&other.composite, &other.claim)
            && self.definition.scope == other.definition.scope
            && object::uid(&self.definition.object) == object::uid(&other.definition.object)
            // What XRs are composed of goes with them only while their XRD is being deleted.
            && self.is_being_deleted() == other.is_being_deleted()
            // The message of a claim after an internal error comes from an annotation.
            && annotations(self) == annotations(other)
    }
}

/// The running controllers.
pub(crate) struct Kinds {
    engine: Arc<Engine>,
    running: Mutex<BTreeMap<(String, Role), Running>>,
}

struct Running {
    kind: Arc<Kind>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Kinds {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, running: Mutex::default() }
    }

    /// Makes sure that a controller for `role` runs for `kind`; one for an older XRD is stopped first. Whether it was
    /// started.
    pub(crate) async fn start(&self, role: Role, kind: Kind) -> bool {
        let mut running = self.running.lock().await;
        let key = (kind.name().to_owned(), role);
        if let Some(current) = running.get(&key)
            && current.kind.serves(&kind)
            && !current.task.is_finished()
        {
            return false;
        }
        if let Some(outdated) = running.remove(&key) {
            outdated.stop().await;
        }
        let kind = shared(&running, kind);
        let stop = self.engine.stop.child_token();
        let (engine, task_kind, task_stop) = (Arc::clone(&self.engine), Arc::clone(&kind), stop.clone());
        let task = tokio::spawn(async move {
            let arguments = || (Arc::clone(&engine), Arc::clone(&task_kind), task_stop.clone());
            match role {
                Role::Composite => {
                    let start = || {
                        let (engine, kind, stop) = arguments();
                        composite::run(engine, kind, stop)
                    };
                    supervise("composite", &engine.metrics, &task_stop, start).await;
                }
                Role::Claim => {
                    let start = || {
                        let (engine, kind, stop) = arguments();
                        claim::run(engine, kind, stop)
                    };
                    supervise("claim", &engine.metrics, &task_stop, start).await;
                }
            }
        });
        running.insert(key, Running { kind, stop, task });
        true
    }

    /// Stops the controller for `role` of an XRD, and waits until it has ended.
    pub(crate) async fn stop(&self, role: Role, definition: &str) {
        let removed = self.running.lock().await.remove(&(definition.to_owned(), role));
        if let Some(running) = removed {
            running.stop().await;
        }
    }

    pub(crate) async fn is_running(&self, role: Role, definition: &str) -> bool {
        let running = self.running.lock().await;
        running.get(&(definition.to_owned(), role)).is_some_and(|running| !running.task.is_finished())
    }

    /// Stops all controllers and waits until they have ended.
    pub(crate) async fn stop_all(&self) {
        let running = std::mem::take(&mut *self.running.lock().await);
        for running in running.into_values() {
            running.stop().await;
        }
    }
}

/// The value that the other controller of the same XRD already has, so that both share one.
fn shared(running: &BTreeMap<(String, Role), Running>, kind: Kind) -> Arc<Kind> {
    let other = [Role::Composite, Role::Claim]
        .into_iter()
        .filter_map(|role| running.get(&(kind.name().to_owned(), role)))
        .find(|other| other.kind.serves(&kind));
    other.map_or_else(|| Arc::new(kind), |other| Arc::clone(&other.kind))
}

impl Running {
    async fn stop(self) {
        self.stop.cancel();
        // A controller that panicked has ended too, and the panic is in the log.
        let _ = self.task.await;
    }
}
