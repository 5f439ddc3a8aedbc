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
    /// The highest version that was told of; whatever is older and not here has gone.
    told: u64,
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

    /// An object is new or has changed. One that is known in this very version, or in a later one, is no news.
    pub(super) fn set(&mut self, object: Value) {
        self.told = self.told.max(number(&object).unwrap_or_default());
        self.put(object, is_as_new);
    }

    /// The answer to a write, which may come before or after the watch tells of it.
    pub(super) fn learn(&mut self, object: Value) {
        let is_over = number(&object).is_some_and(|version| version <= self.told);
        if is_over && !self.by_key.contains_key(&Key::of(&object)) {
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
        self.tell(&Change { key, before, after: Some(after) });
    }

    /// An object has gone, as it was last. One that took its name since, as an answer has told, stays.
    pub(super) fn deleted(&mut self, object: &Value) {
        let key = Key::of(object);
        let gone = number(object).unwrap_or(u64::MAX);
        self.told = self.told.max(number(object).unwrap_or_default());
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
        self.tell(&Change { key: key.clone(), before: Some(before), after: None });
    }

    /// These are all objects, as of version `at`; only what differs is news, and first of all what has gone. What an answer
    /// has told of since is not among them, and stays.
    pub(super) fn replace(&mut self, objects: Vec<Value>, at: Option<u64>) {
        let present: std::collections::HashSet<Key> = objects.iter().map(Key::of).collect();
        // A server that was restored from a backup counts from an earlier version on: nothing known is newer then.
        let is_restored = at.is_some_and(|at| at < self.told);
        let is_newer = |object: &Value| {
            !is_restored && at.is_some_and(|at| number(object).is_some_and(|version| version > at))
        };
        let gone = self.by_key.iter().filter(|(key, object)| !present.contains(*key) && !is_newer(object));
        let gone: Vec<Key> = gone.map(|(key, _)| key.clone()).collect();
        self.told = at.unwrap_or(self.told);
        for key in gone {
            self.remove(&key);
        }
        for object in objects {
            self.put(object, if is_restored { is_the_same } else { is_as_new });
        }
    }

    fn tell(&mut self, change: &Change) {
        self.subscribers.retain(|subscriber| subscriber.send(change.clone()).is_ok());
    }
}

/// Whether `known` is at least as new as `object`. Versions of one kind are numbers that grow; should they not be numbers,
/// only the same one is known.
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
        check(|objects| objects.deleted(&object("a", "ua", "2")), &["a 1 -"]);
    }

    #[test]
    fn what_is_known_already_is_no_news() {
        check(|objects| objects.set(object("a", "ua", "1")), &[]);
        check(|objects| objects.deleted(&object("c", "uc", "2")), &[]);
        check(|objects| objects.replace(vec![object("a", "ua", "1"), object("b", "ub", "1")], Some(1)), &[]);
        check(|objects| objects.set(object("a", "ua", "0")), &[]);
    }

    #[test]
    fn reading_everything_anew_tells_only_what_differs() {
        let anew = vec![object("b", "ub", "5"), object("c", "uc", "4")];
        let objects = check(|objects| objects.replace(anew, Some(5)), &["a 1 -", "b 1 5", "c - 4"]);
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
    fn an_answer_is_news_once_whether_it_comes_before_the_watch_or_after() {
        let answer = || object("a", "ua", "5");
        let before = |objects: &mut Objects| {
            objects.learn(answer());
            objects.set(object("a", "ua", "4"));
            objects.set(answer());
        };
        check(before, &["a 1 5"]);
        let after = |objects: &mut Objects| {
            objects.set(object("a", "ua", "6"));
            objects.learn(answer());
        };
        check(after, &["a 1 6"]);
    }

    #[test]
    fn an_answer_about_what_has_gone_since_brings_nothing_back() {
        let after = |objects: &mut Objects| {
            objects.deleted(&object("a", "ua", "7"));
            objects.learn(object("a", "ua", "6"));
        };
        check(after, &["a 1 -"]);
        let before = |objects: &mut Objects| {
            objects.learn(object("c", "uc", "6"));
            objects.deleted(&object("c", "uc", "7"));
        };
        check(before, &["c - 6", "c 6 -"]);
    }

    #[test]
    fn an_older_list_does_not_take_away_what_an_answer_told_of() {
        let list = || vec![object("a", "ua", "1"), object("b", "ub", "1")];
        let meanwhile = |objects: &mut Objects| {
            objects.learn(object("c", "uc", "6"));
            objects.replace(list(), Some(5));
        };
        check(meanwhile, &["c - 6"]);
        let later = |objects: &mut Objects| {
            objects.learn(object("c", "uc", "6"));
            objects.replace(list(), Some(9));
        };
        check(later, &["c - 6", "c 6 -"]);
    }

    #[test]
    fn a_server_that_was_restored_from_a_backup_is_believed() {
        let restored = |objects: &mut Objects| {
            objects.set(object("a", "ua", "8"));
            objects.replace(vec![object("a", "ua", "2"), object("b", "ub", "1")], Some(3));
            objects.set(object("b", "ub", "4"));
        };
        check(restored, &["a 1 8", "a 8 2", "b 1 4"]);
    }

    #[test]
    fn whoever_stops_listening_is_not_told_any_more() {
        let mut objects = Objects::default();
        drop(objects.subscribe());
        objects.set(object("a", "ua", "1"));
        assert!(objects.subscribers.is_empty());
    }
}
