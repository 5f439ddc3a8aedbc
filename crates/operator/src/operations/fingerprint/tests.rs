use super::*;
use serde_json::json;

#[test]
fn what_users_change_calls_for_a_reconcile_and_what_we_write_does_not() {
    let base = json!({
        "metadata": {
            "name": "orders", "uid": "u1", "generation": 1, "resourceVersion": "1",
            "annotations": {"plimsoll.dev/paused": "true", "other": "x"},
        },
        "spec": {"displayName": "orders"},
    });
    let check = |change: Value, is_news: bool| {
        let mut changed = base.clone();
        merge(&mut changed, &change);
        assert_eq!(Fingerprint::of(&changed) != Fingerprint::of(&base), is_news, "{change}");
        let (whole, is_held) = (Fingerprint::of(&changed), has_finalizer(&changed));
        keep_identity(&mut changed);
        assert_eq!((Fingerprint::of(&changed), has_finalizer(&changed)), (whole, is_held), "{change}");
        let status = changed.get("status").and_then(|status| status.get("status"));
        assert_eq!(changed.get("spec").or(status), None);
    };
    check(json!({"status": {"status": {"message": "m"}}, "metadata": {"resourceVersion": "2"}}), false);
    check(json!({"metadata": {"finalizers": [FINALIZER], "managedFields": []}}), false);
    check(json!({"metadata": {"annotations": {"other": "y"}, "labels": {"a": "b"}}}), false);
    check(json!({"metadata": {"generation": 2}}), true);
    check(json!({"metadata": {"uid": "u2"}}), true);
    check(json!({"metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z"}}), true);
    check(json!({"metadata": {"annotations": {"plimsoll.dev/paused": "false"}}}), true);
    check(json!({"metadata": {"annotations": {"plimsoll.dev/reconcile-requested-at": "now"}}}), true);
}

#[test]
fn what_was_taken_up_already_is_not_urgent_after_a_restart() {
    let check = |object: Value, expected: bool| {
        let mut trimmed = object.clone();
        keep_identity(&mut trimmed);
        assert_eq!((is_observed(&object), is_observed(&trimmed)), (expected, expected), "{object}");
    };
    check(json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 2}}), true);
    check(json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1}}), false);
    check(json!({"metadata": {"generation": 2}, "status": {"message": "m"}}), false);
    check(json!({"metadata": {}}), false);
    let deleting = json!({"generation": 2, "deletionTimestamp": "2026-01-02T03:04:05Z"});
    check(json!({"metadata": deleting, "status": {"observedGeneration": 2}}), false);
}

fn merge(target: &mut Value, change: &Value) {
    match (target, change) {
        (Value::Object(target), Value::Object(change)) => {
            for (name, value) in change {
                merge(target.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (target, change) => *target = change.clone(),
    }
}
