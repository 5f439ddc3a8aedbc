//! A Kubernetes client that explains itself: it connects, discovers, applies, waits, deletes, and says what went wrong.
//!
//! A [`Connection`] is what a user configured; [`Sessions`] keeps one [`Session`] for each distinct connection, and a
//! session offers every operation on a cluster. Objects are [`serde_json::Value`]s, so unknown fields survive.
//!
//! ```text
//! Connection ─▶ Sessions ─▶ Session ── read, list, watch ─────────────▶ Reply, Listing, Event
//!                             │     ── gather ────────────────────────▶ Gathered (texts of many objects)
//!                             │     ── apply, patch, create, replace ─▶ Reply (status, object, warnings, retries)
//!                             │     ── apply_when_possible ───────────▶   … once kind and namespace are there
//!                             │     ── wait_until, wait_for ──────────▶ Waited, Readiness
//!                             │     ── delete ────────────────────────▶ Deletion
//!                             └─ discovery, asked once, shared          Error ─▶ Class, Diagnostic
//! ```
//!
//! Rules that hold everywhere:
//!
//! * Every call is raw: its status code, its `Warning` headers and its retries are part of the result.
//! * Only transient failures are retried, a few times, for half a minute at most, and every retry is reported.
//! * An object is absent only if the server says so about this very object.
//! * Every wait is a watch with one deadline, and ends at once when its future is dropped.
//! * Secrets never appear in `Debug` output, logs, errors or diagnostics.

mod apply;
pub mod codes;
mod connect;
mod connection;
mod delete;
mod dependency;
mod discovery;
mod error;
mod flight;
mod gather;
mod read;
mod ready;
mod replace;
mod request;
mod retry;
mod secret;
mod session;
mod shown;
mod status;
mod until;
mod warning;
mod watch;

pub use apply::{Dialect, Write};
pub use codes::CODES;
pub use connect::{ConnectError, Environment, ExecError};
pub use connection::{Connection, Exec, Impersonate};
pub use delete::{Delete, Deletion, Propagation, Stuck};
pub use discovery::{MissingKind, Resource};
pub use error::{Cause, Class, Error, ErrorKind, Excess, FieldConflict, Subject, Verb};
pub use gather::{Gathered, Gathering};
pub use read::{Listing, Selection};
pub use ready::Readiness;
pub use request::Reply;
pub use retry::Retry;
pub use secret::Secret;
pub use session::{Session, Sessions};
pub use status::{ApiStatus, StatusCause, StatusDetails};
pub use until::Waited;
pub use watch::{Event, Watch};

/// What a check of [`Session::wait_until`] returns.
pub use readiness::Check;

#[cfg(test)]
mod testing;
