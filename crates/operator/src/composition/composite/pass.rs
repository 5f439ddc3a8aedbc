//! One pass over one XR.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use composition::composite::Composite;
use composition::desired::Rendered;
use composition::event::Event;
use composition::health::{PassFailure, Stage};
use composition::naming::COMPOSITE_MANAGER;
use composition::object;
use composition::observed::Observed;
use composition::pass::{DEBOUNCE, Fingerprint, Owed, back_off, interval};
use composition::pipeline::Outcome;
use composition::readiness::Child;
use composition::run::Object;
use composition::takeover::fold_updates;
use jiff::Timestamp;
use manifest::GroupVersionKind;
use tokio::time::Instant;

use super::choice::{Choice, NoChoice, choose};
use super::memory::Memory;
use super::{Composer, Stopped, lock};
use crate::composition::MANAGER;
use crate::composition::children::Scope;
use crate::store::Key;
use crate::work::Next;

/// The longest wait after a pass that failed.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(30);
/// How soon to look again when somebody else was faster.
const SOON: Duration = Duration::from_millis(50);
/// How long, and how often, something that is probably being made is waited for before its absence is told.
const PATIENCE: Duration = Duration::from_millis(500);
const MOST_PATIENCE: u32 = 4;

/// What a pass has come to so far.
#[derive(Default)]
pub(super) struct Progress {
    /// What the functions said.
    pub(super) outcome: Outcome,
    /// What became of the desired children.
    pub(super) children: Vec<Child>,
    /// References to children that do not exist.
    pub(super) gone: Vec<String>,
    /// What to tell beside what functions and children give cause for.
    pub(super) events: Vec<Event>,
    /// When connection details were published.
    pub(super) published: Option<Timestamp>,
    /// The function that could not be reached.
    down: Option<String>,
    /// The revision in use.
    pub(super) revision: String,
}

impl Composer {
    /// Goes over the XR called `key`.
    pub(super) async fn pass(self: &Arc<Self>, key: Key) -> Next {
        let Some(found) = self.xrs.store.find(&key) else {
            self.forget(&key);
            return Next::Idle;
        };
        let Some(xr) = found.as_object() else { return Next::Idle };
        let uid = object::uid(xr).unwrap_or_default();
        let memory = lock(&self.memories).remove(&key).filter(|memory| memory.uid == uid);
        let mut memory = memory.unwrap_or_else(|| Memory::of(uid));
        let next = self.go_over(&key, xr, &mut memory).await;
        lock(&self.memories).insert(key, memory);
        next
    }

    async fn go_over(self: &Arc<Self>, key: &Key, xr: &Object, memory: &mut Memory) -> Next {
        let composite = Composite::new(xr, self.layout);
        let forced = lock(&self.forced).remove(key);
        if composite.is_paused() {
            return self.pause(xr, memory).await;
        }
        if object::is_being_deleted(xr) {
            return self.let_go(key, xr, memory).await;
        }
        let now = Instant::now();
        let breaker = self.tick(key);
        let choice = choose(composite, &self.kind, &self.engine.catalogue);
        let revision = choice.as_ref().ok().map(|choice| &choice.revision);
        let seen = self.look(xr, revision, &memory.scopes);
        let unsaid = memory.responsive.is_some_and(|shown| shown == breaker.is_open);
        if !(forced || breaker.owed || unsaid || composite.reconcile_request().is_some()) {
            match memory.owed(seen, now) {
                Owed::Now => {}
                Owed::No => return breaker.no_later(memory.wait(now)),
                Owed::After(wait) => {
                    memory.no_later_than(now, wait);
                    return breaker.no_later(memory.wait(now));
                }
            }
        }
        if let Err(NoChoice { may_come: true, .. }) = &choice
            && memory.patience < MOST_PATIENCE
        {
            memory.patience += 1;
            memory.due = Some(now + PATIENCE);
            return Next::In(PATIENCE);
        }
        memory.due = None;
        let mut xr = xr.clone();
        let mut progress = Progress::default();
        let failure = match self.compose(key, &mut xr, memory, choice, &mut progress).await {
            Ok(()) => None,
            Err(Stopped::Outdated) => {
                memory.due = Some(now + SOON);
                return Next::In(SOON);
            }
            Err(Stopped::Failed(failure)) => Some(failure),
        };
        let next = self.conclude(key, &mut xr, memory, &progress, failure, seen).await;
        breaker.no_later(next)
    }

