//! One object, reconciled step by step without a cloud: the test supplies every response.

use std::time::Duration;

use operations::{
    Action, Annotations, Body, CallError, ConditionType, Desired, ExternalService, Jitter, Kind, LocalState,
    Now, Observation, Operation, Policy, Response, Schedule, Status, Step, decide,
};
use serde_json::{Value, json};

use crate::operator::UID;
use crate::services::{QUEUE, Spec, Things};

pub(crate) struct Harness {
    pub(crate) desired: Desired,
    pub(crate) status: Status,
    pub(crate) local: LocalState,
    pub(crate) now: i64,
    pub(crate) spec: Spec,
    pub(crate) service: Things,
    /// The summaries of the last step's diagnostics.
    pub(crate) events: Vec<String>,
}

impl Harness {
    pub(crate) fn of(kind: Kind) -> Self {
        let service = Things { kind, cloud: None };
        let spec = Spec { size: 1, pool: 0 };
        Self {
            desired: Desired {
                kind,
                uid: UID.to_owned(),
                generation: 1,
                created_in_term: true,
                body: service.create_body(&spec, UID),
                unshown: None,
                missing_secret: None,
                missing_in_updates: std::collections::BTreeMap::new(),
                scope: service.scope(&spec),
                identity: None,
                policy: Policy::default(),
                deleting: false,
                has_finalizer: true,
                annotations: Annotations::default(),
                endpoint_error: None,
            },
            status: Status::default(),
            local: LocalState::default(),
            now: 1_800_000_000,
            spec,
            service,
            events: Vec::new(),
        }
    }

    pub(crate) fn queue() -> Self {
        Self::of(QUEUE)
    }

    /// A queue whose create was accepted as `wr-7`.
    pub(crate) fn creating() -> Self {
        let mut harness = Self::queue();
        let find = harness.reconcile();
        let create = harness.respond(find, found(&[]));
        harness.respond(create, Ok(accepted("wr-7")));
        harness
    }

    /// A queue that matches its spec.
    pub(crate) fn ready() -> Self {
        let mut harness = Self::creating();
        let poll = harness.reconcile();
        let get = harness.respond(poll, work("CREATE_THING", "SUCCEEDED"));
        harness.respond(get, resource("ACTIVE", 1));
        assert_eq!(harness.condition(ConditionType::Ready), "True/Available");
        harness
    }

    pub(crate) fn reconcile(&mut self) -> Action {
        self.step(Observation::none())
    }

    pub(crate) fn respond(&mut self, action: Action, result: Result<Response, CallError>) -> Action {
        let Action::Call(call) = action else { panic!("no call to respond to: {action:?}") };
        let observation = Observation::of_call(&self.service, &self.spec, UID, call, result);
        self.step(observation)
    }

    pub(crate) fn step(&mut self, observation: Observation) -> Action {
        let now = jiff::Timestamp::from_second(self.now).expect("a valid time");
        let now = Now { time: now, jitter: Jitter::default() };
        let Step { status, local, action, diagnostics } =
            decide(&self.desired, &self.status, &self.local, observation, &Schedule::default(), now);
        (self.status, self.local) = (status, local);
        self.events = diagnostics.into_iter().map(|event| event.summary).collect();
        action
    }

    pub(crate) fn condition(&self, kind: ConditionType) -> String {
        let condition = self.status.condition(kind).expect("every step publishes it");
        format!("{:?}/{}", condition.status, condition.reason)
    }

    pub(crate) fn current(&self) -> &Operation {
        self.status.current().expect("an operation is in flight")
    }

    pub(crate) fn request_id(&self) -> Option<&str> {
        self.status.status.opc_request_id.as_deref()
    }
}

pub(crate) fn accepted(work_request: &str) -> Response {
    Response {
        work_request_id: Some(work_request.to_owned()),
        request_id: Some(format!("opened {work_request}")),
        ..Response::default()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a test passes it as the result of a call")]
pub(crate) fn json(body: Value) -> Result<Response, CallError> {
    Ok(Response { body: Body::Json(body), request_id: Some("read".to_owned()), ..Response::default() })
}

pub(crate) fn work(operation: &str, status: &str) -> Result<Response, CallError> {
    json(json!({
        "id": "wr-7", "operationType": operation, "status": status, "percentComplete": 40,
        "resources": [{"entityType": "Thing", "actionType": "IN_PROGRESS", "identifier": "q1"}],
    }))
}

pub(crate) fn resource(state: &str, size: i64) -> Result<Response, CallError> {
    json(json!({"id": "q1", "lifecycleState": state, "size": size, "tags": {"plimsoll-uid": UID}}))
}

#[expect(clippy::unnecessary_wraps, reason = "a test passes it as the result of a call")]
pub(crate) fn found(resources: &[Value]) -> Result<Response, CallError> {
    let body = Body::Listing { resources: resources.to_vec(), creating: Vec::new() };
    Ok(Response { body, ..Response::default() })
}

pub(crate) fn refused(status: u16, code: &str, retry_after: Option<u64>) -> Result<Response, CallError> {
    Err(CallError {
        status: Some(status),
        code: code.to_owned(),
        message: "no".to_owned(),
        request_id: Some(format!("refused {status}")),
        retry_after: retry_after.map(Duration::from_secs),
    })
}

#[track_caller]
pub(crate) fn requeues(action: &Action, seconds: std::ops::RangeInclusive<u64>) {
    let Action::Requeue(delay) = action else { panic!("not requeued: {action:?}") };
    assert!(seconds.contains(&delay.as_secs()), "{delay:?}");
}
