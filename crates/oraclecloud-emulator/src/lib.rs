//! Oracle Cloud's API for development and tests: signatures checked, faults on order, a journal.
//!
//! [`serve`] listens on loopback and answers for Queue, Streaming and work requests as the real service does where it
//! matters to a client: what is not allowed looks like what is not there, creates with a token happen once, operations
//! take their time, listings lag behind, and whatever can go wrong on the way can be ordered.
//!
//! ```text
//! bytes ─▶ serve ─▶ verify (401) ─▶ fault plan ─▶ cloud (state, timelines) ─▶ reply ─▶ fault plan ─▶ bytes
//!                                                                               └─▶ journal
//! ```
//!
//! It also vouches for clients as the place they run in would: it is the metadata service of an instance, the
//! authentication service, and the one of a cluster for its service accounts.
//!
//! Everything the cloud does is decided in pure code from its state, the request and the time.

mod clock;
mod cloud;
mod fault;
mod federation;
mod identity;
mod journal;
mod keys;
mod options;
mod reply;
mod route;
mod serve;
mod timeline;
mod verify;
mod wire;

pub use clock::Clock;
pub use fault::{Fault, Faults, Mishap};
pub use identity::{COMPARTMENT, REGION};
pub use journal::{Entry, Journal};
pub use options::{Options, Script, ScriptError};
pub use route::Operation;
pub use serve::{ServeError, Server, serve};
pub use timeline::{Outcome, Pace, Step, Timeline, TimelineFor};
