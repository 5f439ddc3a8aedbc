//! When an object is ready, and which value that yields.
//!
//! You get only what you wait for: a wait for a field yields that field, cut out of the object; all other waits yield
//! nothing. Everything here is a function of values. Whoever drives a wait (a watch, a poll, a test) feeds it the
//! object as it is now and does what the answer says:
//!
//! ```
//! use serde_json::json;
//! use readiness::{Check, Cut, Written, WrittenWait};
//!
//! let written = WrittenWait { field: Written::Known("status.phase".to_owned()), ..Default::default() };
//! let wait = written.parse(None, Cut::Status).wait.expect("the path is well formed");
//!
//! assert!(matches!(wait.check(&json!({"status": {}})), Check::NotYet(_)));
//! let bound = json!({"status": {"phase": "Bound", "capacity": {}}});
//! assert_eq!(wait.check(&bound), Check::Met(Some(json!({"phase": "Bound"}))));
//! ```
//!
//! ```text
//! WrittenWait ─ parse ─▶ Wait ─ check(object) ─▶ Met(value) ──▶ applied ─▶ what is kept
//!                          │                  ─▶ NotYet      (until the timeout)
//!                          │                  ─▶ Never         │
//!                          └── diagnose(object, pods) ◀────────┘  why it did not come to an end
//! ```

mod check;
pub mod codes;
mod diagnosis;
mod ended;
mod flag;
mod hidden;
mod object;
mod rollout;
mod tracked;
mod written;

pub use check::{Check, Cut, Mode, Path, Wait};
pub use codes::CODES;
pub use diagnosis::{Cause, pod_selector};
pub use flag::ForError;
pub use tracked::{Applied, During, Planned, Refreshed, Report, Situation, Tracked};
pub use written::{Parsed, Written, WrittenWait};
