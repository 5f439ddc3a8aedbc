//! What people read after a pass: the XR's status in one apply, and Events for what has changed.

use composition::breaker::{Breaker, Limits};
use composition::composite::Composite;
use composition::event::{self, Event, Recipient};
use composition::health::{PassFailure, Stage};
use composition::intent::Applied;
use composition::naming::COMPOSITE_MANAGER;
use composition::object;
use composition::pipeline::Failure;
use composition::run::Object;
use composition::status::{Pass, Settled, settle};
use jiff::Timestamp;
use manifest::Namespace;

use super::memory::Memory;
use super::pass::Progress;
use super::{Composer, Stopped, lock};
use crate::composition::children::Scope;
use crate::composition::tell;
use crate::composition::writer::WriteError;
use crate::store::Key;

/// The XR does not say what became of the pass.
pub(super) struct Unreported {
    /// Somebody else was faster.
    pub(super) is_outdated: bool,
}

impl Composer {
    /// Writes the status if it has changed, and tells what is new. `xr` is then as the API server has it. Says whether the
    /// pass stands as it was reported.
    pub(super) async fn report(
        &self,
        key: &Key,
        xr: &mut Object,
        memory: &mut Memory,
        progress: &Progress,
        failure: Option<&PassFailure>,
    ) -> Result<(), Unreported> {
        let now = Timestamp::now();
        let request = Composite::new(xr, self.layout).reconcile_request().map(str::to_owned);
        let mut settled = self.settle(key, xr, progress, failure, now);
        let mut written = self.write_status(xr, memory, &settled.intent).await;
        if let (Err(error), None) = (&written, failure)
            && let Stopped::Failed(refused) =
                Stopped::by(Stage::Compose, "cannot apply composite resource status", error)
        {
            // What the functions want in the status is not what the XRD allows. That is told instead.
            settled = self.settle(key, xr, progress, Some(&refused), now);
            let told = self.write_status(xr, memory, &settled.intent).await;
            written = told.and(written);
        }
        let is_closed = |breaker: &Breaker| breaker.closes_at().is_none();
        memory.responsive = Some(lock(&self.breakers).get(key).is_none_or(is_closed));

        let mut events = progress.events.clone();
        if let Some(token) = request {
            events.push(Event::normal(
                "ReconcileRequestHandled",
                format!("Handling reconcile request {token:?}"),
            ));
        }
        events.extend(settled.events);
        events.extend(breaches(memory, progress));
        let stands = matches!(written, Ok(false));
        self.tell(xr, memory, events, stands).await;
        remember_results(memory, progress, failure);
        written.map(|_| ()).map_err(|error| Unreported { is_outdated: error.is_outdated() })
    }

    fn settle(
        &self,
        key: &Key,
        xr: &Object,
        progress: &Progress,
        failure: Option<&PassFailure>,
        now: Timestamp,
    ) -> Settled {
        let closed = || Breaker::new(Limits::default(), now).condition(now);
        let responsive = lock(&self.breakers).get(key).map_or_else(closed, |breaker| breaker.condition(now));
        let settled = settle(&Pass {
            xr: Composite::new(xr, self.layout),
            revision: &progress.revision,
            outcome: &progress.outcome,
            failure,
            children: &progress.children,
            gone: &progress.gone,
            responsive,
            published: progress.published,
            now,
        });
        if let (Some(trouble), Some(failure)) = (&settled.trouble, failure) {
            tracing::warn!(xr = %key, error_id = trouble.id, cause = failure.text(), "the pass failed");
        }
        settled
    }

    /// Applies the status in `intent`, unless that would change nothing.
    pub(super) async fn write_status(
        &self,
        xr: &mut Object,
        memory: &mut Memory,
        intent: &Object,
    ) -> Result<bool, WriteError> {
        let is_there = xr.get("status") == intent.get("status");
        if is_there || memory.status.is_some_and(|last| last.still_holds(intent, xr)) {
            return Ok(false);
        }
        let answer = self.engine.writer.apply_status(intent, COMPOSITE_MANAGER).await?;
        memory.status = Some(Applied::new(intent, &answer));
        *xr = answer;
        self.learned(xr);
        Ok(true)
    }

    /// Records what the last pass did not already say. `stands` says that the XR's status was already as the pass leaves
    /// it: then the engine that wrote it may have said so, even if this one was not there.
    pub(super) async fn tell(&self, xr: &Object, memory: &mut Memory, events: Vec<Event>, stands: bool) {
        let may_be_told = stands && memory.said.is_none();
        let mut before = memory.said.take().unwrap_or_default();
        before.extend(memory.results.iter().cloned());
        let news = event::changed(&before, &events);
        memory.said = Some(events.into_iter().collect());
        if news.is_empty() || (may_be_told && event::have_expired(xr, Timestamp::now())) {
            return;
        }
        let is_for_claim = news.iter().any(|event| event.on == Recipient::Claim);
        let claim = if is_for_claim { self.claim_of(xr).await } else { None };
        for event in event::recordable(news, claim.is_some()) {
            let regarding = match (event.on, &claim) {
                (Recipient::Claim, Some(claim)) => claim,
                _ => xr,
            };
            if !(may_be_told && tell::is_told(&self.recorder, regarding, &event).await) {
                tell::record(&self.recorder, regarding, &event);
            }
        }
    }

    /// The claim an XR serves, if it can be read.
    async fn claim_of(&self, xr: &Object) -> Option<Object> {
        let reference = Composite::new(xr, self.layout).claim_ref()?;
        let known = self.engine.watches.existing(&Scope::all(reference.gvk.clone())).and_then(|watched| {
            let namespace = reference.namespace.as_ref().map(Namespace::as_str);
            let found = watched.store.get(namespace, &reference.name)?;
            found.as_object().cloned()
        });
        if known.is_some() {
            return known;
        }
        match self.engine.session.read(&reference).await {
            Ok(found) => found.map(|reply| object::from_value(reply.object)),
            Err(error) => {
                let name = object::name(xr).unwrap_or_default();
                let error = crate::said::chain(&error);
                tracing::warn!(xr = name, claim = %reference, error, "cannot read the claim, so its events are left out");
                None
            }
        }
    }
}

/// A pass that failed without hearing all functions says nothing new about what they have said: it stands, as it does in the
/// XR's status.
fn remember_results(memory: &mut Memory, progress: &Progress, failure: Option<&PassFailure>) {
    let outcome = &progress.outcome;
    if failure.is_none() || matches!(outcome.failure, Some(Failure::Fatal { .. })) {
        memory.results.clear();
    }
    memory.results.extend(event::of_results(outcome));
}

/// What functions did wrong is told once for each revision.
fn breaches(memory: &mut Memory, progress: &Progress) -> Vec<Event> {
    let (revision, told) = &mut memory.breaches;
    if *revision != progress.revision {
        revision.clone_from(&progress.revision);
        told.clear();
    }
    let found = event::of_breaches(&progress.outcome);
    found.into_iter().filter(|event| told.insert(event.clone())).collect()
}
