//! The rules for null, unknown and values, all of them.

use serde_json::json;

use super::*;
use crate::{Cut, Written, WrittenWait};

fn field_wait() -> Wait {
    let written = WrittenWait { field: Written::Known("status.ip".to_owned()), ..Default::default() };
    written.parse(None, Cut::Status).wait.unwrap()
}

fn rollout_wait() -> Wait {
    let written = WrittenWait { rollout: Written::Known(true), ..Default::default() };
    written.parse(None, Cut::Status).wait.unwrap()
}

#[test]
fn every_situation_has_one_planned_value() {
    let value = || json!({"ip": "10.0.0.1"});
    let check = |tracked: Tracked, changes, owed, expected: Planned| {
        let situation = Situation { tracked, changes, owed };
        assert_eq!(situation.clone().planned(), expected, "{situation:?}");
    };
    for changes in [false, true] {
        check(Tracked::Not, changes, false, Planned::Null);
        check(Tracked::Absent, changes, false, Planned::Unknown);
        for tracked in [Tracked::Not, Tracked::Absent, Tracked::Present(value())] {
            check(tracked, changes, true, Planned::Unknown);
        }
    }
    check(Tracked::Present(value()), false, false, Planned::Value(value()));
    check(Tracked::Present(value()), true, false, Planned::Unknown);
}

#[test]
fn a_state_says_whether_a_tracked_value_is_there() {
    let wait = field_wait();
    assert_eq!(Tracked::in_state(None, None), Tracked::Not);
    assert_eq!(Tracked::in_state(Some(&rollout_wait()), Some(json!(1))), Tracked::Not);
    assert_eq!(Tracked::in_state(Some(&wait), None), Tracked::Absent);
    assert_eq!(Tracked::in_state(Some(&wait), Some(Value::Null)), Tracked::Absent);
    assert_eq!(Tracked::in_state(Some(&wait), Some(json!(1))), Tracked::Present(json!(1)));
}

#[test]
fn an_unfinished_wait_is_a_warning_after_a_create_and_an_error_after_an_update() {
    let value = Some(json!({"ip": "10.0.0.1"}));
    let finished = Applied::finished(value.clone());
    assert_eq!(finished, Applied { value, owed: false, report: Report::Nothing });
    assert_eq!(Applied::without_wait(), Applied { value: None, owed: false, report: Report::Nothing });
    let create = Applied::unfinished(During::Create);
    assert_eq!(create, Applied { value: None, owed: true, report: Report::Warning });
    let update = Applied::unfinished(During::Update);
    assert_eq!(update, Applied { value: None, owed: true, report: Report::Error });
}

#[test]
fn a_refresh_fills_in_what_has_appeared_and_drops_what_has_vanished() {
    let wait = field_wait();
    let there = json!({"status": {"ip": "10.0.0.1", "other": 1}});
    let appeared = Refreshed { value: Some(json!({"ip": "10.0.0.1"})), owed: false };
    assert_eq!(Refreshed::new(&wait, &there, true), appeared);
    assert_eq!(Refreshed::new(&wait, &there, false), appeared);
    assert_eq!(Refreshed::new(&wait, &json!({"status": {}}), false), Refreshed { value: None, owed: false });
    assert_eq!(Refreshed::new(&wait, &json!({}), true), Refreshed { value: None, owed: true });
}

#[test]
fn a_refresh_settles_a_debt_of_any_mode() {
    let ready = |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
    assert_eq!(Refreshed::new(&rollout_wait(), &ready("False"), true), Refreshed { value: None, owed: true });
    assert_eq!(Refreshed::new(&rollout_wait(), &ready("True"), true), Refreshed { value: None, owed: false });
}
