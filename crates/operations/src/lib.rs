//! An operation that outlives a request: what a cloud is doing for an object, and what to do next about it.
//!
//! [`decide`] is a pure function. A shell stores the status it returns, performs the one action it names, and calls it
//! again with what it observed:
//!
//! ```text
//!                ┌───────── Observation::of_call ◀── call ◀──┐
//!                ▼                                           │
//! Desired, Status, LocalState ─▶ decide ─▶ Step { status, action } ─▶ Requeue, AddFinalizer, RemoveFinalizer
//!                                                 └─ stored first
//! ```
//!
//! A kind joins in by an [`ExternalService`]: how its spec becomes a request body, what counts as drift, and its calls.

mod annotations;
mod binding;
mod call_error;
pub mod codes;
mod condition;
mod decide;
mod legacy_ids;
mod lifecycle;
mod observation;
mod operation;
mod outcome;
mod policy;
mod schedule;
mod service;
mod status;
mod token;
mod work_request;

pub use annotations::{
    ADOPT, ADOPT_FROM, Annotations, DELETION_POLICY, DeletionPolicy, ON_MISSING, OnMissing, PAUSED, RELEASE,
};
pub use backoff::Jitter;
pub use binding::{Binding, Identity, Scope};
pub use call_error::{CallError, CallErrorKind, NO_CREDENTIALS};
pub use condition::{Condition, ConditionStatus, ConditionType, SharedCondition, SharedConditionType};
pub use decide::{Action, Desired, FinalizeReason, LocalState, Now, Step, decide};
pub use legacy_ids::LegacyWorkRequestIds;
pub use lifecycle::Lifecycle;
pub use observation::Observation;
pub use operation::{Class, LastOperation, Operation, OperationRecord, Percent, Phase, Source};
pub use policy::Policy;
pub use schedule::Schedule;
pub use service::{
    Body, Call, Drift, ExternalService, Kind, OWNER_TAG, Resource, Response, Strategy, Unshown,
};
pub use status::{SharedStatus, Status, Tracker};
pub use token::{body_hash, retry_token};
pub use work_request::{WorkRequest, WorkRequestTypes};
