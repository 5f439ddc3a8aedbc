//! Commands that serve until they are stopped, and what they need: the operator, the cloud emulator, certificates and
//! CRDs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod certs;
mod crds;
mod oci_server;
mod operator;
mod program;
#[path = "../cluster/schema.rs"]
mod schema;
