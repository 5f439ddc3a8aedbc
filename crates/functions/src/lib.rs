//! The function protocol over gRPC, both sides.
//!
//! The engine calls functions by name through [`Functions`]; authors serve theirs with [`serve`] and answer in the words of
//! [`response`]. Both speak in the plain types of `composition::run`; the wire is fn v1 as shipped, and v1beta1 for functions
//! from before it.
//!
//! ```text
//! Functions ──▶ conversation ──▶ channel ──▶ link ════ mTLS ════ serve ──▶ Function
//!  by name       again, with      turns,      one                 v1 and    the author's
//!                what it asks     upkeep      connection          v1beta1
//!                for
//! ```

pub mod certs;
mod client;
mod conversation;
mod endpoint;
mod r#gen;
pub mod render;
pub mod response;
mod serve;
mod stream;
mod tls;
mod wire;

pub use client::{Functions, Options, Runner};
pub use composition::run::{RunRequest, RunResponse};
pub use conversation::{NoResolver, ResolveError, Resolver, Resolving};
pub use endpoint::BadEndpoint;
pub use serve::{Function, FunctionError, ServeError, ServeOptions, Server, serve};
pub use tls::{Certificates, CertificatesError, Pem};
