//! XRs whose function is down are reconciled the moment it is back, instead of after their backoff.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Composer;
use crate::runtime::store::Key;

/// A function that can be reached sooner was not down: its calls fail for another reason, and the backoff holds.
const MIN_DOWNTIME: Duration = Duration::from_millis(100);

impl Composer {
    pub(super) fn reconcile_when_reachable(self: &Arc<Self>, function: &str, xr: &Key) {
        self.queue.signals(xr, |signals| signals.awaited_function = Some(function.to_owned()));
        if !self.probing.lock().unwrap_or_else(PoisonError::into_inner).insert(function.to_owned()) {
            return;
        }
        let (composer, function) = (Arc::clone(self), function.to_owned());
        tokio::spawn(async move {
            let began = Instant::now();
            let reached = tokio::select! {
                biased;
                () = composer.stop.cancelled() => false,
                reached = composer.engine.functions.reachable(&function) => reached.is_ok(),
            };
            composer.probing.lock().unwrap_or_else(PoisonError::into_inner).remove(&function);
            let waiting =
                composer.queue.keys_where(|signals| signals.awaited_function.as_ref() == Some(&function));
            if reached && began.elapsed() >= MIN_DOWNTIME {
                tracing::info!(function, xrs = waiting.len(), "the function is back");
                for xr in waiting {
                    composer.force(xr);
                }
            }
        });
    }
}
