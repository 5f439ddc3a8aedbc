use serde_json::json;

use super::*;

fn object(name: &str, uid: &str, version: &str) -> Value {
    json!({ "metadata": { "namespace": "shop", "name": name, "uid": uid, "resourceVersion": version } })
}

fn listed(objects: &[Value]) -> Vec<Listed> {
    objects.iter().map(Listed::new).collect()
}

fn key(name: &str) -> Key {
    Key { namespace: Some("shop".to_owned()), name: name.to_owned() }
}

/// The changes a subscriber sees of `happening`, after objects `a` and `b` of version 1.
fn check(happening: impl FnOnce(&mut Objects), expected: &[&str]) -> Objects {
    let mut objects = Objects::default();
    objects.set(&object("a", "ua", "1"));
    objects.set(&object("b", "ub", "1"));
    let mut changes = objects.subscribe();
    happening(&mut objects);
    let shown = |change: Change| {
        let version = |object: Option<Arc<Value>>| {
            object.map_or("-".to_owned(), |object| version(&object).unwrap().to_owned())
        };
        format!("{} {} {}", change.key.name, version(change.before), version(change.after))
    };
    let seen: Vec<String> = std::iter::from_fn(|| changes.try_recv()).map(shown).collect();
    assert_eq!(&seen[..2], ["a - 1", "b - 1"], "existing objects come first");
    assert_eq!(&seen[2..], expected);
    objects
}

#[test]
fn a_change_has_the_object_before_and_after() {
    check(|objects| objects.set(&object("a", "ua", "2")), &["a 1 2"]);
    check(|objects| objects.set(&object("c", "uc", "7")), &["c - 7"]);
    check(|objects| objects.deleted(&object("a", "ua", "2")), &["a 1 -"]);
}

#[test]
fn a_known_version_is_not_a_change() {
    check(|objects| objects.set(&object("a", "ua", "1")), &[]);
    check(|objects| objects.deleted(&object("c", "uc", "2")), &[]);
    check(|objects| objects.replace(listed(&[object("a", "ua", "1"), object("b", "ub", "1")]), Some(1)), &[]);
    check(|objects| objects.set(&object("a", "ua", "0")), &[]);
}

#[test]
fn a_new_list_changes_only_what_differs() {
    let list = vec![object("b", "ub", "5"), object("c", "uc", "4")];
    let objects = check(|objects| objects.replace(listed(&list), Some(5)), &["a 1 -", "b 1 5", "c - 4"]);
    assert_eq!(objects.all().len(), 2);
}

#[test]
fn an_object_that_took_the_name_of_another_is_two_changes() {
    let objects = check(|objects| objects.set(&object("a", "other", "9")), &["a 1 -", "a - 9"]);
    assert!(objects.by_uid("ua").is_none());
    assert_eq!(objects.by_uid("other").unwrap().version(), Some("9"));
    assert_eq!(objects.get(&key("a")).unwrap().version(), Some("9"));
}

#[test]
fn a_write_is_one_change_whether_its_response_or_the_watch_comes_first() {
    let response = || object("a", "ua", "5");
    let before = |objects: &mut Objects| {
        objects.record_write(&response());
        objects.set(&object("a", "ua", "4"));
        objects.set(&response());
    };
    check(before, &["a 1 5"]);
    let after = |objects: &mut Objects| {
        objects.set(&object("a", "ua", "6"));
        objects.record_write(&response());
    };
    check(after, &["a 1 6"]);
}

#[test]
fn a_late_response_does_not_bring_a_deleted_object_back() {
    let after = |objects: &mut Objects| {
        objects.deleted(&object("a", "ua", "7"));
        objects.record_write(&object("a", "ua", "6"));
    };
    check(after, &["a 1 -"]);
    let before = |objects: &mut Objects| {
        objects.record_write(&object("c", "uc", "6"));
        objects.deleted(&object("c", "uc", "7"));
    };
    check(before, &["c - 6", "c 6 -"]);
}