    /// Everything between the choice of a revision and the status. `xr` and `progress` say how far it came.
    async fn compose(
        self: &Arc<Self>,
        key: &Key,
        xr: &mut Object,
        memory: &mut Memory,
        choice: Result<Choice, NoChoice>,
        progress: &mut Progress,
    ) -> Result<(), Stopped> {
        let choice = choice.map_err(|no_choice| no_choice.failure)?;
        memory.patience = 0;
        object::name(&choice.revision.object).unwrap_or_default().clone_into(&mut progress.revision);
        progress.events = choice.events;
        self.take_over(xr, memory).await?;
        if let Some(mut configured) = choice.configured {
            carry_version(&mut configured, xr);
            let answer = self.engine.writer.replace(&configured, MANAGER).await;
            *xr = answer.map_err(|error| Stopped::by(Stage::Configure, "", &error))?;
            self.learned(xr);
        }

        self.depend(key, xr, None, &memory.scopes);
        let kinds =
            Composite::new(xr, self.layout).resource_refs().into_iter().map(|reference| reference.gvk);
        // What cannot be watched is asked for instead, and told about when it is applied.
        let _watched = self.watched(kinds.collect()).await;
        let observed = self.observe(xr).await?;
        progress.gone = observed.gone.iter().map(|reference| reference.name.clone()).collect();
        let state = self.state(xr, &observed).await?;
        let conversation = self.converse(&choice.revision, &state, &memory.required).await;
        progress.outcome = conversation.outcome;
        progress.down = conversation.down;
        memory.required = conversation.required;
        memory.scopes = conversation.scopes;
        if let Some(failure) = conversation.failure {
            self.depend(key, xr, None, &memory.scopes);
            return Err(failure.into());
        }

        let rendered = self.render(xr, &observed.resources, &progress.outcome.desired).await;
        let rendered = match rendered {
            Ok(rendered) => rendered,
            Err(failure) => {
                self.depend(key, xr, None, &memory.scopes);
                return Err(failure.into());
            }
        };
        progress.events.extend(rendered.events.iter().cloned());
        self.depend(key, xr, Some(&rendered), &memory.scopes);
        self.write(xr, memory, &observed, &rendered, progress).await
    }

