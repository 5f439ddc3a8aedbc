//! The custom resources of the operator, as Rust types and as definitions.

mod definition;
mod queue;
mod status;
mod stream;
mod tags;

pub use definition::{definition, definitions};
pub use queue::{ObservedQueue, Queue, QueueCapability, QueueSpec, QueueStatus};
pub use status::{KindStatus, Tracked};
pub use stream::{ObservedStream, Stream, StreamSpec, StreamStatus};
pub use tags::{DefinedTags, FreeformTags};
