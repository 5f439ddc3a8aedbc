//! Who holds a field and how that changes.
//!
//! The API server records in managedFields who holds which field. Compared with what it recorded at our last apply and
//! with what it predicts for the next one, every field falls into one of sixteen rows ([`Row`]); three of them mean
//! that somebody else is at work on a field we are about to set, and become warnings before anything is applied.

mod analysis;
mod baseline;
mod codes;
mod columns;
mod handover;
mod holders;
mod managed;
mod manager;
mod report;
mod row;
mod view;

pub use analysis::{Analysis, Before, FieldTransition, Outlook, ValueChange};
pub use baseline::{Baseline, BaselineError, FormerManagers};
pub use codes::CODES;
pub use handover::{hand_over, hand_over_part, release, release_all};
pub use managed::{Entry, ManagedFields, ManagedFieldsError, has_applied};
pub use manager::{FieldManager, Operation};
pub use report::Verbosity;
pub use row::{Level, Row, Transition, classify};
