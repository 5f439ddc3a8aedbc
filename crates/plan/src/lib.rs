//! What an apply would do, as a function of what was written, what was there before and what is observed.
//!
//! The provider, the command line and the composition engine render a plan and carry it out; none of them decides.
//!
//! ```text
//! Desired, Observed ──▶ question ──▶ Needless: nothing changes, nothing is asked
//!                           └──────▶ Needed: body_for_dry_run ──▶ (the API server) ──▶ Preview
//! Preview: changes, takes, releases, warnings                   apply: Handover, body_to_send
//! ```

mod additions;
mod admission;
pub mod allocated;
mod applied;
pub mod applyset;
mod body;
pub mod codes;
mod fingerprint;
mod immutable;
mod overlay;
mod preview;
mod question;
mod recreated;
mod set_record;
mod snapshot;
mod takeover;

pub use additions::additions;
pub use admission::{Admission, Intervention};
pub use applied::is_applied;
pub use body::{body_for_dry_run, body_to_send, to_release};
pub use codes::CODES;
pub use fingerprint::fingerprint;
pub use immutable::{immutable_changes, written_over};
pub use overlay::{lay_over, replace_present, values_at};
pub use preview::{FieldChange, Preview, visible};
pub use question::{LastAnswer, LocalAnswer, Question, local_answer, not_asked, question};
pub use recreated::recreated;
pub use set_record::{Member, SetRecord};
pub use snapshot::snapshot;
pub use takeover::{after_takeover, takeover_patch};
