//! Events from before this process started, which need not be recorded again.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use diag::error_chain;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams};
use tokio::sync::Mutex;

const PAGE_SIZE: u32 = 500;

/// Hashes of the Events of each controller, listed when they are first needed.
pub(super) struct Recorded {
    client: kube::Client,
    hashes: Mutex<HashMap<&'static str, HashSet<u64>>>,
}

impl Recorded {
    pub(super) fn new(client: kube::Client) -> Self {
        Self { client, hashes: Mutex::default() }
    }

    /// Whether `component` has recorded an Event with this [`hash`].
    pub(super) async fn has(&self, component: &'static str, hash: u64) -> bool {
        // Concurrent callers wait for the list instead of listing too.
        let mut hashes = self.hashes.lock().await;
        if !hashes.contains_key(component) {
            let found = self.list(component).await.unwrap_or_else(|error| {
                tracing::warn!(
                    error = error_chain(&error),
                    "cannot list earlier events; some may be repeated"
                );
                HashSet::new()
            });
            hashes.insert(component, found);
        }
        hashes.get(component).is_some_and(|hashes| hashes.contains(&hash))
    }

    async fn list(&self, component: &str) -> Result<HashSet<u64>, kube::Error> {
        let api = Api::<Event>::all(self.client.clone());
        let mut params = ListParams::default().fields(&format!("source={component}")).limit(PAGE_SIZE);
        let mut hashes = HashSet::new();
        loop {
            let list = api.list(&params).await?;
            let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
            hashes.extend(list.items.iter().map(|event| {
                let uid = text(&event.involved_object.uid);
                hash(&uid, &text(&event.type_), &text(&event.reason), &text(&event.message))
            }));
            match list.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) => params = params.continue_token(&next),
                None => return Ok(hashes),
            }
        }
    }
}

/// A hash of an Event. A collision is unlikely, and would suppress one Event.
pub(super) fn hash(uid: &str, kind: &str, reason: &str, message: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (uid, kind, reason, message).hash(&mut hasher);
    hasher.finish()
}
