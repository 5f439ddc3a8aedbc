//! Two kinds in the simulated cloud: one followed by work requests, one by its lifecycle.

use std::future::{Future, ready};
use std::sync::{Arc, Mutex};

use operations::{
    Call, CallError, Drift, ExternalService, Kind, Lifecycle, OWNER_TAG, Phase, Resource, Response, Scope,
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

const STATES: &[(&str, Lifecycle)] = &[
    ("CREATING", Lifecycle::Pending(Phase::Create)),
    ("UPDATING", Lifecycle::Pending(Phase::Update)),
    ("ACTIVE", Lifecycle::Ready),
    ("DELETING", Lifecycle::Pending(Phase::Delete)),
    ("DELETED", Lifecycle::Deleted),
    ("FAILED", Lifecycle::Failed),
    ("INACTIVE", Lifecycle::Attention),
];

/// A kind with work requests and retry tokens.
pub(crate) const QUEUE: Kind = Kind {
    name: "Queue",
    strategy: Strategy::WorkRequest(WorkRequestTypes {
        entity: "thing",
        operations: &[
            ("CREATE_THING", Phase::Create),
            ("UPDATE_THING", Phase::Update),
            ("DELETE_THING", Phase::Delete),
        ],
    }),
    states: STATES,
    retry_tokens: true,
};

/// A kind with neither.
pub(crate) const STREAM: Kind =
    Kind { name: "Stream", strategy: Strategy::Lifecycle, states: STATES, retry_tokens: false };

/// The things of a cloud, as one of the two kinds. A test that supplies every response itself has no cloud.
pub(crate) struct Things {
    pub(crate) kind: Kind,
    pub(crate) cloud: Option<Arc<Mutex<Cloud>>>,
}

impl ExternalService for Things {
    type Spec = Spec;

    fn kind(&self) -> Kind {
        self.kind
    }

    fn create_body(&self, spec: &Spec, uid: &str) -> Value {
        json!({"size": spec.size, "pool": spec.pool, "tags": {OWNER_TAG: uid}})
    }

    fn scope(&self, spec: &Spec) -> Scope {
        Scope::from([("pool".to_owned(), spec.pool.to_string())])
    }

    fn read(&self, spec: &Spec, _uid: &str, body: &Value) -> Option<Resource> {
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

    fn call(
        &self,
        _spec: &Spec,
        uid: &str,
        call: &Call,
    ) -> impl Future<Output = Result<Response, CallError>> + Send {
        let cloud = self.cloud.as_ref().expect("the test has a cloud");
        ready(cloud.lock().expect("no test panicked while holding the lock").handle(uid, call))
    }
}
