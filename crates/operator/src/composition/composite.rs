//! The controller of XRs. An XR is reconciled when it, a composed or required resource or its Composition changes, and when
//! its functions' answers expire.
//!
//! ```text
//! selection ──▶ observe ──▶ pipeline ──▶ apply ──▶ status
//!  which         what        functions    garbage,   conditions,
//!  revision      exists      run          refs,      Events
//!                                         children
//! ```

mod apply;
mod connection;
mod finalize;
mod memory;
mod observe;
mod permissions;
mod pipeline;
mod reconcile;
mod required;
mod status;
mod triggers;
mod unavailable;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use composition::composite::{Composite, Layout, UpdatePolicy};
use composition::health::{ReconcileFailure, Stage};
use composition::object;
use composition::protocol::Object;
use composition::selection::{NotSelected, Selected, select};
use manifest::ObjectRef;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::engine::Engine;
use super::kinds::Kind;
use super::pass::Actor;
use super::recording::{RecordPass, WantedRecording};
use super::watches::{Dependency, Dependents, Scope, Watched};
use crate::runtime::client::ApiError;
use crate::runtime::controller::{self, ReconcileError};
use crate::runtime::events::Recorder;
use crate::runtime::queue::Queue;
use crate::runtime::store::{Change, Key};

/// The source of Events, which is Crossplane's.
const COMPONENT: &str = "defined/compositeresourcedefinition.apiextensions.crossplane.io";

/// Reconciles the XRs of `kind` until `stop`.
pub(super) async fn run(engine: Arc<Engine>, kind: Arc<Kind>, stop: CancellationToken) {
    let xrs = engine.watches.open(&Scope::whole(kind.composite.clone()));
    let composer = Composer::new(engine, kind, xrs, stop.clone());
    let recorder: Arc<dyn RecordPass> = composer.clone();
    composer.engine.recordings.offer(&composer.kind.composite, Arc::downgrade(&recorder));
    let watches = async {
        tokio::join!(
            composer.queue.watch_objects(composer.xrs.store.subscribe()),
            composer.watch_compositions(),
            composer.watch_functions(),
        )
    };
    tokio::select! {
        biased;
        () = controller::run(&composer, &composer.queue, &composer.engine.metrics, stop) => {}
        _ = watches => {}
    }
}

/// Composes the XRs of one kind.
struct Composer {
    engine: Arc<Engine>,
    kind: Arc<Kind>,
    layout: Layout,
    stop: CancellationToken,
    xrs: Arc<Watched>,
    dependents: Arc<Dependents>,
    queue: Queue<Self>,
    recorder: Recorder,
    /// Functions that were down and are waited for.
    probing: Mutex<HashSet<String>>,
}

type Result<T> = std::result::Result<T, ReconcileError<ReconcileFailure>>;

/// What a failed write means for the reconcile that was doing `what`.
fn failed(stage: Stage, what: &str, error: &ApiError) -> ReconcileError<ReconcileFailure> {
    if error.is_conflict() {
        return ReconcileError::Conflict;
    }
    let text = if what.is_empty() { error.text() } else { format!("{what}: {}", error.text()) };
    let mut failure = ReconcileFailure::engine(stage, error.class(), text);
    if error.is_invalid() {
        // The text of a rejection may differ each time, and would cause a write at every reconcile.
        failure.stable_message = Some("some resources were invalid, check events".to_owned());
    }
    failure.into()
}

impl Composer {
    fn new(engine: Arc<Engine>, kind: Arc<Kind>, xrs: Arc<Watched>, stop: CancellationToken) -> Arc<Self> {
        Arc::new_cyclic(|this: &std::sync::Weak<Self>| {
            let this = this.clone();
            let on_change = move |dependency: Dependency, change: &Change| {
                if let Some(composer) = this.upgrade() {
                    composer.dependency_changed(dependency, change);
                }
            };
            let metrics = engine.metrics.clone();
            let recorder = engine.events.recorder(COMPONENT);
            let recorder = recorder.of_controller(&format!("composite/{}", kind.name()));
            Self {
                layout: kind.definition.scope.layout(),
                engine,
                kind,
                stop,
                xrs,
                dependents: Dependents::new(metrics, on_change),
                queue: Queue::default(),
                recorder,
                probing: Mutex::default(),
            }
        })
    }

    /// A new revision concerns the XRs that follow its Composition, and those that have no Composition yet.
    async fn watch_compositions(&self) {
        let mut changes = self.engine.catalogue.changes();
        loop {
            let changed = match changes.recv().await {
                Ok(name) => Some(name),
                Err(RecvError::Lagged(_)) => None,
                Err(RecvError::Closed) => return std::future::pending().await,
            };
            for xr in self.xrs.store.state() {
                let Some(object) = xr.as_object() else { continue };
                let composite = Composite::new(object, self.layout);
                let uses = composite.composition_ref();
                let concerned =
                    changed.as_deref().is_none_or(|changed| uses.is_none_or(|uses| uses == changed));
                let follows = composite.update_policy() != Some(UpdatePolicy::Manual)
                    || composite.revision_ref().is_none();
                if concerned && follows {
                    self.queue.enqueue(Key::of_object(object));
                }
            }
        }
    }

    /// A function that is found, or found at another place, concerns the XRs whose last reconcile failed.
    async fn watch_functions(&self) {
        let mut moved = self.engine.functions_moved.clone();
        while moved.changed().await.is_ok() {
            self.queue.failing().into_iter().for_each(|xr| self.force(xr));
        }
        std::future::pending::<()>().await;
    }

    /// Reconciles `xr` now, even if nothing it depends on has changed.
    fn force(&self, xr: Key) {
        self.queue.signals(&xr, |signals| signals.is_forced = true);
        self.queue.enqueue(xr);
    }

    /// Selects the revision that `xr` uses, without a request.
    fn select(&self, xr: Composite<'_>) -> std::result::Result<Selected, NotSelected> {
        select(xr, &self.kind.definition, &self.engine.catalogue.read())
    }

    /// Who writes what `xr` is composed of.
    fn actor(&self, xr: &Object) -> std::result::Result<Actor, ReconcileFailure> {
        let engine = &self.engine;
        let composite = Composite::new(xr, self.layout);
        let composition = composite.composition_ref().and_then(|name| engine.catalogue.composition(name));
        let composition = composition.as_ref().map(|composition| &composition.object);
        Actor::of(composite, composition, engine.default_service_account.as_deref(), &engine.client)
    }

    fn record_write(&self, xr: &Object) {
        self.xrs.store.record_write(Value::Object(xr.clone()));
    }

    fn record_child_write(&self, xr: &Key, child: &Object) {
        if let (Some(uid), Some(version)) = (object::uid(child), object::resource_version(child)) {
            self.queue.signals(xr, |signals| signals.written.insert(uid.to_owned(), version.to_owned()));
        }
        let Ok(reference) = ObjectRef::of(child) else { return };
        if let Some(watched) = self.dependents.watched(&Scope::composed(&reference)) {
            watched.store.record_write(Value::Object(child.clone()));
        }
    }
}

impl RecordPass for Composer {
    fn record(&self, xr: &Key, wanted: WantedRecording) -> std::result::Result<(), WantedRecording> {
        if !self.has(xr) {
            return Err(wanted);
        }
        self.queue.signals(xr, |signals| signals.recordings.add(wanted));
        self.queue.enqueue_first(xr.clone());
        Ok(())
    }

    fn has(&self, xr: &Key) -> bool {
        self.xrs.store.get(xr).is_some()
    }
}
