//! terraform-provider-k8sconnect: Kubernetes objects, patches and waits for Terraform.
//!
//! ```text
//! Terraform ─ tfplugin ─▶ Provider ─▶ object, …  ──▶ decide (plan, projection, ownership, readiness)   pure
//!                            │                   └─▶ do     (Cluster: session, caches)                 cluster
//!                            └─ Context: the provider's own cluster, one Cluster per connection
//! ```
//!
//! A resource decides from values (configuration, state and cluster) and acts in thin shells around
//! [`cluster::Session`]. A drop-in for the Go provider of the same name: it keeps its types, states, titles and texts.

mod actions;
mod autoscaler;
mod body;
mod client_command;
mod cluster_identity;
mod clusters;
pub mod codes;
mod conflict_policy;
mod connection;
mod context;
mod data;
mod dependency;
mod duration;
mod dynamic;
mod ephemeral;
mod functions;
mod identity;
mod ids;
mod object;
mod patch;
mod planned_change;
mod private;
mod projection;
mod provider;
mod reference;
mod refresh;
mod report;
mod selection;
mod stop;
#[cfg(test)]
mod testing;
mod upgrade;
mod wait_attribute;
mod wait_resource;
mod write_only;

use std::process::ExitCode;
use std::sync::Arc;

pub use codes::CODES;
#[cfg(feature = "parity")]
pub use object::parity;
pub use provider::Provider;

/// The provider's address in the registry.
pub const ADDRESS: &str = "registry.terraform.io/jmorris0x0/k8sconnect";

/// The name of the program; a link of this name to `plimsoll` is the provider too.
pub const PROGRAM: &str = "terraform-provider-k8sconnect";

/// Serves the provider to the Terraform process that started it.
pub fn serve() -> ExitCode {
    tfplugin::serve(ADDRESS, || Arc::new(Provider::default()))
}
