//! Two kinds in the simulated cloud: one followed by work requests, one by its lifecycle.

use std::future::{Future, ready};
use std::sync::{Arc, Mutex};

use operations::{
    Call, CallError, Drift, ExternalService, Kind, OWNER_TAG, Phase, QUEUE_STATES, Resource, Response, Scope,
    Strategy, WorkRequestTypes,
};
use serde_json::{Value, json};

use crate::cloud::Cloud;

/// Two mutable fields. The cloud rejects a negative size. New things are listed by their pool, as streams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) size: i64,
    pub(crate) pool: i64,
}

/// A kind with work requests and retry tokens, as Queue is.
pub(crate) struct Queues(pub(crate) Arc<Mutex<Cloud>>);

/// A kind with neither, as Stream is.
pub(crate) struct Streams(pub(crate) Arc<Mutex<Cloud>>);

impl ExternalService for Queues {
    type Spec = Spec;

    const KIND: Kind = Kind {
        name: "Queue",
        strategy: Strategy::WorkRequest(WorkRequestTypes {
            entity: "thing",
            operations: &[
                ("CREATE_THING", Phase::Create),
                ("UPDATE_THING", Phase::Update),
                ("DELETE_THING", Phase::Delete),
            ],
        }),
        states: QUEUE_STATES,
        retry_tokens: true,
    };

    fn create_body(spec: &Spec, uid: &str) -> Value {
        body(*spec, uid)
    }

    fn scope(spec: &Spec) -> Scope {
        Scope::from([("pool".to_owned(), spec.pool.to_string())])
    }

    fn read(spec: &Spec, _uid: &str, body: &Value) -> Option<Resource> {
        read(*spec, body)
    }

    fn call(
        &self,
        _spec: &Spec,
        uid: &str,
        call: &Call,
    ) -> impl Future<Output = Result<Response, CallError>> + Send {
        ready(self.0.lock().expect("no test panicked while holding the lock").handle(uid, call))
    }
}

impl ExternalService for Streams {
    type Spec = Spec;

    const KIND: Kind =
        Kind { name: "Stream", strategy: Strategy::Lifecycle, states: QUEUE_STATES, retry_tokens: false };

    fn create_body(spec: &Spec, uid: &str) -> Value {
        body(*spec, uid)
    }

    fn scope(spec: &Spec) -> Scope {
        Scope::from([("pool".to_owned(), spec.pool.to_string())])
    }

    fn read(spec: &Spec, _uid: &str, body: &Value) -> Option<Resource> {
        read(*spec, body)
    }

    fn call(
        &self,
        _spec: &Spec,
        uid: &str,
        call: &Call,
    ) -> impl Future<Output = Result<Response, CallError>> + Send {
        ready(self.0.lock().expect("no test panicked while holding the lock").handle(uid, call))
    }
}

fn body(spec: Spec, uid: &str) -> Value {
    json!({"size": spec.size, "pool": spec.pool, "tags": {OWNER_TAG: uid}})
}

fn read(spec: Spec, body: &Value) -> Option<Resource> {
    let state = body.get("lifecycleState").and_then(Value::as_str);
    let number = |name: &str| body.get(name).and_then(Value::as_i64).unwrap_or(0);
    let differs = (number("size"), number("pool")) != (spec.size, spec.pool);
    let wanted = json!({"size": spec.size, "pool": spec.pool});
    Some(Resource {
        id: body.get("id")?.as_str()?.to_owned(),
        raw_state: state.map(str::to_owned),
        details: body.get("lifecycleDetails").and_then(Value::as_str).map(str::to_owned),
        owner: body["tags"][OWNER_TAG].as_str().map(str::to_owned),
        drift: if differs { Drift::Update(wanted) } else { Drift::None },
        // The listing of everything, since a thing moves from pool to pool.
        scope: Scope::from([("compartment".to_owned(), "c".to_owned())]),
        etag: None,
    })
}
