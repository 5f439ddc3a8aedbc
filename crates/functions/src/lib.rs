//! The function protocol over gRPC, both sides.
//!
//! The engine calls functions by name through [`Functions`]; function authors use [`serve`] and build responses with
//! [`response`]. Both sides use the plain types of `composition::protocol`. The protocol is Crossplane's fn v1, with a fallback
//! to v1beta1 for older functions.
//!
//! ```text
//! Functions ──▶ requirements ──▶ channel ──▶ subchannels ════ mTLS ════ serve ──▶ Function
//!  by name       call again       deadline,    a connection               v1 and    the author's
//!                with what it     limit,       per address,               v1beta1
//!                requires         round robin  reconnecting
//! ```

pub mod certs;
mod client;
mod endpoint;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod r#gen;
pub mod render;
mod requirements;
pub mod response;
mod serve;
mod stream;
mod tls;
mod wire;

pub use client::{CallWatcher, Functions, Options, Reservation, Runner};
pub use composition::protocol::{RunRequest, RunResponse};
pub use endpoint::InvalidEndpoint;
pub use requirements::{NoResolver, ResolveError, ResolveFuture, Resolver};
pub use serve::{Function, FunctionError, ServeError, ServeOptions, Server, Transport, serve};
pub use tls::{Certificates, CertificatesError, Pem};
