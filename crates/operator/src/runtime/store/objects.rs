//! The objects of a store and its subscribers, without a cluster.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use super::{Change, Changes, Key};

#[derive(Default)]
pub(super) struct Objects {
    by_key: BTreeMap<Key, Arc<Value>>,
    by_uid: HashMap<String, Key>,
    /// The highest version that the watch or a list has delivered; an object that is older and not here is gone.
    latest: u64,
    subscribers: Vec<mpsc::UnboundedSender<Change>>,
}

impl Objects {
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.by_key.get(key).cloned()
    }

    pub(super) fn by_uid(&self, uid: &str) -> Option<Arc<Value>> {
        self.by_uid.get(uid).and_then(|key| self.get(key))
    }

    pub(super) fn all(&self) -> Vec<Arc<Value>> {
        self.by_key.values().cloned().collect()
    }

    pub(super) fn subscribe(&mut self) -> Changes {
        let (sender, changes) = mpsc::unbounded_channel();
        for (key, object) in &self.by_key {
            let change = Change { key: key.clone(), before: None, after: Some(Arc::clone(object)) };
            // The receiver still exists.
            let _sent = sender.send(change);
        }
        self.subscribers.push(sender);
        changes
    }

    /// An object was added or modified. Nothing changes if it is known in this version or a later one.
    pub(super) fn set(&mut self, object: Value) {
        self.latest = self.latest.max(number(&object).unwrap_or_default());
        self.put(object, is_as_new);
    }

    /// The response to a write, which may come before or after the watch event for it.
    pub(super) fn record_write(&mut self, object: Value) {
        let is_late = number(&object).is_some_and(|version| version <= self.latest);
        if is_late && !self.by_key.contains_key(&Key::of(&object)) {
            return;
        }
        self.put(object, is_as_new);
    }

    fn put(&mut self, object: Value, is_known: fn(&Value, &Value) -> bool) {
        let key = Key::of(&object);
        let known = self.by_key.get(&key);
        if known.is_some_and(|known| is_known(known, &object)) {
            return;
        }
        if known.is_some_and(|known| uid(known) != uid(&object)) {
            self.remove(&key);
        }
        if let Some(uid) = uid(&object) {
            self.by_uid.insert(uid.to_owned(), key.clone());
        }
        let after = Arc::new(object);
        let before = self.by_key.insert(key.clone(), Arc::clone(&after));
        self.notify(&Change { key, before, after: Some(after) });
    }

    /// An object was deleted; `object` is its last version. One that took its name since, known from a write, stays.
    pub(super) fn deleted(&mut self, object: &Value) {
        let key = Key::of(object);
        let gone = number(object).unwrap_or(u64::MAX);
        self.latest = self.latest.max(number(object).unwrap_or_default());
        let is_older = |known: &Arc<Value>| number(known).is_none_or(|known| known <= gone);
        if self.by_key.get(&key).is_none_or(is_older) {
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &Key) {
        let Some(before) = self.by_key.remove(key) else { return };
        if let Some(uid) = uid(&before) {
            self.by_uid.remove(uid);
        }
        self.notify(&Change { key: key.clone(), before: Some(before), after: None });
    }

    /// These are all objects, as of version `at`. Subscribers see the differences, deletions first. Objects written after
    /// `at` are not in the list, and stay.
    pub(super) fn replace(&mut self, objects: Vec<Value>, at: Option<u64>) {
        let present: std::collections::HashSet<Key> = objects.iter().map(Key::of).collect();
        // After a restore from a backup the server counts from an earlier version: nothing known is newer then.
        let is_restored = at.is_some_and(|at| at < self.latest);
        let is_newer = |object: &Value| {
            !is_restored && at.is_some_and(|at| number(object).is_some_and(|version| version > at))
        };
        let gone = self.by_key.iter().filter(|(key, object)| !present.contains(*key) && !is_newer(object));
        let gone: Vec<Key> = gone.map(|(key, _)| key.clone()).collect();
        self.latest = at.unwrap_or(self.latest);
        for key in gone {
            self.remove(&key);
        }
        for object in objects {
            self.put(object, if is_restored { is_the_same } else { is_as_new });
        }
    }

    fn notify(&mut self, change: &Change) {
        self.subscribers.retain(|subscriber| subscriber.send(change.clone()).is_ok());
    }
}

/// Whether `known` is at least as new as `object`. Versions of one kind are growing numbers; where they are not numbers,
/// only equality counts.
fn is_as_new(known: &Value, object: &Value) -> bool {
    match (number(known), number(object)) {
        (Some(known), Some(object)) => known >= object,
        _ => is_the_same(known, object),
    }
}

fn is_the_same(known: &Value, object: &Value) -> bool {
    version(known).is_some() && version(known) == version(object)
}

fn number(object: &Value) -> Option<u64> {
    version(object)?.parse().ok()
}

fn version(object: &Value) -> Option<&str> {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str)
}

pub(in crate::runtime) fn uid(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid").and_then(Value::as_str)
}

#[cfg(test)]
mod tests;
