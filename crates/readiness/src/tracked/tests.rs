use serde_json::json;

use super::*;
use crate::{Cut, WrittenWait};

fn wait(text: &str) -> Wait {
    text.parse::<WrittenWait>().unwrap().parse(None, Cut::Status).wait.unwrap()
}

#[test]
fn a_plan_is_null_unless_a_field_is_tracked_and_unknown_until_it_is_there() {
    let (field, rollout) = (wait("field=status.ip"), wait("rollout"));
    let check = |wait: Option<&Wait>, has_value, changes, owed, expected: Planned| {
        let planned = Planned::new(wait, has_value, changes, owed);
        assert_eq!(planned, expected, "{wait:?} {has_value} {changes} {owed}");
    };
    for changes in [false, true] {
        for wait in [None, Some(&rollout)] {
            check(wait, false, changes, false, Planned::Null);
            check(wait, true, changes, false, Planned::Null);
        }
        check(Some(&field), false, changes, false, Planned::Unknown);
        for has_value in [false, true] {
            check(Some(&field), has_value, changes, true, Planned::Unknown);
            check(Some(&rollout), has_value, changes, true, Planned::Unknown);
        }
    }
    check(Some(&field), true, false, false, Planned::Prior);
    check(Some(&field), true, true, false, Planned::Unknown);
}

#[test]
fn an_unfinished_wait_is_a_warning_after_a_create_and_an_error_after_an_update() {
    assert_eq!(During::Create.unfinished(), Severity::Warning);
    assert_eq!(During::Update.unfinished(), Severity::Error);
}

#[test]
fn a_refresh_fills_in_what_has_appeared_and_drops_what_has_vanished() {
    let check = |object: Value, owed: bool, value: Option<Value>, still_owed: bool| {
        let refreshed = Kept::refreshed(&wait("field=status.ip"), &object, owed);
        assert_eq!((refreshed.value, refreshed.owed), (value, still_owed), "{object}");
    };
    let ip = Some(json!({"ip": "10.0.0.1"}));
    check(json!({"status": {"ip": "10.0.0.1", "other": 1}}), true, ip.clone(), false);
    check(json!({"status": {"ip": "10.0.0.1", "other": 1}}), false, ip.clone(), false);
    check(json!({"status": {}}), false, None, false);
    check(json!({}), true, None, true);
    // A refresh reports what stands, but a value of an earlier generation settles nothing.
    let stale = json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1, "ip": "10.0.0.1"}});
    check(stale.clone(), false, ip.clone(), false);
    check(stale, true, ip, true);
}

#[test]
fn a_refresh_settles_what_is_owed_in_any_mode() {
    let owed = |object: Value| Kept::refreshed(&wait("rollout"), &object, true).owed;
    let ready = |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
    assert!(owed(ready("False")));
    assert!(!owed(ready("True")));
    assert!(
        owed(json!({"apiVersion": "example.com/v1", "kind": "Widget"})),
        "an empty status settles nothing"
    );
}

#[test]
fn no_value_appears_in_debug_output() {
    let value = json!({ "data": { "password": "aHVudGVyMg==" } });
    let shown = [format!("{:?}", Check::Met(Some(value.clone()))), format!("{:?}", Kept::met(Some(value)))];
    for shown in shown {
        assert!(!shown.contains("aHVudGVyMg"), "{shown}");
    }
    let early = Check::<()>::NotYet("it is early".to_owned());
    assert_eq!(format!("{early:?}"), "NotYet(\"it is early\")");
}
