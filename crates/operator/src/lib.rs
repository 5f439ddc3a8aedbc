//! Controllers for cloud resources: their kinds, what they send and what they make of the answers.
//!
//! ```text
//! api::Queue, api::Stream ─▶ external::QueueService, external::StreamService ─▶ oci
//!        (what people write)     (bodies, drift, what status shows)          (one signed call)
//! ```
//!
//! What to do next about an object is decided in `progress`; nothing here decides.

pub mod api;
pub mod external;
