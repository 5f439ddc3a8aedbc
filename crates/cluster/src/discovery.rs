//! The kinds of the cluster: discovered once, shared by all callers, and refreshed when a kind is missing.

mod catalog;
mod missing;
mod request;

pub use catalog::Resource;
pub use missing::MissingKind;

pub(crate) use catalog::{Catalog, segment};
pub(crate) use request::discover;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::single_flight::SingleFlight;

/// The last catalog, refreshed by one caller at a time.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    request: SingleFlight<Arc<Catalog>, Error>,
    /// Results of requests up to this number are stale: something has changed since they started.
    stale_until: AtomicU64,
}

impl Discovery {
    /// The catalog, whatever its age.
    pub(crate) async fn any<F>(&self, ask: impl Fn() -> F) -> Result<Arc<Catalog>, Error>
    where
        F: Future<Output = Result<Arc<Catalog>, Error>> + Send + 'static,
    {
        self.request.after(self.stale_until.load(Ordering::Relaxed), ask).await
    }

    /// A catalog requested no earlier than now.
    pub(crate) async fn fresh<F>(&self, ask: impl Fn() -> F) -> Result<Arc<Catalog>, Error>
    where
        F: Future<Output = Result<Arc<Catalog>, Error>> + Send + 'static,
    {
        self.request.after(self.request.started(), ask).await
    }

    /// Drops the catalog because a kind was added, removed or changed. A request in flight is stale as well.
    pub(crate) fn invalidate(&self) {
        self.stale_until.fetch_max(self.request.started(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
