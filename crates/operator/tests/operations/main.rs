//! Cloud resources as objects of a real API server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod bench;
mod cluster;
mod identities;
mod kinds;
mod objects;
mod osok;
mod osok_defects;
mod reconcile;
mod rivals;
mod sdk;
mod shards;
mod tenants;
mod third;
mod tier1;

use testkit::{Namespace, Sandbox};

/// A namespace on an API server with what `deploy/` installs.
async fn namespace(test: &str) -> Namespace {
    Sandbox::shared().deploy();
    Sandbox::shared().namespace(test).await
}
