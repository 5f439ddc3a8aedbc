//! Which kinds the cluster has: asked once, shared by all, asked again when something is missing.

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

/// The last catalog, and a way to get a new one without two callers asking at the same time.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    flight: Flight<Arc<Catalog>, Error>,
    /// Answers to questions up to this one count for nothing: something has changed since they were put.
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

    /// A catalog that was asked for no earlier than now.
    pub(crate) async fn fresh<F>(&self, ask: impl Fn() -> F) -> Result<Arc<Catalog>, Error>
    where
        F: Future<Output = Result<Arc<Catalog>, Error>> + Send + 'static,
    {
        self.flight.after(self.flight.put(), ask).await
    }

    /// Forgets the catalog, because a kind has come, gone or changed. An answer that is under way is no better.
    pub(crate) fn forget(&self) {
        self.forgotten.fetch_max(self.flight.put(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
