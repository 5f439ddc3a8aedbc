//! The objects of a store and its subscribers, without a cluster.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use super::packed::Packed;
use super::{Change, Changes, Key};

#[derive(Default)]
pub(super) struct Objects {
    by_key: BTreeMap<Key, Packed>,
    by_uid: HashMap<String, Key>,
    /// The highest version that the watch or a list has delivered; an object that is older and not here is gone.
    latest: u64,
    /// The uids of objects that are gone by our own write, until the watch says so too. It may still deliver versions from
    /// before.
    released: HashSet<String>,
    /// What was written since the list that is under way began, and may be newer than the list.
    written: Option<HashSet<Key>>,
    subscribers: Vec<mpsc::UnboundedSender<PackedChange>>,
}

/// A change on its way to a subscriber.
#[derive(Clone)]
pub(super) struct PackedChange {
    key: Key,
    before: Option<Packed>,
    after: Option<Packed>,
}

/// An object of a list, packed as soon as it is read: a list of thousands of objects need not exist as trees.
pub(super) struct Listed {
    key: Key,
    object: Packed,
}

impl Listed {
    pub(super) fn new(object: &Value) -> Self {
        Self { key: Key::of(object), object: Packed::new(object) }
    }
}

impl PackedChange {
    pub(super) fn unpack(self) -> Change {
        let Self { key, before, after } = self;
        let unpack = |object: Option<Packed>| object.map(|object| Arc::new(object.unpack()));
        Change { key, before: unpack(before), after: unpack(after) }
    }
}

impl Objects {
    pub(super) fn get(&self, key: &Key) -> Option<Packed> {
        self.by_key.get(key).cloned()
    }

    pub(super) fn by_uid(&self, uid: &str) -> Option<Packed> {
        self.by_uid.get(uid).and_then(|key| self.get(key))
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        self.by_key.keys().cloned().collect()
    }

    pub(super) fn all(&self) -> Vec<Packed> {
        self.by_key.values().cloned().collect()
    }

    pub(super) fn size(&self) -> usize {
        self.by_key.values().map(Packed::size).sum()
    }

    pub(super) fn subscribe(&mut self) -> Changes {
        let (sender, changes) = mpsc::unbounded_channel();
        for (key, object) in &self.by_key {
            let change = PackedChange { key: key.clone(), before: None, after: Some(object.clone()) };
            // The receiver still exists.
            let _sent = sender.send(change);
        }
        self.subscribers.push(sender);
        Changes(changes)
    }

    /// An object was added or modified. Nothing changes if it is known in this version or a later one.
    pub(super) fn set(&mut self, object: &Value) {
        self.latest = self.latest.max(number(object).unwrap_or_default());
        self.put(Listed::new(object), is_as_new);
    }

    /// The response to a write, which may come before or after the watch event for it.
    pub(super) fn record_write(&mut self, object: &Value) {
        let (key, is_late) = (Key::of(object), number(object).is_some_and(|version| version <= self.latest));
        if let Some(written) = &mut self.written {
            written.insert(key.clone());
        }
        let Some(known) = self.by_key.get(&key) else {
            if !is_late && !is_released(object) {
                self.put(Listed::new(object), is_as_new);
            }
            return;
        };
        if is_released(object) && known.uid() == uid(object) {
            self.released.extend(uid(object).map(str::to_owned));
            self.remove(&key);
        } else {
            self.put(Listed::new(object), is_as_new);
        }
    }

    /// A list is asked for.
    pub(super) fn begin_list(&mut self) {
        self.written = Some(HashSet::new());
    }

    fn put(&mut self, Listed { key, object: after }: Listed, is_known: fn(&Packed, &Packed) -> bool) {
        if after.uid().is_some_and(|uid| self.released.contains(uid)) {
            return;
        }
        let known = self.by_key.get(&key);
        if known.is_some_and(|known| is_known(known, &after)) {
            return;
        }
        if known.is_some_and(|known| known.uid() != after.uid()) {
            self.remove(&key);
        }
        if let Some(uid) = after.uid() {
            self.by_uid.insert(uid.to_owned(), key.clone());
        }
        let before = self.by_key.insert(key.clone(), after.clone());
        self.notify(&PackedChange { key, before, after: Some(after) });
    }

