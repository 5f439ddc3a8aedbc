//! When an object is ready, why it is not, and which value that yields: the same answer for `wait_for`, `k8sconnect_wait`,
//! `plimsoll wait`, `apply --wait`, `tree`, `why` and function-auto-ready.
//!
//! A wait for a field yields that field, pruned from the object; other waits yield nothing. Everything here is a function
//! of values. The caller (a watch, a poll, a test) passes the object as it is now:
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
//! WrittenWait ─ parse ─▶ Wait ─ check(object) ─▶ Met(value) ──▶ Kept, in Terraform's state
//!                          │                  ─▶ NotYet      (until the timeout)
//!                          │                  ─▶ Never         │
//!                          └── diagnose(object, pods) ◀────────┘  why it was not met
//!
//! object ─ Health::of ─▶ how it stands: what `rollout` waits for, and what `tree` and `why` show
//!              ├── rule: one per built-in kind      └── terminal: when waiting is pointless
//! ```

mod check;
pub mod codes;
mod diagnosis;
mod flag;
mod health;
mod known_conditions;
mod object;
mod pod;
pub mod relations;
mod rule;
mod terminal;
mod tracked;
mod written;

pub use check::{Check, Cut, Mode, Path, Wait, condition};
pub use codes::CODES;
pub use diagnosis::Cause;
pub use flag::ForError;
pub use health::{Health, is_met};
pub use known_conditions::{Conditions, knows_conditions};
pub use object::{Object, because};
pub use pod::pod_selector;
pub use rule::{has_rule, is_ready_when_created};
pub use tracked::{During, Kept, Planned};
pub use written::{Parsed, Written, WrittenWait};
