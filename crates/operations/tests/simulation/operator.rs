//! The shell around `decide`, small and killable: stores, calls, and checks the laws at every step.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jiff::Timestamp;
use operations::{
    Answer, Call, Class, ConditionStatus, ConditionType, Desired, Evidence, ExternalService, Jitter, Memory,
    Moment, Next, Observation, Settings, Source, Status, Step, Strategy, Trouble, Wishes, decide,
};

use crate::cloud::{Cloud, Manners, has_ended};
use crate::services::{Queues, Spec, Streams};

pub(crate) const UID: &str = "6f1c0b52-7a0e-4d36-9a53-2a3d0f1f8f11";

/// The object as the API server stores it.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    version: u64,
    pub(crate) generation: i64,
    pub(crate) spec: Spec,
    pub(crate) wishes: Wishes,
    pub(crate) deleting: bool,
    pub(crate) held: bool,
    pub(crate) status: Status,
}

impl Object {
    pub(crate) fn condition(&self, kind: ConditionType) -> (ConditionStatus, &str) {
        let condition =
            self.status.condition(kind).unwrap_or_else(|| panic!("no {kind:?}: {:#?}", self.status));
        (condition.status, &condition.reason)
    }
}

/// What goes wrong at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The process dies before the status of this step is stored.
    DiesBeforeStore,
    /// The process dies after storing, before the call.
    DiesBeforeCall,
    /// The process dies after the call had its effect.
    DiesAfterCall,
    /// The answer is this instead, and the call has no effect.
    Refused(u16, &'static str),
    /// The call has its effect and the answer is lost.
    LosesAnswer,
}

/// A pass that stopped before a call: a leader that does not know it has been replaced.
struct Paused {
    snapshot: Object,
    memory: Memory,
    call: Call,
    allowed_for: i64,
    since: i64,
}

/// Whether the pass goes on with the call or freezes in front of it.
enum Flow {
    Done,
    Frozen(Box<Paused>),
}

pub(crate) struct World {
    cloud: Arc<Mutex<Cloud>>,
    queues: Option<Queues>,
    streams: Streams,
    /// Nothing once the finalizer is gone.
    pub(crate) object: Option<Object>,
    pub(crate) settings: Settings,
    memory: Memory,
    /// What goes wrong at the n-th step from the beginning, once.
    pub(crate) accident: Option<(usize, Fault)>,
    old: Option<Object>,
    paused: Option<Box<Paused>>,
    /// How far the operator's clock is off.
    pub(crate) skew: i64,
    pub(crate) wake: i64,
    pub(crate) writes: usize,
    pub(crate) steps: usize,
    pub(crate) released: Option<Evidence>,
    pub(crate) said: Vec<String>,
}

impl World {
    pub(crate) fn new(manners: Manners) -> Self {
        let cloud = Arc::new(Mutex::new(Cloud::new(manners)));
        let now = cloud.lock().expect("nobody panicked with the cloud in hand").now;
        Self {
            queues: manners.work_requests.then(|| Queues(Arc::clone(&cloud))),
            streams: Streams(Arc::clone(&cloud)),
            cloud,
            object: Some(Object {
                version: 1,
                generation: 1,
                spec: Spec { size: 1 },
                wishes: Wishes::default(),
                deleting: false,
                held: false,
                status: Status::default(),
            }),
            settings: Settings::default(),
            memory: Memory::default(),
            accident: None,
            old: None,
            paused: None,
            skew: 0,
            wake: now,
            writes: 0,
            steps: 0,
            released: None,
            said: Vec::new(),
        }
    }

