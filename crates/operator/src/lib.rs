//! The operator: a controller runtime, and on it the controllers for cloud resources and for compositions.
//!
//! ```text
//! run ──▶ rivals, install ──▶ runtime::lease ──▶ controllers, for one term of leadership ──▶ aside, if a rival starts
//!
//! oraclecloud::Kind ──▶ operations ──▶ the pure crate `operations` (what to do) ──▶ oraclecloud (signed calls)
//! XRDs ──▶ kinds ──▶ XRs, claims ──▶ composition ──▶ the pure crate `composition` (what to do) ──▶ functions (calls)
//! ```
//!
//! What to do next about an object is decided in the pure crates; the controllers here read, call and write.

pub mod api;
mod aside;
pub mod codes;
pub mod composition;
pub mod install;
pub mod operations;
mod options;
mod rivals;
mod run;
pub mod runtime;

pub use aside::{CONDITION as CONDITION_SERVED, composed_kinds, release_health};
pub use composition::{denied_verbs, function_secret, installed_by_crossplane};
pub use options::{FunctionOptions, Half, Options, TenantOptions};
pub use rivals::{Engine, Rival};
pub use run::{Context, Error, USER_AGENT, run};
pub use runtime::shard::{InvalidSelector, Shard};
