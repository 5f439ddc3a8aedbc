//! Terraform's plugin protocol 6: everything between the `terraform` (or `tofu`) process and what a provider does.
//!
//! ```text
//! terraform ──mTLS, gRPC──▶ serve ──▶ rpc ──▶ Provider ─┬─▶ Resource     plan, apply, read, import, upgrade, move
//!                                      │                ├─▶ DataSource   read
//!                                      │                └─▶ EphemeralResource, Function, ListResource, Action
//!                       msgpack, json ─┴─ schema_plan, plan_rules
//! ```
//!
//! A provider implements a few traits with plain values; this crate does the rest as terraform-plugin-framework does, so
//! that states can move between providers built on either. What the schema alone decides (write-only values, unknowns,
//! plan modifiers) is planned before [`Resource::plan`](provider::Resource::plan) is called. Debug builds check every response
//! against the rules that Terraform enforces (`plan_rules`), so that a test fails before a user reads "this is a bug in the
//! provider".
//!
//! ```no_run
//! use std::process::ExitCode;
//! use std::sync::Arc;
//!
//! use tfplugin::provider::{ApplyRequest, ApplyResponse, BoxFuture, Provider, ReadRequest, ReadResponse, Resource};
//! use tfplugin::schema::{Attribute, Schema};
//! use tfplugin::types::Type;
//!
//! struct Greeter;
//!
//! impl Provider for Greeter {
//!     fn resources(&self) -> Vec<Arc<dyn Resource>> {
//!         vec![Arc::new(Greeting)]
//!     }
//! }
//!
//! struct Greeting;
//!
//! impl Resource for Greeting {
//!     fn type_name(&self) -> &str {
//!         "greeter_greeting"
//!     }
//!
//!     fn schema(&self) -> Schema {
//!         Schema::new()
//!             .description("A greeting for a person.")
//!             .attribute(Attribute::required("name", Type::String).requires_replace())
//!             .attribute(Attribute::computed("text", Type::String).use_state_for_unknown())
//!     }
//!
//!     fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, ApplyResponse> {
//!         Box::pin(async move {
//!             let state = request.change.into_planned().map(|planned| {
//!                 let text = format!("Hello, {}!", planned.text("name").unwrap_or("world"));
//!                 planned.with("text", text)
//!             });
//!             ApplyResponse { state, private: request.private, ..ApplyResponse::default() }
//!         })
//!     }
//!
//!     fn read(&self, request: ReadRequest) -> BoxFuture<'_, ReadResponse> {
//!         Box::pin(async move { request.unchanged() })
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     tfplugin::serve("registry.terraform.io/acme/greeter", || Arc::new(Greeter))
//! }
//! ```
//!
//! `examples/shelf.rs` shows the rest: nested and write-only attributes, warnings with an attribute, private state, identity,
//! import, state upgrades and moves, ephemeral resources and functions.

pub mod codes;
pub mod diagnostics;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod r#gen;
pub mod json;
mod log;
mod msgpack;
#[cfg(test)]
mod oracle;
mod panics;
pub mod path;
mod plan_rules;
pub mod private;
pub mod provider;
mod rpc;
pub mod schema;
mod schema_plan;
mod serve;
#[cfg(test)]
mod testing;
mod tls;
pub mod types;
pub mod value;

pub use serve::serve;
pub use tokio_util::sync::CancellationToken;
