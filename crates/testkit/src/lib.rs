//! Test fixtures: the shared sandbox, a namespace per test, other field managers, proxies that inject failures, a
//! webhook, the Go oracle, clients of Terraform providers, a browser, terminal recordings, and seeds for tests that choose.
//!
//! Each part is a feature, which keeps the tests of pure crates light.

#[cfg(feature = "browser")]
mod browser;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(any(feature = "release-tools", feature = "terraform"))]
mod go_program;
#[cfg(feature = "oracle")]
pub mod oracle;
#[cfg(feature = "proxy")]
pub mod proxy;
#[cfg(feature = "python")]
pub mod python;
pub mod recording;
#[cfg(feature = "release-tools")]
mod release_tools;
pub mod seed;
#[cfg(feature = "terraform")]
pub mod terraform;
#[cfg(feature = "webhook")]
mod webhook;

#[cfg(feature = "browser")]
pub use browser::Browser;
#[cfg(feature = "cluster")]
pub use cluster::{ApiServer, Backup, Namespace, Sandbox, plimsoll};
#[cfg(feature = "release-tools")]
pub use release_tools::ReleaseTool;
#[cfg(feature = "webhook")]
pub use webhook::Webhook;
