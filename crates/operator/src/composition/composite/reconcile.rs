//! One reconcile of one XR.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use backoff::{Backoff, Jitter};
use cluster::PatchType;
use composition::composite::Composite;
use composition::desired::Rendered;
use composition::event::Event;
use composition::health::{ReconcileFailure, Stage};
use composition::naming::COMPOSITE_MANAGER;
use composition::object;
use composition::observed::Observed;
use composition::pipeline::Outcome;
use composition::protocol::Object;
use composition::readiness::Child;
use composition::requeue::{DEBOUNCE, Due, Fingerprint, interval};
use composition::selection::{NotSelected, Selected};
use composition::takeover::fold_updates;
use functions::Reservation;
use jiff::Timestamp;
use manifest::ObjectRef;
use serde_json::Value;
use tokio::time::Instant;

use super::memory::{Unwritten, XrMemory, XrSignals};
use super::observe::fingerprint;
use super::pipeline::PipelineRun;
use super::{Composer, failed};
use crate::composition::MANAGER;
use crate::composition::pass::{Actor, observed_state, render};
use crate::composition::recording::{Recorder, WantedRecordings};
use crate::composition::watches::Scope;
use crate::runtime::controller::{Action, ReconcileError, Reconciler};
use crate::runtime::store::Key;

/// How long a Composition that is probably being created is waited for at a time before its absence is reported.
const GRACE_PERIOD: Duration = Duration::from_millis(500);

/// What a reconcile has done so far.
#[derive(Default)]
pub(super) struct Progress {
    /// The result of the pipeline.
    pub(super) outcome: Outcome,
    /// The state of the desired composed resources.
    pub(super) children: Vec<Child>,
    /// References to composed resources that do not exist.
    pub(super) missing: Vec<String>,
    /// Events beside those for functions and composed resources.
    pub(super) events: Vec<Event>,
    /// When connection details were published.
    pub(super) published: Option<Timestamp>,
    /// The function that could not be reached.
    unreachable: Option<String>,
    /// When all functions returned, and for which observed state.
    returned: Option<(Fingerprint, Instant)>,
    /// The revision in use.
    pub(super) revision: String,
    /// The memory that the result of the pipeline takes.
    reservation: Reservation,
    /// Records the pass, if a user has asked for it.
    pub(super) recording: Option<(WantedRecordings, Recorder)>,
}

impl Progress {
    pub(super) fn recorder(&self) -> Option<&Recorder> {
        self.recording.as_ref().map(|(_, recorder)| recorder)
    }

    /// The part of the pass called `name` has ended.
    fn phase(&self, name: &str) {
        if let Some(recorder) = self.recorder() {
            recorder.phase(name);
        }
    }
}

impl Reconciler for Composer {
    type Key = Key;
    type Memory = XrMemory;
    type Signals = XrSignals;
    type Error = String;

    const NAME: &'static str = "composite";
    /// Most of them wait for functions, each of which has its own limit, and for their turn to write. Each holds copies of
    /// what the XR is composed of while it waits, so more of them would only need more memory.
    const MAX_CONCURRENT_RECONCILES: usize = 200;
    const RESERVED_FOR_CHANGES: usize = 20;
    const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));

    fn find(&self, key: &Key) -> Option<Arc<Value>> {
        self.xrs.store.get(key)
    }

    async fn reconcile(
        self: &Arc<Self>,
        key: &Key,
        xr: Arc<Value>,
        memory: &mut XrMemory,
    ) -> Result<Action, ReconcileError<String>> {
        let outcome = self.reconcile_xr(key, xr, memory).await;
        if memory.counted.is_none() || !outcome.as_ref().is_ok_and(|action| action.is_skip()) {
            self.count(key, memory);
        }
        outcome
    }

    fn on_failure(&self, key: &Key, memory: &mut XrMemory, retry_after: Duration) -> Action {
        memory.due_within(Instant::now(), retry_after);
        let now = self.engine.running_for();
        self.queue.signals(key, |signals| BreakerState::tick(signals, now)).requeue_within(Some(retry_after))
    }

    async fn forget(&self, key: &Key, memory: XrMemory) {
        self.dependents.forget(&self.engine.watches, key);
        if let Some(uid) = memory.counted {
            self.engine.counts.composites.forget(&uid);
        }
    }
}

