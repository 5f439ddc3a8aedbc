//! The kinds at their provider: what is sent for a spec, what counts as drift, and what status shows.

mod answer;
mod drift;
#[cfg(test)]
mod fixture;
mod kind;
mod pass;
mod queue;
mod stream;

pub use kind::ControlledKind;
pub use pass::{Ending, FINALIZER, Pass, PassError, Report};
pub use queue::QueueService;
pub use stream::StreamService;
