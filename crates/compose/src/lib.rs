//! A pipeline of functions: desired state, results, conditions, targets, claims.
//!
//! Everything here decides and nothing here does: objects come in as JSON values, time and identity as arguments, and
//! what is to be written, deleted or said comes out as values. The operator and `plimsoll render` share these decisions.

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
pub mod revision;
pub mod run;
pub mod runner;
pub mod selection;
pub mod status;

pub use codes::CODES;
pub use read::NameRef;
pub use runner::{FunctionRunner, RunError, RunErrorClass, RunFuture};