impl Composer {
    async fn reconcile_xr(
        self: &Arc<Self>,
        key: &Key,
        xr: Arc<Value>,
        memory: &mut XrMemory,
    ) -> Result<Action, ReconcileError<String>> {
        let Some(xr) = xr.as_object() else { return Ok(Action::await_change()) };
        let composite = Composite::new(xr, self.layout);
        let now = self.engine.running_for();
        let (is_forced, breaker) = self.queue.signals(key, |signals| {
            signals.awaited_function = None;
            let is_forced = std::mem::take(&mut signals.is_forced) || !signals.recordings.is_empty();
            (is_forced, BreakerState::tick(signals, now))
        });
        if composite.is_paused() {
            self.refuse_recording(key, "it is paused by the annotation crossplane.io/paused");
            return self.pause(xr, memory).await;
        }
        if object::is_being_deleted(xr) {
            self.refuse_recording(key, "it is being deleted");
            return self.finalize(key, xr, memory).await;
        }
        let now = Instant::now();
        let selected = self.select(composite);
        let revision = selected.as_ref().ok().map(|selected| &selected.revision);
        let seen = self.fingerprint(xr, revision, &memory.scopes);
        let is_unreported = memory.responsive.is_some_and(|responsive| responsive == breaker.is_open);
        if !(is_forced || breaker.is_owed || is_unreported || composite.reconcile_request().is_some()) {
            match memory.owed(seen, now) {
                Due::Now => {}
                Due::No => return Ok(breaker.requeue_within(memory.wait(now)).skipped()),
                Due::After(wait) => {
                    memory.due_within(now, wait);
                    return Ok(breaker.requeue_within(memory.wait(now)).skipped());
                }
            }
        }
        if let Err(NotSelected { awaited: Some(awaited), .. }) = &selected
            && memory.grants_grace(*awaited)
        {
            memory.due = Some(now + GRACE_PERIOD);
            return Ok(Action::requeue(GRACE_PERIOD));
        }
        memory.due = None;
        let mut xr = xr.clone();
        let mut progress = Progress { recording: self.begin_recording(key), ..Progress::default() };
        let failure = match self.compose(key, &mut xr, memory, selected, &mut progress).await {
            Ok(()) => None,
            Err(ReconcileError::Conflict) => return self.on_conflict(key, memory, progress, seen).await,
            Err(ReconcileError::Failed(failure)) => Some(failure),
        };
        let concluded = self.conclude(key, &mut xr, memory, &progress, failure, seen).await;
        if let Err(ReconcileError::Conflict) = concluded {
            return self.on_conflict(key, memory, progress, seen).await;
        }
        if let Some((wanted, recorder)) = progress.recording {
            wanted.done(&recorder.finish(&xr));
        }
        concluded.map(|wait| breaker.requeue_within(wait))
    }

    fn begin_recording(&self, key: &Key) -> Option<(WantedRecordings, Recorder)> {
        let wanted = self.queue.signals(key, |signals| std::mem::take(&mut signals.recordings));
        let recorder = wanted.begin(self.engine.clock.now())?;
        Some((wanted, recorder))
    }

    fn refuse_recording(&self, key: &Key, why: &str) {
        self.queue.signals(key, |signals| std::mem::take(&mut signals.recordings)).refuse(why);
    }

    /// Counts the XR by its conditions.
    fn count(&self, key: &Key, memory: &mut XrMemory) {
        let xr = self.xrs.store.get(key);
        let xr = xr.as_ref().and_then(|xr| xr.as_object());
        if let Some(uid) = xr.and_then(|xr| self.engine.counts.composites.count(self.kind.name(), xr)) {
            memory.counted = Some(uid);
        }
    }

