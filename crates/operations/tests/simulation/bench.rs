//! One object on the bench: steps one at a time, with answers written by hand.

use std::time::Duration;

use operations::{
    Answer, Body, Call, ConditionType, Desired, ExternalService, Jitter, Memory, Moment, Next, Observation,
    Operation, Settings, Status, Step, Trouble, Wishes, decide,
};
use serde_json::{Value, json};

use crate::operator::UID;
use crate::services::{Queues, Spec};

/// One object of a kind, step by step and without a cloud: answers are written by hand.
pub(crate) struct Bench {
    pub(crate) desired: Desired,
    pub(crate) status: Status,
    pub(crate) memory: Memory,
    pub(crate) now: i64,
    pub(crate) spec: Spec,
    pub(crate) observe: fn(&Spec, &str, Call, Result<Answer, Trouble>) -> Observation,
    /// What the last step said.
    pub(crate) said: Vec<String>,
}

impl Bench {
    pub(crate) fn of<S: ExternalService<Spec = Spec>>() -> Self {
        let spec = Spec { size: 1 };
        Self {
            desired: Desired {
                kind: S::KIND,
                uid: UID.to_owned(),
                generation: 1,
                body: S::create_body(&spec, UID),
                deleting: false,
                held: true,
                wishes: Wishes::default(),
                obstacle: None,
            },
            status: Status::default(),
            memory: Memory::default(),
            now: 1_800_000_000,
            spec,
            observe: Observation::answered::<S>,
            said: Vec::new(),
        }
    }

    pub(crate) fn queue() -> Self {
        Self::of::<Queues>()
    }

    /// A queue whose create was accepted as `wr-7`.
    pub(crate) fn creating() -> Self {
        let mut bench = Self::queue();
        let find = bench.wake();
        let create = bench.answer(find, found(&[]));
        bench.answer(create, Ok(accepted("wr-7")));
        bench
    }

    /// A queue that is as asked.
    pub(crate) fn ready() -> Self {
        let mut bench = Self::creating();
        let poll = bench.wake();
        let get = bench.answer(poll, work("CREATE_THING", "SUCCEEDED"));
        bench.answer(get, resource("ACTIVE", 1));
        assert_eq!(bench.condition(ConditionType::Ready), "True/Available");
        bench
    }

    pub(crate) fn wake(&mut self) -> Next {
        self.step(Observation::woke())
    }

    pub(crate) fn answer(&mut self, next: Next, result: Result<Answer, Trouble>) -> Next {
        let Next::Call(call) = next else { panic!("no call to answer: {next:?}") };
        let observation = (self.observe)(&self.spec, UID, call, result);
        self.step(observation)
    }

    pub(crate) fn step(&mut self, observation: Observation) -> Next {
        let now = jiff::Timestamp::from_second(self.now).expect("a time of this century");
        let moment = Moment { now, jitter: Jitter::default() };
        let Step { status, memory, next, diagnostics } =
            decide(&self.desired, &self.status, &self.memory, observation, &Settings::default(), moment);
        (self.status, self.memory) = (status, memory);
        self.said = diagnostics.into_iter().map(|said| said.summary).collect();
        next
    }

    pub(crate) fn condition(&self, kind: ConditionType) -> String {
        let condition = self.status.condition(kind).expect("published by every step");
        format!("{:?}/{}", condition.status, condition.reason)
    }

    pub(crate) fn current(&self) -> &Operation {
        self.status.current().expect("an operation is in flight")
    }

    pub(crate) fn request_id(&self) -> Option<&str> {
        self.status.status.opc_request_id.as_deref()
    }
}

pub(crate) fn accepted(work_request: &str) -> Answer {
    Answer {
        work_request_id: Some(work_request.to_owned()),
        request_id: Some(format!("opened {work_request}")),
        ..Answer::default()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it stands for the result of a call")]
pub(crate) fn json(body: Value) -> Result<Answer, Trouble> {
    Ok(Answer { body: Body::Json(body), request_id: Some("read".to_owned()), ..Answer::default() })
}

pub(crate) fn work(operation: &str, status: &str) -> Result<Answer, Trouble> {
    json(json!({
        "id": "wr-7", "operationType": operation, "status": status, "percentComplete": 40,
        "resources": [{"entityType": "Thing", "actionType": "IN_PROGRESS", "identifier": "q1"}],
    }))
}

pub(crate) fn resource(state: &str, size: i64) -> Result<Answer, Trouble> {
    json(json!({"id": "q1", "lifecycleState": state, "size": size, "tags": {"plimsoll-uid": UID}}))
}

#[expect(clippy::unnecessary_wraps, reason = "it stands for the result of a call")]
pub(crate) fn found(resources: &[Value]) -> Result<Answer, Trouble> {
    let found = operations::Found { resources: resources.to_vec(), creating: Vec::new() };
    Ok(Answer { body: Body::Found(found), ..Answer::default() })
}

pub(crate) fn refused(status: u16, code: &str, retry_after: Option<u64>) -> Result<Answer, Trouble> {
    Err(Trouble {
        status: Some(status),
        code: code.to_owned(),
        message: "no".to_owned(),
        request_id: Some(format!("refused {status}")),
        retry_after: retry_after.map(Duration::from_secs),
    })
}

#[track_caller]
pub(crate) fn waits(next: &Next, seconds: std::ops::RangeInclusive<u64>) {
    let Next::Wait(pause) = next else { panic!("does not wait: {next:?}") };
    assert!(seconds.contains(&pause.as_secs()), "{pause:?}");
}
