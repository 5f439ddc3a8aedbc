//! A thin client of Oracle Cloud: signed requests, work requests, Queue and Stream.
//!
//! Every call makes one attempt, within a deadline and the rate limit of its region, and returns body, request id, work
//! request id, etag and retry-after together in one [`Response`]; every failure is an [`Error`] that keeps status, code,
//! message and request id.
//!
//! ```text
//! Credentials ─▶ sign ┐
//! Endpoints, Region ──┼─▶ Client ─▶ Queues, Streams ─▶ Response<T> | Error
//! RateLimiter ────────┘                └─ call_queue, call_stream: operations::Call ─▶ Response | CallError
//! ```

pub mod auth;
mod calls;
mod client;
mod config_file;
mod connections;
mod der;
mod endpoint;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod key;
mod listings;
mod page;
mod queue;
mod rate_limit;
mod region;
mod response;
pub mod sign;
mod stream;

pub use auth::{AuthError, Credentials, ExchangeError};
pub use calls::{call_queue, call_stream};
pub use client::{Client, ClientError, Settings};
pub use config_file::{ConfigFileError, DEFAULT_PROFILE};
pub use connections::Connections;
pub use endpoint::{EndpointError, Endpoints};
pub use error::{BadResponse, Error, ErrorKind, Problem};
pub use listings::Listing;
pub use operations::Response;
pub use queue::{Accepted, Queues, WorkRequestEntry};
pub use rate_limit::RateLimiter;
pub use region::{Region, RegionError};
pub use stream::{StreamScope, Streams};
