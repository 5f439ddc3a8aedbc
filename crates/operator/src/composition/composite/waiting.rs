//! XRs whose function is down go on the moment it is back, instead of when their back-off is over.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Composer;
use crate::store::Key;

/// A function that can be reached at once was not down: its calls fail for another reason, and the back-off holds.
const WAS_DOWN: Duration = Duration::from_millis(100);

/// Who waits for which function.
#[derive(Default)]
pub(super) struct Waiting(Mutex<HashMap<String, BTreeSet<Key>>>);

impl Composer {
    /// `xr` waits until `function` can be reached.
    pub(super) fn wait_for(self: &Arc<Self>, function: &str, xr: &Key) {
        let mut waiting = self.waiting.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(others) = waiting.get_mut(function) {
            others.insert(xr.clone());
            return;
        }
        waiting.insert(function.to_owned(), BTreeSet::from([xr.clone()]));
        let (composer, function) = (Arc::clone(self), function.to_owned());
        tokio::spawn(async move {
            let began = Instant::now();
            let reached = tokio::select! {
                () = composer.stop.cancelled() => false,
                reached = composer.engine.functions.reachable(&function) => reached.is_ok(),
            };
            let mut waiting = composer.waiting.0.lock().unwrap_or_else(PoisonError::into_inner);
            let waiters = waiting.remove(&function).unwrap_or_default();
            drop(waiting);
            if reached && began.elapsed() >= WAS_DOWN {
                tracing::info!(function, xrs = waiters.len(), "the function is back");
                for xr in waiters {
                    composer.force(xr);
                }
            }
        });
    }
}
