//! Listings that are read once for everyone who waits for them: the objects of a compartment all ask the same question.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use operations::Response;
use serde_json::Value;
use tokio::time::Instant;

use crate::error::Error;

pub type Listing = Arc<Response<Vec<Value>>>;

/// The listings that are being read, by request.
#[derive(Debug, Default)]
pub(crate) struct Listings(Mutex<HashMap<String, Arc<Slot>>>);

/// When the last listing began, and what it showed; locked while the next one is read.
type Slot = tokio::sync::Mutex<Option<(Instant, Listing)>>;

impl Listings {
    /// The result of `read`, or that of another caller's which began after this call: a listing says nothing about what
    /// happened before it began.
    pub(crate) async fn share<F: Future<Output = Result<Response<Vec<Value>>, Error>>>(
        &self,
        key: String,
        read: impl FnOnce() -> F,
    ) -> Result<Listing, Error> {
        let asked = Instant::now();
        let slot = Arc::clone(self.slots().entry(key.clone()).or_default());
        let mut last = slot.lock().await;
        let shared =
            last.as_ref().filter(|(began, _)| *began >= asked).map(|(_, listing)| Arc::clone(listing));
        let listing = if let Some(listing) = shared {
            listing
        } else {
            let began = Instant::now();
            let listing = Arc::new(read().await?);
            *last = Some((began, Arc::clone(&listing)));
            listing
        };
        drop(last);
        let mut slots = self.slots();
        // The map and this call: no other one waits for what was read.
        if Arc::strong_count(&slot) == 2 {
            slots.remove(&key);
        }
        Ok(listing)
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Slot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn callers_share_a_listing_that_begins_after_they_asked() {
        let (listings, reads) = (Listings::default(), AtomicUsize::new(0));
        let ask = |after: u64| {
            let (listings, reads) = (&listings, &reads);
            async move {
                tokio::time::sleep(Duration::from_millis(after)).await;
                let read = || async {
                    let number = reads.fetch_add(1, Ordering::Relaxed) + 1;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    Ok(Response { body: vec![number.into()], ..Response::default() })
                };
                listings.share("list".to_owned(), read).await.unwrap().body[0].as_u64().unwrap()
            }
        };
        // The first caller reads at once; those who ask meanwhile need a later listing, which they share.
        let seen = tokio::join!(ask(0), ask(10), ask(20), ask(90), ask(150), ask(350));
        assert_eq!(seen, (1, 2, 2, 2, 3, 4));
        assert_eq!(listings.slots().len(), 0, "nothing is kept");
    }
}
