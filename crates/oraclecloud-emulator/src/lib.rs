//! Oracle Cloud's API for development and tests: verifies signatures, injects faults on demand, keeps a journal.
//!
//! [`serve`] listens on loopback and emulates any described kind and its work requests where it matters to a client: a denied
//! resource looks like a missing one, creates with a retry token happen once, operations take time, listings lag behind,
//! and any failure on the way can be injected.
//!
//! ```text
//! bytes ─▶ serve ─▶ verify (401) ─▶ faults ─▶ cloud (state, timelines) ─▶ reply ─▶ faults ─▶ bytes
//!                                                                           └─▶ journal
//! ```
//!
//! It also issues credentials: as the metadata service of an instance, as the authentication service, and as a cluster
//! for its service accounts.
//!
//! The behaviour of the cloud is pure code: a function of its state, the request and the time.

mod clock;
mod cloud;
mod fault;
mod federation;
mod ids;
mod journal;
mod keys;
mod options;
mod reply;
mod route;
mod serve;
mod timeline;
mod verify;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use clock::Clock;
pub use fault::{Fault, FaultKind, Faults};
pub use ids::{COMPARTMENT, REGION};
pub use journal::{Journal, JournalEntry};
pub use options::{Options, Script, ScriptError};
pub use route::Operation;
pub use serve::{ServeError, Server, serve};
pub use timeline::{Outcome, Pace, Timeline, TimelineRule, TimelineStep};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
