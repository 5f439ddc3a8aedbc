//! The operator: what every controller stands on, and the controllers for cloud resources and for compositions.
//!
//! ```text
//! run ──▶ health, rivals, install ──▶ lease ──▶ controllers, for one term
//!
//! store ──▶ work ──▶ a pass ──▶ events, metrics
//! (what is there) (whose turn it is)  (what people and Prometheus hear of it)
//!
//! api::Queue, api::Stream ──▶ operations::Pass ──▶ operations::QueueService, StreamService ──▶ oraclecloud
//!   (what people write)     (store, then do)     (bodies, drift, what status shows)    (one signed call)
//! composition: XRDs ──▶ kinds ──▶ XRs and claims ──▶ composition (what is decided), functions (who is asked)
//! ```
//!
//! What to do next about an object is decided in `operations` and `composition`; nothing here decides.

pub mod api;
mod backoff;
pub mod codes;
pub mod composition;
pub mod events;
pub mod health;
pub mod install;
mod lease;
pub mod metrics;
pub mod operations;
mod options;
mod rivals;
mod run;
mod said;
pub mod store;
#[cfg(test)]
mod testing;
pub mod work;

pub use options::{FunctionOptions, Half, Options};
pub use rivals::Rival;
pub use run::{Error, Surroundings, USER_AGENT, run};
