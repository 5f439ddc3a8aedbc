//! The objects of this state, by the ids of their resources: known once Terraform asks about them.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// The ids that this process has seen.
#[derive(Default)]
pub(crate) struct Ids {
    known: Mutex<HashSet<String>>,
    added: Notify,
}

impl Ids {
    /// Records that a resource of this state has the id; returns whether that is new.
    pub(crate) fn add(&self, id: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = known.insert(id.to_owned());
        if is_new {
            self.added.notify_waiters();
        }
        is_new
    }

    /// Whether a resource of this state has the id, if Terraform asks about it within `patience`: it asks about
    /// independent resources in no particular order.
    pub(crate) async fn has(&self, id: &str, patience: Duration) -> bool {
        let added = async {
            loop {
                let next = self.added.notified();
                if self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(id) {
                    return;
                }
                next.await;
            }
        };
        tokio::time::timeout(patience, added).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_id_is_waited_for_until_the_time_is_over() {
        let ids = Ids::default();
        let soon = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            ids.add("b");
            ids.add("a");
        };
        let (found, ()) = tokio::join!(ids.has("a", Duration::from_secs(2)), soon);
        assert!(found);
        assert!(ids.has("b", Duration::ZERO).await);
        assert!(!ids.has("c", Duration::from_secs(2)).await);
    }
}
