//! What all controllers of the composition half share.

use std::sync::Arc;
use std::time::Duration;

use functions::Functions;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::catalogue::Catalogue;
use super::metrics::CompositionMetrics;
use super::recording::Recordings;
use super::watches::Watches;
use crate::runtime::client::ObjectClient;
use crate::runtime::clock::Clock;
use crate::runtime::events::Events;
use crate::runtime::metrics::Metrics;
use crate::runtime::shard::Shard;
use crate::runtime::store::{Source, Store};

pub(crate) struct Engine {
    pub(crate) client: ObjectClient,
    /// Stores of XRs, claims, and composed and required resources.
    pub(crate) watches: Watches,
    /// Of all objects, those that are reconciled here.
    pub(crate) shard: Shard,
    pub(crate) events: Events,
    pub(crate) clock: Clock,
    /// When it started, by a clock that is never set.
    pub(crate) began: Instant,
    pub(crate) metrics: Metrics,
    pub(crate) counts: Arc<CompositionMetrics>,
    pub(crate) functions: Functions,
    /// Compositions and their revisions.
    pub(crate) catalogue: Catalogue,
    /// Changes whenever a function may be found at another place than before.
    pub(crate) functions_moved: watch::Receiver<u64>,
    /// The ServiceAccount, in the namespace of each tenant, that composed resources are written as.
    pub(crate) default_service_account: Option<String>,
    /// Who can record a pass over an XR.
    pub(super) recordings: Recordings,
    pub(crate) stop: CancellationToken,
}

impl Engine {
    /// How long it has been running, for what must not depend on the time of day.
    pub(crate) fn running_for(&self) -> Duration {
        self.began.elapsed()
    }

    /// A store that is kept up to date until the engine stops.
    pub(crate) fn start_store(&self, source: Source) -> Store {
        Store::start(self.client.session().clone(), source, &self.metrics, &self.stop)
    }
}
