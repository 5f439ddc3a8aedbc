//! Commands that serve until somebody ends them, and what they need: the operator, the cloud for development,
//! certificates and definitions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod certs;
mod crds;
mod oci_server;
mod operator;
mod program;
