//! The kinds of the cluster: discovered once, shared by all callers, and refreshed when a kind is missing.

mod ask;
mod catalog;
mod missing;

pub use catalog::Resource;
pub use missing::MissingKind;

pub(crate) use ask::discover;
pub(crate) use catalog::{Catalog, segment};

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::flight::Flight;

/// The last catalog, refreshed by one caller at a time.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    flight: Flight<Arc<Catalog>, Error>,
    /// Results of requests up to this number are stale: something has changed since they started.
    forgotten: AtomicU64,
}

impl Discovery {
    /// The catalog, whatever its age.
    pub(crate) async fn any<F>(&self, ask: impl Fn() -> F) -> Result<Arc<Catalog>, Error>
    where
        F: Future<Output = Result<Arc<Catalog>, Error>> + Send + 'static,
    {
        self.flight.after(self.forgotten.load(Ordering::Relaxed), ask).await
    }

    /// A catalog requested no earlier than now.
    pub(crate) async fn fresh<F>(&self, ask: impl Fn() -> F) -> Result<Arc<Catalog>, Error>
    where
        F: Future<Output = Result<Arc<Catalog>, Error>> + Send + 'static,
    {
        self.flight.after(self.flight.put(), ask).await
    }

    /// Drops the catalog because a kind was added, removed or changed. A request in flight is stale as well.
    pub(crate) fn forget(&self) {
        self.forgotten.fetch_max(self.flight.put(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