    /// Everything between the selection of a revision and the status. `xr` and `progress` say how far it came.
    async fn compose(
        self: &Arc<Self>,
        key: &Key,
        xr: &mut Object,
        memory: &mut XrMemory,
        selected: Result<Selected, NotSelected>,
        progress: &mut Progress,
    ) -> super::Result<()> {
        let selected = selected.map_err(|not_selected| not_selected.failure)?;
        memory.grace_periods.clear();
        object::name(&selected.revision.object).unwrap_or_default().clone_into(&mut progress.revision);
        if let Some(recorder) = progress.recorder() {
            recorder.selected(&progress.revision);
        }
        progress.events = selected.events;
        self.take_over(xr, memory).await?;
        if let Some(mut configured) = selected.configured {
            carry_version(&mut configured, xr);
            let answer = self.engine.client.replace(&configured, MANAGER).await;
            *xr = answer.map_err(|error| failed(Stage::Configure, "", &error))?;
            self.record_write(xr);
        }
        progress.phase("select");

        self.depend(key, xr, None, &memory.scopes);
        // What cannot be watched is read instead, and reported when it is applied.
        let _watched = self.watched(&Composite::new(xr, self.layout).resource_refs()).await;
        // Before they are observed: what changes from here on leads to another reconcile.
        let children = self.children(xr);
        let required = self.required(&memory.scopes);
        let seen = fingerprint(xr, Some(&selected.revision), &children, &required);
        let observed = self.observe(xr).await?;
        progress.missing = observed.missing.iter().map(|reference| reference.name.clone()).collect();
        let actor = self.actor(xr)?;
        let composite = Composite::new(xr, self.layout);
        let state =
            observed_state(composite, &observed, &self.engine.client, &actor, &mut progress.events).await?;
        if let Some(recorder) = progress.recorder() {
            recorder.observed(&observed, &state);
        }
        progress.phase("observe");
        // Open until the XR depends on them, or they would be listed once more.
        let mut _stores = Vec::new();
        let unwritten = memory.unwritten.take();
        // A recording shows what functions return, not that it is known.
        if let Some(Unwritten { observed, returned, outcome }) =
            unwritten.filter(|unwritten| unwritten.holds(seen) && progress.recording.is_none())
        {
            progress.outcome = outcome;
            progress.returned = Some((observed, returned));
        } else {
            let PipelineRun { run, scopes, given, stores } = self
                .run_pipeline(&selected.revision, &state, &memory.required, &actor, progress.recorder())
                .await;
            progress.phase("functions");
            progress.outcome = run.outcome;
            progress.unreachable = run.unreachable;
            progress.reservation = run.reservation;
            memory.required = run.required;
            memory.scopes = scopes;
            _stores = stores;
            if let Some(failure) = run.failure {
                self.depend(key, xr, None, &memory.scopes);
                return Err(failure.into());
            }
            let seen = fingerprint(xr, Some(&selected.revision), &children, &given);
            progress.returned = Some((seen, Instant::now()));
        }

        let (session, shard) = (self.engine.client.session(), &self.engine.shard);
        let rendered = render(session, shard, xr, &observed.resources, &progress.outcome.desired).await;
        let rendered = match rendered {
            Ok(rendered) => rendered,
            Err(failure) => {
                self.depend(key, xr, None, &memory.scopes);
                return Err(failure.into());
            }
        };
        progress.events.extend(rendered.events.iter().cloned());
        self.depend(key, xr, Some(&rendered), &memory.scopes);
        self.write(key, xr, memory, (&observed, &rendered), &actor, progress).await
    }

