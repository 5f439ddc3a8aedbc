//! A pipeline of functions: desired state, results, conditions, targets, claims.
//!
//! This crate decides and does no I/O: objects come in as JSON values, time and identity as arguments, and what to write,
//! delete or record comes out as values. The operator and `plimsoll render` share these decisions.
//!
//! One reconcile of an XR, from left to right; the caller does the I/O in between:
//!
//! ```text
//! selection ──▶ observed ──▶ pipeline ──▶ desired ──▶ garbage_collection ──▶ composite::refs_intent ──▶ status
//!  which         which        what the     what to     what to                what the XR               conditions,
//!  revision      children     functions    apply       delete                 references                health, events
//!                exist        want
//! ```
//!
//! Around it: [`definition`] and [`crd`] make kinds, [`revision`] numbers Compositions, [`package`] runs
//! functions, [`claim`] ties a claim to its XR,
//! [`intent`] and [`requeue`] skip writes and reconciles that change nothing, [`breaker`] limits watch events.

pub mod breaker;
pub mod builtin;
pub mod catalogue;
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
pub mod garbage_collection;
pub mod health;
pub mod intent;
pub mod naming;
pub mod observed;
pub mod openapi;
pub mod package;
pub mod pipeline;
pub mod platform;
pub mod preview;
pub mod protocol;
mod read;
pub mod readiness;
pub mod render;
pub mod requeue;
pub mod review;
pub mod revision;
pub mod runner;
pub mod selection;
pub mod service_account;
pub mod status;
pub mod takeover;

pub use codes::CODES;
pub use manifest::json_object as object;
pub use read::NameRef;
pub use runner::{FunctionRunner, RunError, RunErrorClass, RunFuture};