    pub(crate) fn cloud(&self) -> MutexGuard<'_, Cloud> {
        self.cloud.lock().expect("nobody panicked with the cloud in hand")
    }

    /// True time, in seconds.
    pub(crate) fn now(&self) -> i64 {
        self.cloud().now
    }

    pub(crate) fn object(&self) -> &Object {
        self.object.as_ref().expect("the object is still there")
    }

    /// Whether the object has the condition.
    pub(crate) fn is(&self, kind: ConditionType, expected: (ConditionStatus, &str)) -> bool {
        let condition = self.object.as_ref().and_then(|object| object.status.condition(kind));
        condition.is_some_and(|condition| (condition.status, condition.reason.as_str()) == expected)
    }

    /// A person or another controller changes the object.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Object)) {
        if let Some(object) = &mut self.object {
            self.old = Some(object.clone());
            change(object);
            object.version += 1;
        }
        self.wake = self.now();
    }

    pub(crate) fn restart(&mut self) {
        self.memory = Memory::default();
        self.wake = self.now();
    }

    /// Time passes until the next wake-up, and a pass is made.
    pub(crate) fn sleep(&mut self, faults: &[Fault]) {
        let now = self.now();
        self.cloud().advance((self.wake - now).max(0));
        self.pass(faults);
    }

    /// A pass with the faults of its calls in order.
    pub(crate) fn pass(&mut self, faults: &[Fault]) {
        let Some(snapshot) = self.object.clone() else { return };
        let memory = self.memory.clone();
        self.run(snapshot, memory, Observation::woke(), faults, None);
    }

    /// A pass on an older version of the object, as a lagging cache would show it.
    pub(crate) fn stale_pass(&mut self) {
        let Some(old) = self.old.clone() else { return };
        self.run(old, Memory::default(), Observation::woke(), &[], None);
        self.wake = self.now();
    }

    /// A pass that freezes in front of its `calls`-th call, as another leader takes over.
    pub(crate) fn freeze(&mut self, calls: usize) {
        let Some(snapshot) = self.object.clone() else { return };
        let memory = self.memory.clone();
        if let Flow::Frozen(paused) = self.run(snapshot, memory, Observation::woke(), &[], Some(calls)) {
            self.paused = Some(paused);
            self.restart();
        }
    }

    /// The frozen leader goes on as if nothing had happened. It minds how late a create may be sent.
    pub(crate) fn thaw(&mut self) {
        let Some(paused) = self.paused.take() else { return };
        let late = self.now() - paused.since > paused.allowed_for;
        if late && matches!(paused.call, Call::Create { .. }) {
            return;
        }
        let result = self.call(paused.snapshot.spec, &paused.call);
        let observation = self.observe(paused.snapshot.spec, paused.call, result);
        self.run(paused.snapshot, paused.memory, observation, &[], None);
        self.wake = self.now();
    }

    fn run(
        &mut self,
        mut snapshot: Object,
        mut memory: Memory,
        mut observation: Observation,
        faults: &[Fault],
        freeze_at: Option<usize>,
    ) -> Flow {
        let mut faults = faults.iter().copied();
        // What a frozen leader learned before it froze may have been a fault.
        let mut excused = observation != Observation::woke();
        let mut polled: Option<String> = None;
        for calls in 0.. {
            assert!(calls < 10, "a pass does not end: {:#?}", self.cloud().journal);
            let step = self.decide(&snapshot, &memory, observation);
            self.check(&snapshot, &step, excused);
            if let Some(id) = &polled {
                self.check_observed_phase(id, &step);
            }
            let mut fault = faults.next().unwrap_or(Fault::None);
            if let Some((_, planned)) = self.accident.take_if(|(at, _)| *at < self.steps) {
                fault = planned;
            }
            excused |= fault != Fault::None;
            if fault == Fault::DiesBeforeStore {
                self.restart();
                return Flow::Done;
            }
            if step.status != snapshot.status {
                if !self.store(&mut snapshot, |object| object.status = step.status.clone()) {
                    return Flow::Done;
                }
                self.said.extend(step.diagnostics.iter().map(|said| said.summary.clone()));
            }
            memory = step.memory;
            self.memory = memory.clone();
            let call = match step.next {
                Next::Hold => {
                    if !self.store(&mut snapshot, |object| object.held = true) {
                        return Flow::Done;
                    }
                    observation = Observation::woke();
                    continue;
                }
                Next::Wait(pause) => {
                    assert!(
                        pause > Duration::ZERO && pause <= Duration::from_secs(4000),
                        "wakes after {pause:?}"
                    );
                    self.wake = self.now() + pause.as_secs().cast_signed() + 1;
                    return Flow::Done;
                }
                Next::Release(evidence) => {
                    self.release(&snapshot, evidence);
                    return Flow::Done;
                }
                Next::Call(call) => call,
            };
            if fault == Fault::DiesBeforeCall {
                self.restart();
                return Flow::Done;
            }
            if freeze_at == Some(calls) {
                let now = self.clock().as_second();
                let allowed_for = match &call {
                    Call::Create { not_after, .. } => not_after.as_second() - now,
                    _ => 0,
                };
                let since = self.now();
                return Flow::Frozen(Box::new(Paused { snapshot, memory, call, allowed_for, since }));
            }
            let result = match fault {
                Fault::Refused(status, code) => Err(self.cloud().trouble(status, code)),
                Fault::LosesAnswer => {
                    let _ = self.call(snapshot.spec, &call);
                    Err(Trouble { status: None, request_id: None, ..self.cloud().trouble(0, "") })
                }
                _ => self.call(snapshot.spec, &call),
            };
            assert!(self.cloud().alive(UID).len() <= 1, "two of ours: {:#?}", self.cloud().journal);
            if fault == Fault::DiesAfterCall {
                self.restart();
                return Flow::Done;
            }
            polled = match &call {
                Call::GetWorkRequest { id } if result.is_ok() => Some(id.clone()),
                _ => None,
            };
            observation = self.observe(snapshot.spec, call, result);
        }
        Flow::Done
    }

    fn decide(&mut self, snapshot: &Object, memory: &Memory, observation: Observation) -> Step {
        self.steps += 1;
        let (kind, body) = if self.queues.is_some() {
            (Queues::KIND, Queues::create_body(&snapshot.spec, UID))
        } else {
            (Streams::KIND, Streams::create_body(&snapshot.spec, UID))
        };
        let desired = Desired {
            kind,
            uid: UID.to_owned(),
            generation: snapshot.generation,
            body,
            deleting: snapshot.deleting,
            held: snapshot.held,
            wishes: snapshot.wishes.clone(),
            obstacle: None,
        };
        let moment = Moment { now: self.clock(), jitter: Jitter::new(0.5) };
        decide(&desired, &snapshot.status, memory, observation, &self.settings, moment)
    }

    fn clock(&self) -> Timestamp {
        let seconds = self.now() + self.skew;
        Timestamp::from_millisecond(seconds * 1000 + 789).expect("a time of this century")
    }

    fn call(&self, spec: Spec, call: &Call) -> Result<Answer, Trouble> {
        match &self.queues {
            Some(queues) => at_once(queues.call(&spec, UID, call)),
            None => at_once(self.streams.call(&spec, UID, call)),
        }
    }

    fn observe(&self, spec: Spec, call: Call, result: Result<Answer, Trouble>) -> Observation {
        if self.queues.is_some() {
            Observation::answered::<Queues>(&spec, UID, call, result)
        } else {
            Observation::answered::<Streams>(&spec, UID, call, result)
        }
    }

    /// Writes with a precondition on the version that was read, as the API server enforces it.
    fn store(&mut self, snapshot: &mut Object, change: impl Fn(&mut Object)) -> bool {
        let now = self.now();
        match &mut self.object {
            Some(object) if object.version == snapshot.version => {
                self.old = Some(object.clone());
                change(object);
                object.version += 1;
                self.writes += 1;
                *snapshot = object.clone();
                true
            }
            _ => {
                self.wake = now;
                false
            }
        }
    }

    /// The finalizer goes only with evidence (I2), and what the evidence says is true.
    fn release(&mut self, snapshot: &Object, evidence: Evidence) {
        let mut snapshot = snapshot.clone();
        if !self.store(&mut snapshot, |object| object.held = false) {
            return;
        }
        assert!(snapshot.deleting, "released an object that stays: {evidence:?}");
        if evidence.proves_absence() {
            let left = self.cloud().alive(UID).len();
            assert_eq!(left, 0, "{evidence:?} although it is there: {:#?}", self.cloud().journal);
        }
        self.released = Some(evidence);
        self.object = None;
    }

    /// The laws that can be seen in a single step.
    fn check(&self, before: &Object, step: &Step, excused: bool) {
        let status = &step.status;
        // I4: at most one entry per condition type.
        for (n, condition) in status.conditions.iter().enumerate() {
            assert!(status.conditions[..n].iter().all(|other| other.kind != condition.kind));
            if let Some(was) = before.status.condition(condition.kind)
                && was.status == condition.status
            {
                assert_eq!(was.last_transition_time, condition.last_transition_time, "{condition:?}");
            }
        }
        let shared = &status.status.conditions;
        for (n, condition) in shared.iter().enumerate() {
            assert!(shared[..n].iter().all(|other| other.kind != condition.kind));
        }
        let reason = status.status.reason.as_deref();
        assert_eq!(reason, shared.last().map(|last| last.kind.as_str()), "the current one is last");
        // I5: nothing but `updatedAt` never makes a write, unless the clock was set back.
        let ahead = before.status.current().is_some_and(|current| current.updated_at > self.clock());
        let mut untouched = status.clone();
        untouched.status.updated_at = before.status.status.updated_at;
        if let (Some(now), Some(was)) = (&mut untouched.status.tracker.current, before.status.current()) {
            now.updated_at = was.updated_at;
        }
        assert!(ahead || untouched != before.status || *status == before.status);
        if let Some(current) = status.current() {
            let lifecycle_kind = matches!(self.kind_strategy(), Strategy::Lifecycle);
            assert!(!lifecycle_kind || current.source == Source::Lifecycle, "{current:#?}");
            assert!(current.percent_complete.is_none_or(|percent| (0.0..=100.0).contains(&percent.get())));
            let ended = matches!(current.normalized_class, Class::Failed | Class::Canceled);
            assert!(!ended, "an operation that ended is still tracked: {current:#?}");
        }
        self.check_id_survives(before, status, excused);
        assert!(!matches!(step.next, Next::Call(Call::Create { .. })) || before.held, "created before held");
    }

    /// I7: an id once seen survives until the provider says that it is over.
    fn check_id_survives(&self, before: &Object, after: &Status, excused: bool) {
        let Some(id) = before.status.current().and_then(|current| current.work_request_id.as_ref()) else {
            return;
        };
        if after.current().and_then(|current| current.work_request_id.as_ref()) == Some(id) || excused {
            return;
        }
        let cloud = self.cloud();
        let over = cloud.works.get(id).is_none_or(|work| has_ended(work.status));
        assert!(
            over || cloud.revoked,
            "{id} was dropped: {:#?} {:#?}",
            before.status.current(),
            after.current()
        );
    }

    /// I6: what the work request says it does beats what was written down.
    fn check_observed_phase(&self, id: &str, step: &Step) {
        let Some(current) = step.status.current() else { return };
        if current.work_request_id.as_deref() == Some(id) && current.source == Source::WorkRequest {
            let says = self.cloud().works[id].operation_type;
            assert_eq!(says.to_lowercase(), format!("{}_thing", current.phase.as_str()));
        }
    }

    fn kind_strategy(&self) -> Strategy {
        if self.queues.is_some() { Queues::KIND.strategy } else { Streams::KIND.strategy }
    }
}

/// The answer of a future that does not wait.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("the small cloud answers at once"),
    }
}