    /// Writes what the functions desire: nothing is created without a reference, and no reference is removed before what it
    /// refers to is deleted.
    async fn write(
        &self,
        key: &Key,
        xr: &mut Object,
        memory: &mut XrMemory,
        (observed, rendered): (&Observed, &Rendered),
        actor: &Actor,
        progress: &mut Progress,
    ) -> super::Result<()> {
        self.collect(xr, &observed.resources, &rendered.resources, actor, progress.recorder()).await?;
        progress.phase("delete");
        let is_observed = |name: &String| observed.resources.contains_key(name);
        match self.store_references(xr, &rendered.resources).await? {
            Some(answer) => *xr = answer,
            None if rendered.resources.keys().all(is_observed) => {}
            None => {
                let is_current = self.engine.client.is_current(xr).await;
                let what = "cannot read composite resource";
                if !is_current.map_err(|error| failed(Stage::Compose, what, &error))? {
                    return Err(ReconcileError::Conflict);
                }
            }
        }
        progress.phase("refer");
        // Watched before they are applied, so that no change is missed.
        let watched = self.watched(rendered.resources.values().map(|composed| &composed.reference)).await;
        let recorder = progress.recorder();
        let (children, applied) =
            self.apply_children(key, xr, memory, &rendered.resources, actor, recorder).await;
        progress.phase("apply");
        progress.children = children;
        // Those that are desired are among the children now.
        let desired = |missing: &String| {
            rendered.resources.values().any(|composed| composed.reference.name == *missing)
        };
        progress.missing.retain(|missing| !desired(missing));
        if let Err(error) = applied {
            let missing = memory.permissions.found();
            progress.events.extend(missing.map(|text| Event::warning("RoleBasedAccessControl", text)));
            return Err(error);
        }
        watched?;
        let details = &progress.outcome.desired.composite.connection_details;
        if let Some(published) = self.publish(xr, details).await? {
            progress.published = Some(published);
            progress
                .events
                .push(Event::normal("PublishConnectionSecret", "Successfully published connection details"));
        }
        Ok(())
    }

    /// Another writer was first. The next reconcile begins with what is there now, and with what functions returned if they
    /// would see the same.
    async fn on_conflict(
        &self,
        key: &Key,
        memory: &mut XrMemory,
        progress: Progress,
        seen: Fingerprint,
    ) -> Result<Action, ReconcileError<String>> {
        if let Some((wanted, _)) = progress.recording {
            self.queue.signals(key, |signals| signals.recordings.extend(wanted));
        }
        // Only a change, or the backoff, causes the next one.
        memory.history.record(seen, seen);
        // What has to be reserved is not kept from one reconcile to the next: there is one of these for every XR.
        let returned = progress.returned.filter(|_| progress.reservation.is_empty());
        memory.unwritten =
            returned.map(|(observed, returned)| Unwritten { observed, returned, outcome: progress.outcome });
        // If it cannot be read, the watch brings it.
        if let Ok(Some(live)) = self.engine.client.read(&key.reference(&self.kind.composite)).await {
            self.record_write(&live);
        }
        Err(ReconcileError::Conflict)
    }

    /// Takes over, once, the status fields that Crossplane owned by updates.
    async fn take_over(&self, xr: &mut Object, memory: &mut XrMemory) -> super::Result<()> {
        if !memory.taken_over
            && let Some(patch) = fold_updates(xr, COMPOSITE_MANAGER, "status")
        {
            let answer = self.engine.client.patch(xr, PatchType::Json, &patch, MANAGER).await;
            // A failed `test` operation means that another writer was first.
            *xr = answer.map_err(|error| match failed(Stage::Configure, "", &error) {
                ReconcileError::Failed(_) if error.is_invalid() => ReconcileError::Conflict,
                failed => failed,
            })?;
            self.record_write(xr);
        }
        memory.taken_over = true;
        Ok(())
    }

    /// Sets what `xr` depends on: the kinds of what it refers to and of what is desired, and what is required.
    fn depend(&self, key: &Key, xr: &Object, rendered: Option<&Rendered>, required: &BTreeSet<Scope>) {
        let referred = Composite::new(xr, self.layout).resource_refs();
        let desired = rendered.into_iter().flat_map(|rendered| rendered.resources.values());
        let desired = desired.map(|composed| &composed.reference);
        let mut scopes = required.clone();
        scopes.extend(referred.iter().chain(desired).map(Scope::composed));
        self.dependents.depend(&self.engine.watches, key, &scopes);
    }

