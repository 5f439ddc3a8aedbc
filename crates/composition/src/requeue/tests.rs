use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::object::object;

fn fingerprint(n: u8) -> Fingerprint {
    Fingerprint([n; 32])
}

#[test]
fn only_content_counts_as_a_change() {
    let base = json!({
        "metadata": {"name": "x", "resourceVersion": "1", "generation": 1, "managedFields": [1]},
        "spec": {"size": 1},
        "status": {"conditions": [{"type": "Ready", "status": "False"}], "field": 1},
    });
    let child = object(json!({"metadata": {"name": "c", "resourceVersion": "1"}, "status": {
        "conditions": [{"type": "Ready", "status": "False"}]}}));
    let before = Fingerprint::of(&object(base.clone()), [ContentHash::of(&child)]);
    let check = |name: &str, changes: bool, change: &dyn Fn(&mut Value)| {
        let mut value = base.clone();
        change(&mut value);
        assert_eq!(Fingerprint::of(&object(value), [ContentHash::of(&child)]) != before, changes, "{name}");
    };
    check("versions", false, &|xr| xr["metadata"]["resourceVersion"] = json!("2"));
    check("generation", false, &|xr| xr["metadata"]["generation"] = json!(2));
    check("managed fields", false, &|xr| xr["metadata"]["managedFields"] = json!([2]));
    check("engine conditions", false, &|xr| xr["status"]["conditions"][0]["status"] = json!("True"));
    check("claim condition types", false, &|xr| xr["status"]["claimConditionTypes"] = json!(["A"]));
    check("the engine's notes", false, &|xr| xr["status"]["crossplane"] = json!({"pipeline": []}));
    check("spec", true, &|xr| xr["spec"]["size"] = json!(2));
    check("labels", true, &|xr| xr["metadata"]["labels"] = json!({"a": "b"}));
    check("status fields", true, &|xr| xr["status"]["field"] = json!(2));
    check("conditions of others", true, &|xr| xr["status"]["conditions"][0]["type"] = json!("Custom"));

    // A child that is itself an XR is ready when its engine says so.
    let mut ready = child.clone();
    ready["status"]["conditions"][0]["status"] = json!("True");
    assert_ne!(Fingerprint::of(&object(base.clone()), [ContentHash::of(&ready)]), before);
    let mut touched = child.clone();
    touched["metadata"]["resourceVersion"] = json!("2");
    assert_eq!(Fingerprint::of(&object(base.clone()), [ContentHash::of(&touched)]), before);
    // An XR without status and one with only the engine's words in it are the same.
    let bare = object(json!({"metadata": {"name": "x"}}));
    let observed = object(json!({"metadata": {"name": "x"}, "status": {"conditions": [{"type": "Synced"}]}}));
    assert_eq!(Fingerprint::of(&bare, []), Fingerprint::of(&observed, []));
}

#[test]
fn a_reconcile_caused_by_our_own_writes_runs_once_and_then_backs_off() {
    let minute = Some(Duration::from_secs(60));
    let seconds = |seconds| Due::After(Duration::from_secs(seconds));
    let mut passes = History::default();
    assert_eq!(passes.due(fingerprint(0), minute, Jitter::default()), Due::Now);
    let mut waits = Vec::new();
    // A function that answers to each of its own answers.
    for n in 0..10 {
        passes.record(fingerprint(n), fingerprint(n + 1));
        assert_eq!(passes.due(fingerprint(n), minute, Jitter::default()), Due::No);
        waits.push(passes.due(fingerprint(n + 1), minute, Jitter::default()));
    }
    let mut expected = vec![Due::Now];
    expected.extend([1, 2, 4, 8, 16, 32, 60, 60, 60].map(seconds));
    assert_eq!(waits, expected);
    let jittered = Due::After(Duration::from_secs(54));
    assert_eq!(passes.due(fingerprint(10), minute, Jitter::new(1.0)), jittered);
    // Another writer's change is answered at once.
    assert_eq!(passes.due(fingerprint(99), minute, Jitter::default()), Due::Now);
    passes.record(fingerprint(99), fingerprint(100));
    assert_eq!(passes.due(fingerprint(100), minute, Jitter::default()), Due::Now);
}

#[test]
fn a_consistent_function_settles_after_one_more_reconcile() {
    let mut passes = History::default();
    passes.record(fingerprint(0), fingerprint(1));
    assert_eq!(passes.due(fingerprint(1), None, Jitter::default()), Due::Now);
    passes.record(fingerprint(1), fingerprint(1));
    assert_eq!(passes.due(fingerprint(1), None, Jitter::default()), Due::No);
}

/// Unlike in Crossplane, the poll interval annotation beats the TTL.
#[test]
fn the_poll_interval_is_the_annotation_else_the_ttl() {
    let check = |annotation: Option<&str>, ttl: Option<u64>, expected: Option<u64>| {
        let xr = object(json!({"metadata": {"annotations": {ANNOTATION_POLL_INTERVAL: annotation}}}));
        let found = interval(&xr, ttl.map(Duration::from_secs), Jitter::default());
        assert_eq!(found, expected.map(Duration::from_secs), "{annotation:?} {ttl:?}");
    };
    check(None, None, None);
    check(None, Some(60), Some(60));
    check(Some("10m"), Some(60), Some(600));
    check(Some("1s"), None, Some(1));
    check(Some("10ms"), Some(60), Some(1));
    check(Some("soon"), Some(60), Some(60));
    check(Some("1h30m"), None, Some(5400));
    check(Some("0s"), Some(60), Some(60));
    check(Some("-1m"), None, None);
    check(None, Some(0), None);
    let xr = Object::new();
    let minute = Some(Duration::from_secs(60));
    assert_eq!(interval(&xr, minute, Jitter::new(1.0)), Some(Duration::from_secs(54)));
}

proptest! {
    #[test]
    fn a_pass_that_changes_nothing_is_not_repeated(seen: u8, echoes in prop::collection::vec(any::<u8>(), 0..6)) {
        let mut passes = History::default();
        for n in echoes {
            passes.record(fingerprint(n), fingerprint(n.wrapping_add(1)));
        }
        passes.record(fingerprint(seen), fingerprint(seen));
        prop_assert_eq!(passes.due(fingerprint(seen), None, Jitter::default()), Due::No);
    }
}
