//! What all controllers of the composition half share.

use functions::Functions;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::catalogue::Catalogue;
use super::watches::Watches;
use crate::runtime::client::ObjectClient;
use crate::runtime::clock::Clock;
use crate::runtime::events::Events;
use crate::runtime::metrics::Metrics;
use crate::runtime::shard::Shard;

pub(crate) struct Engine {
    pub(crate) client: ObjectClient,
    /// Stores of XRs, claims, and composed and required resources.
    pub(crate) watches: Watches,
    /// Of all objects, those that are reconciled here.
    pub(crate) shard: Shard,
    pub(crate) events: Events,
    pub(crate) clock: Clock,
    pub(crate) metrics: Metrics,
    pub(crate) functions: Functions,
    /// Compositions and their revisions.
    pub(crate) catalogue: Catalogue,
    /// Changes whenever a function may be found at another place than before.
    pub(crate) functions_moved: watch::Receiver<u64>,
    /// The ServiceAccount, in the namespace of each tenant, that composed resources are written as.
    pub(crate) default_service_account: Option<String>,
    pub(crate) stop: CancellationToken,
}
