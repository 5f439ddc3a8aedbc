//! The objects of a store and those who hear of their changes, without a cluster.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use super::{Change, Changes, Key};

/// The objects as they were last seen.
#[derive(Default)]
pub(super) struct Objects {
    by_key: BTreeMap<Key, Arc<Value>>,
    by_uid: HashMap<String, Key>,
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

    /// All changes from now on, after what is there already.
    pub(super) fn subscribe(&mut self) -> Changes {
        let (sender, changes) = mpsc::unbounded_channel();
        for (key, object) in &self.by_key {
            let change = Change { key: key.clone(), before: None, after: Some(Arc::clone(object)) };
            // The receiver is still in our hands.
            let _sent = sender.send(change);
        }
        self.subscribers.push(sender);
        changes
    }

    /// An object is new or has changed. One that is known in this very version is no news.
    pub(super) fn set(&mut self, object: Value) {
        let key = Key::of(&object);
        let known = self.by_key.get(&key);
        if known.is_some_and(|known| version(known).is_some() && version(known) == version(&object)) {
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
        self.tell(&Change { key, before, after: Some(after) });
    }

    /// An object has gone.
    pub(super) fn remove(&mut self, key: &Key) {
        let Some(before) = self.by_key.remove(key) else { return };
        if let Some(uid) = uid(&before) {
            self.by_uid.remove(uid);
        }
        self.tell(&Change { key: key.clone(), before: Some(before), after: None });
    }

    /// These are all objects; only what differs is news, and first of all what has gone.
    pub(super) fn replace(&mut self, objects: Vec<Value>) {
        let present: std::collections::HashSet<Key> = objects.iter().map(Key::of).collect();
        let gone: Vec<Key> = self.by_key.keys().filter(|key| !present.contains(key)).cloned().collect();
        for key in gone {
            self.remove(&key);
        }
        for object in objects {
            self.set(object);
        }
    }

    fn tell(&mut self, change: &Change) {
        self.subscribers.retain(|subscriber| subscriber.send(change.clone()).is_ok());
    }
}

fn version(object: &Value) -> Option<&str> {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str)
}

fn uid(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, uid: &str, version: &str) -> Value {
        json!({ "metadata": { "namespace": "shop", "name": name, "uid": uid, "resourceVersion": version } })
    }

    fn key(name: &str) -> Key {
        Key { namespace: Some("shop".to_owned()), name: name.to_owned() }
    }

    /// What a subscriber hears of `happening`, after objects `a` and `b` of version 1.
    fn check(happening: impl FnOnce(&mut Objects), expected: &[&str]) -> Objects {
        let mut objects = Objects::default();
        objects.set(object("a", "ua", "1"));
        objects.set(object("b", "ub", "1"));
        let mut changes = objects.subscribe();
        happening(&mut objects);
        let shown = |change: Change| {
            let version = |object: Option<Arc<Value>>| {
                object.map_or("-".to_owned(), |object| version(&object).unwrap().to_owned())
            };
            format!("{} {} {}", change.key.name, version(change.before), version(change.after))
        };
        let heard: Vec<String> = std::iter::from_fn(|| changes.try_recv().ok()).map(shown).collect();
        assert_eq!(&heard[..2], ["a - 1", "b - 1"], "what is there comes first");
        assert_eq!(&heard[2..], expected);
        objects
    }

    #[test]
    fn a_change_says_how_the_object_was_and_is() {
        check(|objects| objects.set(object("a", "ua", "2")), &["a 1 2"]);
        check(|objects| objects.set(object("c", "uc", "7")), &["c - 7"]);
        check(|objects| objects.remove(&key("a")), &["a 1 -"]);
    }

    #[test]
    fn what_is_known_already_is_no_news() {
        check(|objects| objects.set(object("a", "ua", "1")), &[]);
        check(|objects| objects.remove(&key("c")), &[]);
        check(|objects| objects.replace(vec![object("a", "ua", "1"), object("b", "ub", "1")]), &[]);
    }

    #[test]
    fn reading_everything_anew_tells_only_what_differs() {
        let anew = vec![object("b", "ub", "5"), object("c", "uc", "4")];
        let objects = check(|objects| objects.replace(anew), &["a 1 -", "b 1 5", "c - 4"]);
        assert_eq!(objects.all().len(), 2);
    }

    #[test]
    fn an_object_that_took_the_name_of_another_is_two_changes() {
        let objects = check(|objects| objects.set(object("a", "other", "9")), &["a 1 -", "a - 9"]);
        assert!(objects.by_uid("ua").is_none());
        assert_eq!(version(&objects.by_uid("other").unwrap()), Some("9"));
        assert_eq!(version(&objects.get(&key("a")).unwrap()), Some("9"));
    }

    #[test]
    fn whoever_stops_listening_is_not_told_any_more() {
        let mut objects = Objects::default();
        drop(objects.subscribe());
        objects.set(object("a", "ua", "1"));
        assert!(objects.subscribers.is_empty());
    }
}
