use super::*;
use crate::object::object;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn database(reason: &str, message: &str, status: ConditionStatus, second: i64) -> Condition {
    Condition::new("DatabaseReady", status, reason, at(second)).message(message)
}

/// A difference in time alone changes nothing; another status, reason or message replaces the condition.
#[test]
fn setting_a_condition_replaces_what_differs() {
    use ConditionStatus::{False, True};
    let check = |name: &str, new: Condition, expected: Condition| {
        let mut conditions: Conditions = [database("Available", "fine", True, 1)].into_iter().collect();
        conditions.set(new);
        assert_eq!(conditions.0, [expected], "{name}");
    };
    let old = database("Available", "fine", True, 1);
    check("identical", database("Available", "fine", True, 9), old.clone());
    check("status", database("Available", "fine", False, 9), database("Available", "fine", False, 9));
    // Crossplane moves the time to 9 in the next two; Kubernetes moves it with the status only.
    check("reason", database("Other", "fine", True, 9), database("Other", "fine", True, 1));
    check("message", database("Available", "good", True, 9), database("Available", "good", True, 1));
    // Compared only when both sides name a generation.
    check("one generation", database("Available", "fine", True, 9).generation(Some(3)), old);
}

#[test]
fn generations_count_when_both_sides_name_one() {
    let old = database("Available", "", ConditionStatus::True, 1).generation(Some(1));
    let mut conditions: Conditions = [old.clone()].into_iter().collect();
    conditions.set(Condition { last_transition_time: at(5), ..old.clone() });
    assert_eq!(conditions.0, std::slice::from_ref(&old));
    conditions.set(database("Available", "", ConditionStatus::True, 5).generation(Some(2)));
    assert_eq!(conditions.0, [old.generation(Some(2))]);
}

/// Crossplane's reserved types, and the two it has reserved since.
#[test]
fn system_types_are_the_engines() {
    for kind in ["Ready", "Synced", "Responsive", "Healthy", "UpToDate"] {
        assert!(is_system(kind), "{kind}");
    }
    for kind in ["DatabaseReady", "BucketReady", "ready", ""] {
        assert!(!is_system(kind), "{kind}");
    }
}

#[test]
fn conditions_survive_a_round_trip() {
    let status = serde_json::json!({"status": {"conditions": [
        {"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-11-15T12:00:00Z"},
        {"type": "Other", "status": "False", "reason": "Why", "message": "m", "observedGeneration": 4,
         "lastTransitionTime": "2026-11-15T12:00:01Z"},
    ]}});
    let object = object(status.clone());
    assert_eq!(Conditions::of(&object).to_value(), status["status"]["conditions"]);
}

#[test]
fn malformed_conditions_are_read_as_far_as_possible() {
    let odd = object(serde_json::json!({"status": {"conditions": [
        "text", {"status": "True"}, {"type": "A", "status": "Maybe"}, {"type": "A", "status": "True"},
    ]}}));
    let conditions = Conditions::of(&odd);
    assert_eq!(conditions.iter().count(), 1);
    assert_eq!(conditions.get("A").unwrap().status, ConditionStatus::Unknown);
    assert!(Conditions::of(&object(serde_json::json!({"status": "text"}))).iter().next().is_none());
}
