//! What tests share: the sandbox, a namespace each, other field managers, the Go oracle, clients of Terraform providers.
//!
//! Each part is a feature, so that a pure crate's tests stay light.

#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "gate")]
pub mod gate;
#[cfg(feature = "oracle")]
pub mod oracle;
#[cfg(feature = "proxy")]
pub mod proxy;
#[cfg(feature = "python")]
pub mod python;
#[cfg(feature = "terraform")]
pub mod terraform;

#[cfg(feature = "cluster")]
pub use cluster::{ApiServer, Namespace, Sandbox, plimsoll};
