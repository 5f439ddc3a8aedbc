//! The kinds at their provider: what is sent for a spec, what counts as drift, and what status shows; and their
//! controllers.

mod answer;
mod chance;
mod controller;
mod credentials;
mod drift;
mod endpoint;
mod fingerprint;
#[cfg(test)]
mod fixture;
mod object;
mod pass;
mod queue;
mod reached;
mod run;
mod stream;
mod telling;

pub use controller::{Controller, Reach};
pub use credentials::Clients;
pub use endpoint::EndpointSecret;
pub use object::ExternalObject;
pub use pass::{Ending, FINALIZER, Pass, PassError, Report};
pub use queue::QueueService;
pub use run::{Surroundings, run, source};
pub use stream::StreamService;
