//! What all controllers of the composition half share.

use cluster::Session;
use functions::Functions;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::catalogue::Catalogue;
use super::children::Watches;
use super::writer::Writer;
use crate::events::Events;
use crate::metrics::Metrics;

/// What all controllers of the composition half share.
pub(crate) struct Engine {
    /// The cluster.
    pub(crate) session: Session,
    /// Writes to it.
    pub(crate) writer: Writer,
    /// Live copies of XRs, claims, and what is composed and required.
    pub(crate) watches: Watches,
    /// Tells people.
    pub(crate) events: Events,
    /// What is counted.
    pub(crate) metrics: Metrics,
    /// The functions, wherever they are found.
    pub(crate) functions: Functions,
    /// Compositions and their revisions.
    pub(crate) catalogue: Catalogue,
    /// Ticks whenever functions are to be found elsewhere than before: what was not found may be found now.
    pub(crate) functions_moved: watch::Receiver<u64>,
    /// Ends everything.
    pub(crate) stop: CancellationToken,
}
