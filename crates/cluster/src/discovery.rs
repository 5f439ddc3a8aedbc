//! The kinds of the cluster: discovered once, shared by all callers, and refreshed when a kind is missing.

mod catalog;
mod missing;
mod request;

pub use catalog::Resource;
pub use missing::MissingKind;

pub(crate) use catalog::{Catalog, segment};

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::session::Session;
use crate::single_flight::SingleFlight;
use request::discover;

/// The last catalog, refreshed by one caller at a time.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    request: SingleFlight<Arc<Catalog>, Error>,
    /// Results of requests up to this number are stale: something has changed since they started.
    stale_until: AtomicU64,
}

impl Discovery {
    /// The catalog, whatever its age.
    pub(crate) async fn cached(&self, session: &Session) -> Result<Arc<Catalog>, Error> {
        let stale = self.stale_until.load(Ordering::Relaxed);
        self.request.after(stale, || discover(session.clone())).await
    }

    /// A catalog requested no earlier than now.
    pub(crate) async fn fresh(&self, session: &Session) -> Result<Arc<Catalog>, Error> {
        self.request.after(self.request.started(), || discover(session.clone())).await
    }

    /// Drops the catalog because a kind was added, removed or changed. A request in flight is stale as well.
    pub(crate) fn invalidate(&self) {
        self.stale_until.fetch_max(self.request.started(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
