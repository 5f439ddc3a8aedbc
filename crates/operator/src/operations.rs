//! Cloud resources: which requests a spec means, what counts as drift, what status shows, and the controllers.
//!
//! ```text
//! run ──▶ controller ──▶ reconcile ──▶ operations::decide ──▶ described ──▶ oraclecloud
//!                    └── every decision is stored in status before it is carried out
//! ```

mod awaited_secrets;
mod body;
mod connected;
mod controller;
mod credentials;
mod credentials_in_use;
mod described;
mod drift;
mod endpoint;
mod events;
mod fingerprint;
mod installed;
pub mod metrics;
mod namespaces;
mod object;
mod observed;
mod reconcile;
mod run;
mod secrets;

pub use credentials_in_use::CREDENTIALS_FINALIZER;
pub use described::Described;
pub use endpoint::EndpointSecret;
pub(crate) use installed::installed_kinds;
pub use namespaces::COMPARTMENTS;
pub(crate) use object::gvk;
pub use object::recorded;
pub use reconcile::{FINALIZER, Finished, Reconcile, Report, StepError};
pub use run::run;
