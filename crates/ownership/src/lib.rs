//! Who holds a field and how that changes.
//!
//! The API server records in managedFields who holds which field. Compared with what it recorded at our last apply and
//! with what it predicts for the next one, every field falls into one of sixteen rows ([`Row`]); three of them mean
//! that another manager is changing a field we are about to set, and become warnings before anything is applied.

mod analysis;
mod baseline;
mod client_side;
mod codes;
mod columns;
mod desired;
mod field_tree;
mod fights;
mod handover;
mod holders;
mod managed;
mod manager;
mod observed;
mod record;
mod report;
mod row;
mod view;

pub use analysis::{Analysis, FieldTransition, ValueChange};
pub use baseline::{Baseline, BaselineError, FormerManagers};
pub use client_side::{LAST_APPLIED, client_side_appliers, dropped_by_takeover, takeover_warning};
pub use codes::CODES;
pub use desired::{Desired, Prior};
pub use fights::Fights;
pub use handover::Handover;
pub use managed::{Entry, ManagedFields, ManagedFieldsError, compact, has_applied, write_times};
pub use manager::{FieldManager, Operation};
pub use observed::Observed;
pub use record::{ChangedSince, Record};
pub use report::{ConflictPolicy, ListItems, Reporting, Verbosity};
pub use row::{Level, Row};
