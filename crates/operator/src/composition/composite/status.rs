//! Reports a reconcile: the status of the XR in one apply, and Events for what has changed.

use std::time::Duration;

use composition::breaker::{Breaker, Limits};
use composition::composite::Composite;
use composition::event::{self, Event};
use composition::health::{ReconcileFailure, Stage};
use composition::intent::Applied;
use composition::naming::COMPOSITE_MANAGER;
use composition::object;
use composition::pipeline::Failure;
use composition::protocol::Object;
use composition::status::{Reconcile, StatusReport, report};
use jiff::Timestamp;

use super::memory::XrMemory;
use super::reconcile::Progress;
use super::{Composer, failed};
use crate::composition::events::record_new;
use crate::composition::watches::Scope;
use crate::runtime::client::ApiError;
use crate::runtime::controller::ReconcileError;
use crate::runtime::store::Key;

impl Composer {
    /// Writes the status if it has changed, and records new Events. `xr` is then as the API server has it. Returns the id of
    /// the error that the claim shows, if there is one.
    pub(super) async fn report(
        &self,
        key: &Key,
        xr: &mut Object,
        memory: &mut XrMemory,
        progress: &Progress,
        failure: Option<&ReconcileFailure>,
    ) -> Result<Option<String>, ApiError> {
        let now = self.engine.clock.now();
        let request = Composite::new(xr, self.layout).reconcile_request().map(str::to_owned);
        let mut report = self.status_report(key, xr, progress, failure, now);
        let mut written = self.write_status(xr, memory, &report.intent).await;
        if let (Err(error), None) = (&written, failure)
            && let ReconcileError::Failed(rejected) =
                failed(Stage::Compose, "cannot apply composite resource status", error)
        {
            // The XRD does not allow what the functions want in the status; that is reported instead.
            report = self.status_report(key, xr, progress, Some(&rejected), now);
            written = self.write_status(xr, memory, &report.intent).await.and(written);
        }
        let is_closed = |breaker: &Breaker| breaker.closes_at().is_none();
        let responsive = self.queue.signals(key, |signals| signals.breaker.as_ref().is_none_or(is_closed));
        memory.responsive = Some(responsive);

        let mut events = progress.events.clone();
        if let Some(token) = request {
            events.push(Event::normal(
                "ReconcileRequestHandled",
                format!("Handling reconcile request {token:?}"),
            ));
        }
        events.extend(report.events);
        events.extend(breaches(memory, progress));
        if let Some(recorder) = progress.recorder() {
            recorder.events(&events);
        }
        let is_unchanged = matches!(written, Ok(false));
        self.record(xr, memory, events, is_unchanged).await;
        remember_results(memory, progress, failure);
        written.map(|_| report.problem.map(|problem| problem.id))
    }

    fn status_report(
        &self,
        key: &Key,
        xr: &Object,
        progress: &Progress,
        failure: Option<&ReconcileFailure>,
        now: Timestamp,
    ) -> StatusReport {
        let closed = || Breaker::new(Limits::default(), Duration::ZERO).condition(now);
        let responsive = self.queue.signals(key, |signals| {
            signals.breaker.as_ref().map_or_else(closed, |breaker| breaker.condition(now))
        });
        report(&Reconcile {
            xr: Composite::new(xr, self.layout),
            revision: &progress.revision,
            outcome: &progress.outcome,
            failure,
            children: &progress.children,
            missing: &progress.missing,
            responsive,
            published: progress.published,
            now,
        })
    }

    /// Applies the status in `intent` if that changes something; whether it did.
    pub(super) async fn write_status(
        &self,
        xr: &mut Object,
        memory: &mut XrMemory,
        intent: &Object,
    ) -> Result<bool, ApiError> {
        let is_there = xr.get("status") == intent.get("status");
        if is_there || memory.status.is_some_and(|last| last.still_holds(intent, xr)) {
            return Ok(false);
        }
        let answer = self.engine.client.apply_status_to(xr, intent, COMPOSITE_MANAGER).await?;
        memory.status = Some(Applied::new(intent, &answer));
        *xr = answer;
        self.record_write(xr);
        Ok(true)
    }

    /// Records the events that the last reconcile did not have.
    pub(super) async fn record(
        &self,
        xr: &Object,
        memory: &mut XrMemory,
        events: Vec<Event>,
        is_unchanged: bool,
    ) {
        let (log, recorded) = (&mut memory.events, &memory.results);
        record_new(&self.recorder, xr, log, (events, recorded), is_unchanged, self.claim_of(xr)).await;
    }

    /// The claim of an XR, if it can be read.
    async fn claim_of(&self, xr: &Object) -> Option<Object> {
        let reference = Composite::new(xr, self.layout).claim_ref()?;
        let known = self.engine.watches.existing(&Scope::all(reference.gvk.clone())).and_then(|watched| {
            let found = watched.store.get(&Key::from(&reference))?;
            found.as_object().cloned()
        });
        if known.is_some() {
            return known;
        }
        let read = self.engine.client.read(&reference).await;
        read.unwrap_or_else(|error| {
            let xr = object::name(xr);
            tracing::warn!(xr, claim = %reference, error = error.text(), "cannot read the claim; its events are lost");
            None
        })
    }
}

/// If not all functions ran, the results of the last time still hold, as they do in the status.
fn remember_results(memory: &mut XrMemory, progress: &Progress, failure: Option<&ReconcileFailure>) {
    let outcome = &progress.outcome;
    if failure.is_none() || matches!(outcome.failure, Some(Failure::Fatal { .. })) {
        memory.results.clear();
    }
    memory.results.extend(event::of_results(outcome));
}

/// Warnings about functions are recorded once for each revision.
fn breaches(memory: &mut XrMemory, progress: &Progress) -> Vec<Event> {
    let (revision, recorded) = &mut memory.breaches;
    if *revision != progress.revision {
        revision.clone_from(&progress.revision);
        recorded.clear();
    }
    let found = event::of_violations(&progress.outcome);
    found.into_iter().filter(|event| recorded.insert(event.clone())).collect()
}
