//! Cloud resources: which requests a spec means, what counts as drift, what status shows, and the controllers.
//!
//! ```text
//! controller ──▶ reconcile ──▶ operations::decide ──▶ queue, stream ──▶ oraclecloud
//!                    └── every decision is stored in status before it is carried out
//! ```

mod controller;
mod credentials;
mod drift;
mod endpoint;
mod events;
mod fingerprint;
#[cfg(test)]
mod fixture;
mod instrumented;
mod object;
mod queue;
mod reconcile;
mod response;
mod run;
mod stream;

pub use controller::{Connect, ExternalController};
pub use credentials::Clients;
pub use endpoint::EndpointSecret;
pub use object::ExternalObject;
pub use queue::QueueService;
pub use reconcile::{FINALIZER, Finished, Reconcile, Report, StepError};
pub use run::{run, source};
pub use stream::StreamService;
