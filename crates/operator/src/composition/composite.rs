//! The controller of composites.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::engine::Engine;
use super::kinds::Kind;

/// Runs until it is told to stop.
pub(super) async fn run(_engine: Arc<Engine>, _kind: Arc<Kind>, stop: CancellationToken) {
    stop.cancelled().await;
}