    /// Waits until these are watched; why not, if they cannot be.
    async fn watched(&self, children: impl IntoIterator<Item = &ObjectRef>) -> Result<(), ReconcileFailure> {
        let scopes: BTreeSet<Scope> = children.into_iter().map(Scope::composed).collect();
        for scope in scopes {
            let Some(watched) = self.dependents.watched(&scope) else { continue };
            if let Err(error) = watched.ready().await {
                return Err(ReconcileFailure::engine(Stage::Watch, scope.gvk.group_kind(), error));
            }
        }
        Ok(())
    }

    /// Reports the outcome, and decides when the XR is due again.
    async fn conclude(
        self: &Arc<Self>,
        key: &Key,
        xr: &mut Object,
        memory: &mut XrMemory,
        progress: &Progress,
        failure: Option<ReconcileFailure>,
        seen: Fingerprint,
    ) -> Result<Option<Duration>, ReconcileError<String>> {
        if let (Some(recorder), Some(failure)) = (progress.recorder(), &failure) {
            recorder.failed(failure.text());
        }
        let reported = self.report(key, xr, memory, progress, failure.as_ref()).await;
        progress.phase("status");
        let selected = self.select(Composite::new(xr, self.layout));
        let revision = selected.as_ref().ok().map(|selected| &selected.revision);
        let written = self.fingerprint(xr, revision, &memory.scopes);
        // What functions saw, if they returned: after a restart that is more than was known when the reconcile began.
        let seen = progress.returned.map_or(seen, |(seen, _)| seen);
        memory.history.record(seen, written);
        memory.ttl = progress.outcome.ttl;
        let now = Instant::now();
        let error_id = match reported {
            Ok(error_id) => error_id,
            Err(error) => return Err(error.into()),
        };
        if let Some(failure) = failure {
            if let Some(function) = &progress.unreachable {
                self.reconcile_when_reachable(function, key);
            }
            let id = error_id.map(|id| format!(" (error id {id})")).unwrap_or_default();
            return Err(format!("{}{id}", failure.text()).into());
        }
        memory.due = interval(xr, memory.ttl, Jitter::random()).map(|interval| now + interval);
        let wait = memory.wait(now);
        // Functions may react to what they have just changed.
        Ok(if written == seen { wait } else { Some(wait.map_or(DEBOUNCE, |wait| wait.min(DEBOUNCE))) })
    }
}

/// The state of an XR's circuit breaker.
#[derive(Clone, Copy, Default)]
struct BreakerState {
    /// Whether it held back a change that has to be handled now.
    is_owed: bool,
    is_open: bool,
    closes_in: Option<Duration>,
}

impl BreakerState {
    /// Closes the breaker if it is time to.
    fn tick(signals: &mut XrSignals, now: Duration) -> Self {
        let Some(breaker) = &mut signals.breaker else { return Self::default() };
        let is_owed = breaker.tick(now);
        let closes = breaker.closes_at();
        let closes_in = closes.map(|at| at.saturating_sub(now));
        Self { is_owed, is_open: closes.is_some(), closes_in }
    }

    /// Requeues after `wait`, or when the breaker closes if that is earlier.
    fn requeue_within(self, wait: Option<Duration>) -> Action {
        match wait.into_iter().chain(self.closes_in).min() {
            Some(wait) => Action::requeue(wait),
            None => Action::await_change(),
        }
    }
}

/// Writes what was decided on one version onto the version that taking over left.
fn carry_version(configured: &mut Object, xr: &Object) {
    for key in ["resourceVersion", "managedFields"] {
        if let Some(value) = object::nested(xr, &["metadata", key]) {
            object::nested_mut(configured, &["metadata"]).insert(key.to_owned(), value.clone());
        }
    }
}
