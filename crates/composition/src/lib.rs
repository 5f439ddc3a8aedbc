//! A pipeline of functions: desired state, results, conditions, targets, claims.
//!
//! Everything here decides and nothing here does: objects come in as JSON values, time and identity as arguments, and
//! what is to be written, deleted or said comes out as values. The operator and `plimsoll render` share these decisions.
//!
//! One pass over an XR, from left to right; what is between the arrows is done by whoever calls:
//!
//! ```text
//! selection ──▶ observed ──▶ pipeline ──▶ desired ──▶ garbage ──▶ composite::refs_intent ──▶ status
//!  which         what is      what the     what is     what is     what the XR               what people
//!  revision      there        functions    applied     deleted     refers to                 read
//!                             want                                                           (health, event)
//! ```
//!
//! Around it: [`definition`] and [`crd`] make kinds, [`revision`] numbers Compositions, [`claim`] ties a claim to its XR,
//! [`intent`] and [`pass`] leave out writes and passes that change nothing, [`breaker`] holds back what comes too often.

pub mod breaker;
pub mod builtin;
pub mod claim;
mod codes;
pub mod composite;
pub mod composition;
pub mod condition;
pub mod connection;
pub mod crd;
pub mod definition;
pub mod desired;
pub mod event;
pub mod function;
pub mod garbage;
pub mod health;
pub mod intent;
pub mod naming;
pub mod object;
pub mod observed;
pub mod pass;
pub mod pipeline;
mod read;
pub mod readiness;
pub mod render;
pub mod revision;
pub mod run;
pub mod runner;
pub mod selection;
pub mod status;
pub mod takeover;

pub use codes::CODES;
pub use read::NameRef;
pub use runner::{FunctionRunner, RunError, RunErrorClass, RunFuture};
