//! An operation that outlives a request: what a cloud is doing for an object, and what to do next about it.
//!
//! Deciding and doing are apart. [`decide`] is a pure function; a shell stores the status it returns, makes the one
//! call it names, and comes back with the answer:
//!
//! ```text
//!            ┌────────────── Observation::answered ◀── call ◀──┐
//!            ▼                                                 │
//! Desired, Status, Memory ──▶ decide ──▶ Step { status, next } ┴─▶ Wait, Hold, Release
//!                                              └─ stored first
//! ```
//!
//! A kind joins in by implementing [`ExternalService`]. Its states are a closed enum here ([`QueueState`],
//! [`StreamState`]); how its spec becomes a body and what counts as drift stays with its controller, because that
//! needs the typed spec.

pub mod codes;
mod condition;
mod decide;
mod mapping;
mod mirrors;
mod observation;
mod operation;
mod schedule;
mod service;
mod state;
mod status;
mod token;
mod trouble;
mod wishes;
mod work_request;

pub use condition::{Condition, ConditionStatus, ConditionType, SharedCondition, SharedConditionType};
pub use decide::{Desired, Evidence, Memory, Moment, Next, Step, decide};
pub use mapping::{Cause, Projection, Situation, Statement, View, project, view};
pub use mirrors::Mirrors;
pub use observation::Observation;
pub use operation::{Class, LastOperation, Operation, Percent, Phase, Source};
pub use schedule::{Jitter, Settings};
pub use service::{Answer, Body, Call, Drift, ExternalService, Found, Kind, OWNER_TAG, Resource, Strategy};
pub use state::{Meaning, QueueState, StreamState};
pub use status::{SharedStatus, Status, Tracker};
pub use token::{body_hash, retry_token};
pub use trouble::{NO_CREDENTIALS, Trouble, Verdict};
pub use wishes::{ADOPT, DELETION_POLICY, DeletionPolicy, ON_MISSING, OnMissing, PAUSED, RELEASE, Wishes};
pub use work_request::{QUEUE_WORK_REQUESTS, WorkRequest, WorkRequestWords};