    /// An object was deleted; `object` is its last version. One that took its name since, known from a write, stays.
    pub(super) fn deleted(&mut self, object: &Value) {
        let key = Key::of(object);
        let gone = number(object).unwrap_or(u64::MAX);
        self.latest = self.latest.max(number(object).unwrap_or_default());
        if let Some(uid) = uid(object) {
            self.released.remove(uid);
        }
        let is_older = |known: &Packed| known.number().is_none_or(|known| known <= gone);
        if self.by_key.get(&key).is_none_or(is_older) {
            self.remove(&key);
        }
    }

    /// An object no longer belongs here, as a response says before the watch does.
    pub(super) fn left(&mut self, object: &Value) {
        let key = Key::of(object);
        if self.by_key.get(&key).is_some_and(|known| known.uid() == uid(object)) {
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &Key) {
        let Some(before) = self.by_key.remove(key) else { return };
        if let Some(uid) = before.uid() {
            self.by_uid.remove(uid);
        }
        self.notify(&PackedChange { key: key.clone(), before: Some(before), after: None });
    }

    /// These are all objects, as of version `at`. Subscribers see the differences, deletions first. Objects written since
    /// the list began may be newer, and stay. A list has everything that was written before it began, unless the server was
    /// restored from a backup: then that was undone, whatever its version, and another write may have got the same version.
    pub(super) fn replace(&mut self, objects: Vec<Listed>, at: Option<u64>) {
        let present: HashSet<&Key> = objects.iter().map(|listed| &listed.key).collect();
        let written = self.written.take().unwrap_or_default();
        let is_newer = |key: &Key, known: &Packed| {
            written.contains(key) && at.is_some_and(|at| known.number().is_some_and(|version| version > at))
        };
        let gone =
            self.by_key.iter().filter(|(key, object)| !present.contains(key) && !is_newer(key, object));
        let gone: Vec<Key> = gone.map(|(key, _)| key.clone()).collect();
        self.latest = at.unwrap_or(self.latest);
        // The list says what is there; one from before the release is repeated when the watch has expired again.
        self.released.clear();
        for key in gone {
            self.remove(&key);
        }
        for object in objects {
            let newer = self.by_key.get(&object.key).is_some_and(|known| is_newer(&object.key, known));
            self.put(object, if newer { is_as_new } else { Packed::has_content_of });
        }
    }

    fn notify(&mut self, change: &PackedChange) {
        self.subscribers.retain(|subscriber| subscriber.send(change.clone()).is_ok());
    }
}

/// Whether this is the answer to the write that removed the last finalizer of an object under deletion: the API server
/// has removed the object with it.
fn is_released(object: &Value) -> bool {
    let metadata = &object["metadata"];
    metadata["deletionTimestamp"].is_string()
        && metadata["finalizers"].as_array().is_none_or(Vec::is_empty)
        && metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or_default() == 0
}

/// Whether `known` is at least as new as `object`. Versions of one kind are growing numbers; where they are not numbers,
/// only equality counts.
fn is_as_new(known: &Packed, object: &Packed) -> bool {
    match (known.number(), object.number()) {
        (Some(known), Some(object)) => known >= object,
        _ => is_the_same(known, object),
    }
}

fn is_the_same(known: &Packed, object: &Packed) -> bool {
    known.version().is_some() && known.version() == object.version()
}

fn number(object: &Value) -> Option<u64> {
    version(object)?.parse().ok()
}

pub(super) fn version(object: &Value) -> Option<&str> {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str)
}

pub(in crate::runtime) fn uid(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid").and_then(Value::as_str)
}

#[cfg(test)]
mod tests;
