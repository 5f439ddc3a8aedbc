//! The controller of XRs: goes over an XR when it, its children, what it requires, its Composition or time says so.
//!
//! ```text
//! choice ──▶ observation ──▶ conversation ──▶ applied ──▶ report
//!  which      what is          what the         garbage,    status, events,
//!  revision   there            functions say    refs,       when again
//!                                               children
//! ```

mod access;
mod applied;
mod choice;
mod connection;
mod conversation;
mod hearing;
mod leave;
mod memory;
mod observation;
mod pass;
mod report;
mod waiting;

pub(super) use self::pass::random;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use composition::breaker::Breaker;
use composition::composite::{Composite, Layout, UpdatePolicy};
use composition::health::{PassFailure, Stage};
use composition::object;
use composition::run::Object;
use manifest::GroupVersionKind;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::memory::Memory;
use self::waiting::Waiting;
use super::children::{Dependency, Dependents, Scope, Watched};
use super::engine::Engine;
use super::kinds::Kind;
use super::writer::WriteError;
use crate::events::Recorder;
use crate::store::{Change, Key};
use crate::work::Work;

/// Who the Events of this controller are from, as in the reference.
const COMPONENT: &str = "defined/compositeresourcedefinition.apiextensions.crossplane.io";
/// As many XRs as are gone over at a time. Most of them wait for functions, of which each has its own limit, and for their
/// turn to write.
const AT_ONCE: usize = 1000;

/// Goes over the XRs of `kind` until it is told to stop.
pub(super) async fn run(engine: Arc<Engine>, kind: Arc<Kind>, stop: CancellationToken) {
    let xrs = engine.watches.open(&Scope::whole(kind.composite.clone()));
    let composer = Composer::new(engine, kind, xrs, stop.clone());
    let follow = async {
        tokio::join!(composer.follow_xrs(), composer.follow_compositions(), composer.follow_functions())
    };
    let work = composer.work.clone();
    let passes = work.run(AT_ONCE, stop.clone(), {
        let composer = Arc::clone(&composer);
        move |key| {
            let composer = Arc::clone(&composer);
            async move { composer.pass(key).await }
        }
    });
    tokio::pin!(passes);
    tokio::select! {
        () = &mut passes => {}
        _ = follow => passes.await,
    }
}

/// The XRs of one kind.
struct Composer {
    engine: Arc<Engine>,
    kind: Arc<Kind>,
    layout: Layout,
    stop: CancellationToken,
    xrs: Arc<Watched>,
    dependents: Arc<Dependents>,
    work: Work<Key>,
    recorder: Recorder,
    memories: Mutex<HashMap<Key, Memory>>,
    breakers: Mutex<HashMap<Key, Breaker>>,
    /// XRs that are owed a pass although nothing about them has changed.
    forced: Mutex<HashSet<Key>>,
    /// The version in which we left each child: that the watch tells of it is no news.
    left: Mutex<HashMap<String, String>>,
    /// When an XR was last told of something urgent.
    urgent: Mutex<HashMap<Key, Instant>>,
    waiting: Waiting,
}

/// Why a pass does not go on.
enum Stopped {
    /// Somebody else was faster: look again.
    Outdated,
    /// This went wrong.
    Failed(PassFailure),
}

impl From<PassFailure> for Stopped {
    fn from(failure: PassFailure) -> Self {
        Self::Failed(failure)
    }
}

impl Stopped {
    /// What a failed write means for the pass that was doing `what`.
    fn by(stage: Stage, what: &str, error: &WriteError) -> Self {
        if error.is_outdated() {
            return Self::Outdated;
        }
        let text = if what.is_empty() { error.text() } else { format!("{what}: {}", error.text()) };
        let mut failure = PassFailure::engine(stage, error.class(), text);
        if error.is_invalid() {
            // Its text may be another each time, and would cause a write at every pass.
            failure.stable_message = Some("some resources were invalid, check events".to_owned());
        }
        Self::Failed(failure)
    }
}

impl Composer {
    fn new(engine: Arc<Engine>, kind: Arc<Kind>, xrs: Arc<Watched>, stop: CancellationToken) -> Arc<Self> {
        Arc::new_cyclic(|this: &std::sync::Weak<Self>| {
            let this = this.clone();
            let hear = move |dependency: Dependency, change: &Change| {
                if let Some(composer) = this.upgrade() {
                    composer.heard(dependency, change);
                }
            };
            let recorder = engine.events.recorder(COMPONENT);
            let recorder = recorder.of_controller(&format!("composite/{}", kind.name()));
            Self {
                layout: kind.definition.scope.layout(),
                engine,
                kind,
                stop,
                xrs,
                dependents: Dependents::new(hear),
                work: Work::new(),
                recorder,
                memories: Mutex::default(),
                breakers: Mutex::default(),
                forced: Mutex::default(),
                left: Mutex::default(),
                urgent: Mutex::default(),
                waiting: Waiting::default(),
            }
        })
    }

    async fn follow_xrs(&self) {
        let mut changes = self.xrs.store.subscribe();
        while let Some(change) = changes.recv().await {
            self.work.now(change.key);
        }
    }

    /// A new revision concerns the XRs that follow its Composition, and those that have none yet.
    async fn follow_compositions(&self) {
        let mut changes = self.engine.catalogue.changes();
        loop {
            let changed = match changes.recv().await {
                Ok(name) => Some(name),
                Err(RecvError::Lagged(_)) => None,
                Err(RecvError::Closed) => return std::future::pending().await,
            };
            for xr in self.xrs.store.all() {
                let Some(object) = xr.as_object() else { continue };
                let composite = Composite::new(object, self.layout);
                let uses = composite.composition_ref();
                let concerned =
                    changed.as_deref().is_none_or(|changed| uses.is_none_or(|uses| uses == changed));
                let follows = composite.update_policy() != Some(UpdatePolicy::Manual)
                    || composite.revision_ref().is_none();
                if concerned && follows {
                    self.work.now(Key::of_object(object));
                }
            }
        }
    }

    /// A function that is found elsewhere, or at last, concerns the XRs whose last pass failed.
    async fn follow_functions(&self) {
        let mut moved = self.engine.functions_moved.clone();
        while moved.changed().await.is_ok() {
            let failed: Vec<Key> = lock(&self.memories)
                .iter()
                .filter(|(_, memory)| memory.failures > 0)
                .map(|(key, _)| key.clone())
                .collect();
            for key in failed {
                self.force(key);
            }
        }
        std::future::pending::<()>().await;
    }

    /// Owes `xr` a pass now, whatever has changed or not.
    fn force(&self, xr: Key) {
        lock(&self.forced).insert(xr.clone());
        self.work.now(xr);
    }

    /// Takes in what the API server made of an XR.
    fn learned(&self, xr: &Object) {
        self.xrs.store.learned(Value::Object(xr.clone()));
    }

    /// Takes in what the API server made of a child.
    fn learned_child(&self, child: &Object) {
        if let (Some(uid), Some(version)) = (object::uid(child), object::resource_version(child)) {
            lock(&self.left).insert(uid.to_owned(), version.to_owned());
        }
        let Ok(gvk) = GroupVersionKind::of(child) else { return };
        if let Some(watched) = self.dependents.watched(&Scope::composed(gvk)) {
            watched.store.learned(Value::Object(child.clone()));
        }
    }

    /// Nothing is remembered of an XR that is gone.
    fn forget(&self, key: &Key) {
        lock(&self.memories).remove(key);
        lock(&self.breakers).remove(key);
        lock(&self.forced).remove(key);
        self.dependents.forget(&self.engine.watches, key);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
