//! Cloud resources: which requests a spec means, what counts as drift, what status shows, and the controllers.
//!
//! ```text
//! controller ──▶ reconcile ──▶ operations::decide ──▶ queue, stream ──▶ oraclecloud
//!                    └── every decision is stored in status before it is carried out
//! ```

mod connected;
mod controller;
mod credentials;
mod credentials_in_use;
mod drift;
mod endpoint;
mod events;
mod fingerprint;
#[cfg(test)]
mod fixture;
mod instrumented;
mod namespaces;
mod object;
mod queue;
mod reconcile;
mod response;
mod run;
mod stream;

pub use connected::Connected;
pub use controller::ExternalController;
pub use credentials_in_use::CREDENTIALS_FINALIZER;
pub use endpoint::EndpointSecret;
pub use namespaces::COMPARTMENTS;
pub use object::ExternalObject;
pub use queue::QueueService;
pub use reconcile::{FINALIZER, Finished, Reconcile, Report, StepError};
pub use run::{run, source};
pub use stream::StreamService;
