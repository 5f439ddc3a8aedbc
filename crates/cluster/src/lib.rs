//! A Kubernetes client that explains itself: it connects, discovers, applies, waits, deletes, and says what went wrong.
//!
//! A [`Connection`] is what a user configured; [`Sessions`] keeps one [`Session`] for each distinct connection, and a
//! session offers every operation on a cluster. Objects are [`serde_json::Value`]s, so unknown fields survive.
//!
//! ```text
//! Connection ─▶ Sessions ─▶ Session ── read, list, watch ─────────────▶ Reply, Listing, WatchEvent
//!                             │     ── list_metadata, watch_metadata ─▶ MetadataListing, WatchEvent
//!                             │     ── list_raw ──────────────────────▶ RawList (texts of many objects)
//!                             │     ── apply, patch, create, replace ─▶ Reply (status, object, warnings, retries)
//!                             │     ── apply_when_possible ───────────▶   … once what it depends on is there
//!                             │     ── create_at, patch_at ───────────▶ Reply (of a subresource)
//!                             │     ── wait_until, wait_for ──────────▶ WaitOutcome, Readiness
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
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod list_or_read;
mod metadata;
mod raw_list;
mod read;
mod ready;
mod redact;
mod replace;
mod request;
mod retry;
mod secret;
mod session;
mod single_flight;
mod status;
mod subresource;
mod wait;
mod warning;
mod watch;

pub use apply::{PatchType, Write};
pub use codes::CODES;
pub use connect::{ConnectError, DownloadError, Environment, ExecError, contexts, download};
pub use connection::{Connection, Exec, Impersonate};
pub use delete::{Delete, Deletion, Propagation, Stuck};
pub use dependency::{Dependency, may_still_come};
pub use discovery::{MissingKind, Resource};
pub use error::{Cause, Class, Error, ErrorKind, FieldConflict, ResponseLimit, Subject, Verb};
pub use list_or_read::is_worth_listing;
pub use metadata::{Metadata, MetadataListing, Owner};
pub use raw_list::{BoundedList, RawList};
pub use read::{Listing, Page, Selection};
pub use ready::Readiness;
pub use request::Reply;
pub use retry::Retry;
pub use secret::Secret;
pub use session::{Session, Sessions};
pub use status::{ApiStatus, StatusCause, StatusDetails};
pub use wait::WaitOutcome;
pub use watch::{Watch, WatchEvent};

/// What a check of [`Session::wait_until`] returns.
pub use readiness::Check;

#[cfg(test)]
mod test_server;
