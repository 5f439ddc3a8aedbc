//! Cloud resources as objects of a real API server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kinds;
mod passes;

use testkit::{Namespace, Sandbox};

const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds");

/// A namespace on an API server that serves our kinds.
async fn namespace(test: &str) -> Namespace {
    let namespace = Sandbox::shared().namespace(test).await;
    let apply =
        ["apply", "--server-side", "--force-conflicts", "--warnings-as-errors", "--filename", DEFINITIONS];
    namespace.kubectl(&apply).unwrap();
    let wait = ["wait", "--for=condition=Established", "--timeout=60s", "--filename", DEFINITIONS];
    namespace.kubectl(&wait).unwrap();
    namespace
}
