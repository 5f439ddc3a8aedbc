//! Cloud resources as objects of a real API server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod around;
mod bench;
mod findings;
mod kinds;
mod passes;
mod third;

use std::sync::Once;

use testkit::{Namespace, Sandbox};

const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds");

/// A namespace on an API server that serves our kinds.
async fn namespace(test: &str) -> Namespace {
    static INSTALLED: Once = Once::new();
    let namespace = Sandbox::shared().namespace(test).await;
    INSTALLED.call_once(|| install(&namespace));
    namespace
}

fn install(namespace: &Namespace) {
    let apply =
        ["apply", "--server-side", "--force-conflicts", "--warnings-as-errors", "--filename", DEFINITIONS];
    namespace.kubectl(&apply).unwrap();
    let wait = ["wait", "--for=condition=Established", "--timeout=60s", "--filename", DEFINITIONS];
    namespace.kubectl(&wait).unwrap();
}