    /// Makes the cluster as the functions want it: nothing is created without a reference, and no reference is lost
    /// before what it refers to is gone.
    async fn write(
        &self,
        xr: &mut Object,
        memory: &mut Memory,
        observed: &Observed,
        rendered: &Rendered,
        progress: &mut Progress,
    ) -> Result<(), Stopped> {
        self.collect(xr, &observed.resources, &rendered.resources).await?;
        if let Some(answer) = self.refer(xr, &rendered.resources).await? {
            *xr = answer;
        }
        // What is applied is watched before, so that no change of it is missed.
        let kinds = rendered.resources.values().map(|composed| composed.reference.gvk.clone());
        let watched = self.watched(kinds.collect()).await;
        let applied = self.apply_children(xr, memory, &rendered.resources).await;
        // What became of those that are desired is known now, by their keys.
        let desired =
            |gone: &String| rendered.resources.values().any(|composed| composed.reference.name == *gone);
        progress.gone.retain(|gone| !desired(gone));
        match applied {
            Ok(children) => progress.children = children,
            Err((children, stopped)) => {
                progress.children = children;
                let missing = memory.access.found();
                progress.events.extend(missing.map(|text| Event::warning("RoleBasedAccessControl", text)));
                return Err(stopped);
            }
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

    /// What the reference holds by updates of the status becomes ours, once.
    async fn take_over(&self, xr: &mut Object, memory: &mut Memory) -> Result<(), Stopped> {
        if !memory.taken_over
            && let Some(patch) = fold_updates(xr, COMPOSITE_MANAGER, "status")
        {
            let answer = self.engine.writer.patch(xr, &patch, MANAGER).await;
            // A test that fails says that somebody else was faster.
            let answer = answer.map_err(|error| match Stopped::by(Stage::Configure, "", &error) {
                Stopped::Failed(_) if error.is_invalid() => Stopped::Outdated,
                stopped => stopped,
            })?;
            *xr = answer;
            self.learned(xr);
        }
        memory.taken_over = true;
        Ok(())
    }

    /// Says what `xr` depends on from now on: the kinds of what it refers to and of what is desired, and what is required.
    fn depend(&self, key: &Key, xr: &Object, rendered: Option<&Rendered>, required: &BTreeSet<Scope>) {
        let refs = Composite::new(xr, self.layout).resource_refs();
        let referred = refs.into_iter().map(|reference| reference.gvk);
        let desired = rendered.into_iter().flat_map(|rendered| rendered.resources.values());
        let desired = desired.map(|composed| composed.reference.gvk.clone());
        let mut scopes = required.clone();
        scopes.extend(referred.chain(desired).map(Scope::composed));
        self.dependents.depend(&self.engine.watches, key, &scopes);
    }

    /// Waits until each of these kinds is watched; why not, if it cannot be.
    async fn watched(&self, kinds: BTreeSet<GroupVersionKind>) -> Result<(), PassFailure> {
        for gvk in kinds {
            let group_kind = gvk.group_kind();
            let Some(watched) = self.dependents.watched(&Scope::composed(gvk)) else { continue };
            if let Err(trouble) = watched.ready().await {
                return Err(PassFailure::engine(Stage::Watch, group_kind, trouble));
            }
        }
        Ok(())
    }

    /// Tells what a pass came to, and says when the next one is owed.
    async fn conclude(
        self: &Arc<Self>,
        key: &Key,
        xr: &mut Object,
        memory: &mut Memory,
        progress: &Progress,
        failure: Option<PassFailure>,
        seen: Fingerprint,
    ) -> Option<Duration> {
        let reported = self.report(key, xr, memory, progress, failure.as_ref()).await;
        let revision = choose(Composite::new(xr, self.layout), &self.kind, &self.engine.catalogue);
        let revision = revision.as_ref().ok().map(|choice| &choice.revision);
        let written = self.look(xr, revision, &memory.scopes);
        memory.passes.ran(seen, written);
        memory.ttl = progress.outcome.ttl;
        let now = Instant::now();
        if reported.as_ref().is_err_and(|unreported| unreported.is_outdated) {
            memory.due = Some(now + SOON);
            return memory.wait(now);
        }
        if reported.is_err() || failure.is_some() {
            memory.failures += 1;
            if let Some(function) = &progress.down {
                self.wait_for(function, key);
            }
            memory.due = Some(now + back_off(memory.failures, LONGEST_BACK_OFF));
            return memory.wait(now);
        }
        memory.failures = 0;
        let chance = chance();
        memory.due = interval(xr, memory.ttl, chance).map(|interval| now + interval);
        let wait = memory.wait(now);
        // Functions may have something to say to what they have brought about.
        if written == seen { wait } else { Some(wait.map_or(DEBOUNCE, |wait| wait.min(DEBOUNCE))) }
    }

    /// Looks whether the breaker of `key` closes now.
    fn tick(&self, key: &Key) -> Responsiveness {
        let now = Timestamp::now();
        let mut breakers = lock(&self.breakers);
        let Some(breaker) = breakers.get_mut(key) else { return Responsiveness::default() };
        let owed = breaker.tick(now);
        let closes = breaker.closes_at();
        let closes_in = closes.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        Responsiveness { owed, is_open: closes.is_some(), closes_in }
    }
}

/// How the breaker of an XR stands.
#[derive(Clone, Copy, Default)]
struct Responsiveness {
    /// Whether it held something back that is owed now.
    owed: bool,
    is_open: bool,
    closes_in: Option<Duration>,
}

impl Responsiveness {
    /// When to look again: in `wait`, and when the breaker closes.
    fn no_later(self, wait: Option<Duration>) -> Next {
        match (wait, self.closes_in) {
            (Some(wait), Some(closes)) => Next::In(wait.min(closes)),
            (Some(wait), None) | (None, Some(wait)) => Next::In(wait),
            (None, None) => Next::Idle,
        }
    }
}

/// What was decided on one version is written onto the version the take-over left.
fn carry_version(configured: &mut Object, xr: &Object) {
    for key in ["resourceVersion", "managedFields"] {
        if let Some(value) = object::nested(xr, &["metadata", key]) {
            object::nested_mut(configured, &["metadata"]).insert(key.to_owned(), value.clone());
        }
    }
}

/// A number from 0 to 1, anew each time.
#[expect(clippy::cast_precision_loss, reason = "a chance needs no more than the digits of a double")]
pub(in crate::composition) fn chance() -> f64 {
    random() as f64 / u64::MAX as f64
}

/// A number nobody can foresee.
pub(in crate::composition) fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    // The seeds of a hash map are the randomness that comes with the standard library.
    std::hash::RandomState::new().build_hasher().finish()
}
