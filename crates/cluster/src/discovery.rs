//! Which kinds the cluster has: asked once, shared by all, asked again when something is missing.

mod catalog;
mod missing;

pub use catalog::Resource;
pub use missing::MissingKind;

pub(crate) use catalog::{Catalog, segment};

use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Mutex;
use tokio::time::Instant;

/// The last catalog, and a way to get a new one without two callers asking at the same time.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    last: RwLock<Option<Known>>,
    asking: Mutex<()>,
}

#[derive(Clone, Debug)]
struct Known {
    catalog: Arc<Catalog>,
    /// When the question was asked: what happened later may not be in the answer.
    asked: Instant,
}

impl Discovery {
    /// The catalog, whatever its age.
    pub(crate) async fn any<F, E>(&self, ask: impl FnOnce() -> F) -> Result<Arc<Catalog>, E>
    where
        F: Future<Output = Result<Catalog, E>>,
    {
        if let Some(known) = self.known() {
            return Ok(known.catalog);
        }
        let _turn = self.asking.lock().await;
        match self.known() {
            Some(known) => Ok(known.catalog),
            None => self.ask(ask).await,
        }
    }

    /// A catalog that was asked for no earlier than `moment`. Callers that wait for the same moment, or an earlier
    /// one, share one question.
    pub(crate) async fn since<F, E>(
        &self,
        moment: Instant,
        ask: impl FnOnce() -> F,
    ) -> Result<Arc<Catalog>, E>
    where
        F: Future<Output = Result<Catalog, E>>,
    {
        let _turn = self.asking.lock().await;
        match self.known() {
            Some(known) if known.asked >= moment => Ok(known.catalog),
            _ => self.ask(ask).await,
        }
    }

    /// Forgets the catalog, because a kind has come, gone or changed.
    pub(crate) fn forget(&self) {
        *self.last.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn ask<F, E>(&self, ask: impl FnOnce() -> F) -> Result<Arc<Catalog>, E>
    where
        F: Future<Output = Result<Catalog, E>>,
    {
        let asked = Instant::now();
        let catalog = Arc::new(ask().await?);
        let known = Known { catalog: Arc::clone(&catalog), asked };
        *self.last.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
        Ok(catalog)
    }

    fn known(&self) -> Option<Known> {
        self.last.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
