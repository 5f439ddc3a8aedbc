//! Events from before this process began: what they say need not be said again.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams};
use tokio::sync::Mutex;

use crate::said::chain;

/// As many Events as are read at a time.
const PAGE: u32 = 500;

/// The Events of each controller, read when somebody first asks for them.
pub(super) struct Recorded {
    client: kube::Client,
    prints: Mutex<HashMap<&'static str, HashSet<u64>>>,
}

impl Recorded {
    /// Nothing is read yet.
    pub(super) fn new(client: kube::Client) -> Self {
        Self { client, prints: Mutex::default() }
    }

    /// Whether `component` has recorded an Event of this [`print`].
    pub(super) async fn has(&self, component: &'static str, print: u64) -> bool {
        // Whoever else asks waits for the answer instead of asking too.
        let mut prints = self.prints.lock().await;
        if !prints.contains_key(component) {
            let found = self.read(component).await.unwrap_or_else(|error| {
                tracing::warn!(
                    error = chain(&error),
                    "events of before cannot be read, so some may be repeated"
                );
                HashSet::new()
            });
            prints.insert(component, found);
        }
        prints.get(component).is_some_and(|prints| prints.contains(&print))
    }

    async fn read(&self, component: &str) -> Result<HashSet<u64>, kube::Error> {
        let api = Api::<Event>::all(self.client.clone());
        let mut page = ListParams::default().fields(&format!("source={component}")).limit(PAGE);
        let mut prints = HashSet::new();
        loop {
            let list = api.list(&page).await?;
            let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
            prints.extend(list.items.iter().map(|event| {
                let uid = text(&event.involved_object.uid);
                print(&uid, &text(&event.type_), &text(&event.reason), &text(&event.message))
            }));
            match list.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) => page = page.continue_token(&next),
                None => return Ok(prints),
            }
        }
    }
}

/// What an Event says about whom, as a number; that two are the same is as unlikely as it would be harmless.
pub(super) fn print(uid: &str, tone: &str, reason: &str, message: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (uid, tone, reason, message).hash(&mut hasher);
    hasher.finish()
}
