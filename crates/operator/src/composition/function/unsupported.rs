//! Providers and Configurations, which this operator does not install: each says so in its conditions.

use std::time::Duration;

use composition::package::health::unsupported;
use manifest::GroupVersionKind;

use crate::composition::MANAGER;
use crate::composition::engine::Engine;
use crate::runtime::client::ApiError;

/// How often to look. Their kinds exist only where Crossplane was installed, so they are not watched.
const INTERVAL: Duration = Duration::from_secs(120);
const KINDS: [&str; 2] = ["pkg.crossplane.io/v1/Provider", "pkg.crossplane.io/v1/Configuration"];

/// Reports what is not installed. Never returns.
pub(in crate::composition) async fn report_unsupported(engine: &Engine) {
    loop {
        for kind in KINDS {
            let kind: GroupVersionKind = kind.parse().expect("a valid kind");
            match report(engine, &kind).await {
                Err(error) if !error.is_kind_absent() && !error.is_conflict() => {
                    tracing::warn!(%kind, error = error.text(), "cannot report that a package is not installed");
                }
                _ => {}
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn report(engine: &Engine, kind: &GroupVersionKind) -> Result<(), ApiError> {
    for package in engine.client.list(kind).await? {
        if engine.shard.selects(&package)
            && let Some(reported) = unsupported(&package, engine.clock.now())
        {
            engine.client.replace_status(&reported, MANAGER).await?;
        }
    }
    Ok(())
}
