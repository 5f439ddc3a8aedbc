//! A thin client of Oracle Cloud: signed requests, work requests, and kinds as descriptions.
//!
//! Every call makes one attempt, within a deadline and the rate limit of its region, and returns body, request id, work
//! request id, etag and retry-after together in one [`Response`]; every failure is an [`Error`] that keeps status, code,
//! message and request id.
//!
//! ```text
//! Credentials ─▶ sign ┐
//! Endpoints, Region ──┼─▶ Client, Kind ─▶ Resources ─▶ Response<T> | Error
//! RateLimiter ────────┘                       └─ call: operations::Call ─▶ Response | CallError
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
pub mod kind;
mod listings;
mod page;
mod rate_limit;
mod region;
mod resources;
mod response;
pub mod sign;

pub use auth::{AuthError, Credentials, ExchangeError};
pub use calls::call;
pub use client::{Client, ClientError, Settings};
pub use config_file::{ConfigFileError, DEFAULT_PROFILE};
pub use connections::Connections;
pub use endpoint::{EndpointError, Endpoints};
pub use error::{BadResponse, Error, ErrorKind, Problem};
pub use kind::{Catalogue, Kind, Service};
pub use listings::Listing;
pub use operations::Response;
pub use rate_limit::RateLimiter;
pub use region::{Region, RegionError};
pub use resources::{Accepted, Resources};
