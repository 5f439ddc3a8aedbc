//! Looks for the Secrets that objects wait for, by their names: the operator may read Secrets, but neither list nor watch them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use composition::object;
use tokio::sync::Notify;

use crate::runtime::client::ObjectClient;
use crate::runtime::store::Key;

/// The time between two looks.
const INTERVAL: Duration = Duration::from_secs(2);
/// The number of Secrets that one look is for.
const AT_A_TIME: usize = 20;

/// The Secrets that are missing, or lack an entry, with the objects that wait for each.
#[derive(Default)]
pub(super) struct AwaitedSecrets {
    awaited: Mutex<BTreeMap<Key, Awaited>>,
    added: Notify,
}

#[derive(Default)]
struct Awaited {
    /// The version that is not good enough.
    version: Option<String>,
    objects: BTreeSet<Key>,
}

impl AwaitedSecrets {
    /// An object waits for these Secrets of its namespace, which have these versions if they exist, and for no others.
    pub(super) fn set(&self, waiting: &Key, secrets: BTreeMap<String, Option<String>>) {
        let mut awaited = self.lock();
        awaited.retain(|secret, it| {
            if !secrets.contains_key(&secret.name) {
                it.objects.remove(waiting);
            }
            !it.objects.is_empty()
        });
        for (name, version) in secrets {
            let secret = Key { namespace: waiting.namespace.clone(), name };
            let known = awaited.entry(secret).or_default();
            known.version = version;
            known.objects.insert(waiting.clone());
            self.added.notify_one();
        }
    }

    /// Calls `found` for each object that waits for a Secret which has appeared or changed. Never ends.
    pub(super) async fn run(&self, client: &ObjectClient, found: impl Fn(Key)) {
        let gvk = "v1/Secret".parse().expect("a valid kind");
        let mut last = None;
        loop {
            let next = self.after(last.as_ref());
            if next.is_empty() {
                self.added.notified().await;
            }
            tokio::time::sleep(INTERVAL).await;
            for secret in next {
                let read = client.read(&secret.reference(&gvk)).await;
                // An error is reported by the reconcile that needs the Secret.
                if let Ok(Some(object)) = read {
                    self.take(&secret, object::resource_version(&object)).into_iter().for_each(&found);
                }
                last = Some(secret);
            }
        }
    }

    /// The next ones to look for, in turn.
    fn after(&self, last: Option<&Key>) -> Vec<Key> {
        let awaited = self.lock();
        let later = awaited.keys().filter(|key| last.is_none_or(|last| *key > last));
        let earlier = awaited.keys().filter(|key| last.is_some_and(|last| *key <= last));
        later.chain(earlier).take(AT_A_TIME).cloned().collect()
    }

    /// The objects that wait for a Secret and need not wait any longer, now that it has this version.
    fn take(&self, secret: &Key, version: Option<&str>) -> BTreeSet<Key> {
        let mut awaited = self.lock();
        let is_new = awaited.get(secret).is_some_and(|known| known.version.as_deref() != version);
        if is_new { awaited.remove(secret).unwrap_or_default().objects } else { BTreeSet::new() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Awaited>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: impl Into<String>) -> Key {
        Key { namespace: Some("shop".to_owned()), name: name.into() }
    }

    fn named(names: &[&str]) -> BTreeMap<String, Option<String>> {
        names.iter().map(|name| ((*name).to_owned(), None)).collect()
    }

    #[test]
    fn objects_wait_until_a_secret_has_another_version() {
        let awaited = AwaitedSecrets::default();
        awaited.set(&key("a"), named(&["login", "other"]));
        awaited.set(&key("b"), [("login".to_owned(), Some("7".to_owned()))].into());
        assert_eq!(awaited.take(&key("login"), Some("7")), BTreeSet::new());
        assert_eq!(awaited.take(&key("login"), Some("8")), [key("a"), key("b")].into());
        assert_eq!(awaited.take(&key("login"), Some("9")), BTreeSet::new());
        awaited.set(&key("a"), BTreeMap::new());
        assert_eq!(awaited.after(None), []);
    }

    #[test]
    fn all_of_many_are_looked_for_in_turn() {
        let awaited = AwaitedSecrets::default();
        let names: Vec<String> = (0..50).map(|at| format!("secret-{at:02}")).collect();
        awaited.set(&key("a"), named(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        let (mut seen, mut last) = (BTreeSet::new(), None);
        for _ in 0..3 {
            let next = awaited.after(last.as_ref());
            assert_eq!(next.len(), AT_A_TIME);
            last = next.last().cloned();
            seen.extend(next);
        }
        assert_eq!(seen.len(), 50);
    }
}