/// The answer to the write that removes the last finalizer has the version from before, and so have events on their way.
#[test]
fn an_object_is_gone_with_its_last_finalizer() {
    let held = |version: &str, finalizers: Value| {
        let mut held = object("a", "ua", version);
        held["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        held["metadata"]["finalizers"] = finalizers;
        held
    };
    let released = |objects: &mut Objects| {
        objects.set(&held("5", json!(["ours"])));
        objects.record_write(&held("5", Value::Null));
        objects.set(&held("6", json!(["ours"])));
        objects.deleted(&held("7", Value::Null));
        objects.set(&object("a", "other", "8"));
    };
    check(released, &["a 1 5", "a 5 -", "a - 8"]);
    let kept = |objects: &mut Objects| objects.record_write(&held("5", json!(["theirs"])));
    check(kept, &["a 1 5"]);
    let graceful = |objects: &mut Objects| {
        let mut pod = held("5", Value::Null);
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        objects.record_write(&pod);
    };
    check(graceful, &["a 1 5"]);
}

#[test]
fn an_older_list_does_not_remove_what_was_written_since() {
    let list = || vec![object("a", "ua", "1"), object("b", "ub", "1")];
    let meanwhile = |objects: &mut Objects| {
        objects.begin_list();
        objects.record_write(&object("c", "uc", "6"));
        objects.replace(listed(&list()), Some(5));
    };
    check(meanwhile, &["c - 6"]);
    let later = |objects: &mut Objects| {
        objects.begin_list();
        objects.record_write(&object("c", "uc", "6"));
        objects.replace(listed(&list()), Some(9));
    };
    check(later, &["c - 6", "c 6 -"]);
    let changed = |objects: &mut Objects| {
        objects.begin_list();
        objects.record_write(&object("a", "ua", "6"));
        objects.replace(listed(&list()), Some(5));
    };
    check(changed, &["a 1 6"]);
}

#[test]
fn a_server_that_was_restored_from_a_backup_is_followed() {
    let restored = |objects: &mut Objects| {
        objects.set(&object("a", "ua", "8"));
        objects.replace(listed(&[object("a", "ua", "2"), object("b", "ub", "1")]), Some(3));
        objects.set(&object("b", "ub", "4"));
    };
    check(restored, &["a 1 8", "a 8 2", "b 1 4"]);
    // What the operator wrote last had not come back through the watch.
    let written = |objects: &mut Objects| {
        objects.record_write(&object("a", "ua", "8"));
        objects.record_write(&object("c", "uc", "9"));
        objects.begin_list();
        objects.replace(listed(&[object("a", "ua", "2"), object("b", "ub", "1")]), Some(3));
        objects.set(&object("a", "ua", "4"));
    };
    check(written, &["a 1 8", "c - 9", "c 9 -", "a 8 2", "a 2 4"]);
    // The server has counted up to the same version again.
    let other = json!({ "metadata": object("a", "ua", "1")["metadata"], "spec": {} });
    let counted_again = |objects: &mut Objects| {
        objects.begin_list();
        objects.replace(listed(&[other, object("b", "ub", "1")]), Some(3));
    };
    check(counted_again, &["a 1 1"]);
    // An object that is created from then on is not taken for one that has gone since.
    let created = |objects: &mut Objects| {
        objects.set(&object("a", "ua", "8"));
        objects.replace(listed(&[object("a", "ua", "2"), object("b", "ub", "1")]), Some(3));
        objects.record_write(&object("c", "uc", "5"));
    };
    check(created, &["a 1 8", "a 8 2", "c - 5"]);
}

#[test]
fn a_dropped_subscriber_is_removed() {
    let mut objects = Objects::default();
    drop(objects.subscribe());
    objects.set(&object("a", "ua", "1"));
    assert!(objects.subscribers.is_empty());
}
