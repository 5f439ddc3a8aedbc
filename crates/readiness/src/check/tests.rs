//! What each mode is met by, what it yields, and when it gives up.

use serde_json::json;

use super::*;
use crate::{Written, WrittenWait};

fn field(path: &str, cut: Cut) -> Wait {
    parse(&WrittenWait { field: Written::Known(path.to_owned()), ..Default::default() }, cut)
}

fn values(expected: &[(&str, &str)]) -> Wait {
    let expected = expected.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    parse(&WrittenWait { field_value: Written::Known(expected), ..Default::default() }, Cut::Status)
}

fn condition(kind: &str) -> Wait {
    parse(&WrittenWait { condition: Written::Known(kind.to_owned()), ..Default::default() }, Cut::Status)
}

fn rollout() -> Wait {
    parse(&WrittenWait { rollout: Written::Known(true), ..Default::default() }, Cut::Status)
}

#[track_caller]
fn parse(written: &WrittenWait, cut: Cut) -> Wait {
    let parsed = written.parse(None, cut);
    assert_eq!(parsed.diagnostics, [], "the wait is well formed");
    parsed.wait.unwrap()
}

fn not_yet(why: &str) -> Check {
    Check::NotYet(why.to_owned())
}

fn never(why: &str) -> Check {
    Check::Never(why.to_owned())
}

#[test]
fn a_field_is_there_unless_it_is_empty() {
    let there = |value: Value| field("status.x", Cut::Root).check(&json!({"status": {"x": value}}));
    for value in [json!(0), json!(false), json!("a"), json!([0]), json!({"a": null})] {
        assert_eq!(there(value.clone()), Check::Met(Some(json!({"status": {"x": value}}))));
    }
    for value in [json!(null), json!(""), json!([]), json!({})] {
        assert_eq!(there(value), not_yet("field \"status.x\" is empty"));
    }
    let missing = field("status.x", Cut::Root).check(&json!({"status": {}}));
    assert_eq!(missing, not_yet("field \"status.x\" is not there: x is not found"));
}

#[test]
fn a_field_yields_what_the_path_selects_and_nothing_else() {
    let service = json!({
        "spec": {"clusterIP": "10.0.0.1"},
        "status": {"observedGeneration": 7, "loadBalancer": {"ingress": [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2", "x": 1}]},
                   "conditions": [{"type": "A", "status": "False"}, {"type": "Ready", "status": "True"}]},
    });
    let status = |path: &str, expected: Value| {
        assert_eq!(field(path, Cut::Status).check(&service), Check::Met(Some(expected.clone())), "{path}");
        let root = json!({"status": expected});
        assert_eq!(field(path, Cut::Root).check(&service), Check::Met(Some(root)), "{path}");
        assert_eq!(field(path, Cut::Status).tracked(&service), Tracked::Present(expected), "{path}");
    };
    status(
        "status.loadBalancer.ingress",
        json!({"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2", "x": 1}]}}),
    );
    status("status.loadBalancer.ingress[0].ip", json!({"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}));
    status(
        "status.loadBalancer.ingress[1].ip",
        json!({"loadBalancer": {"ingress": [null, {"ip": "2.2.2.2"}]}}),
    );
    status(
        "status.loadBalancer.ingress[*].ip",
        json!({"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}]}}),
    );
    status(
        "{.status.conditions[?(@.type==\"Ready\")].status}",
        json!({"conditions": [null, {"status": "True"}]}),
    );
    status("status", service["status"].clone());
    assert_eq!(
        field("spec.clusterIP", Cut::Root).check(&service),
        Check::Met(Some(json!({"spec": {"clusterIP": "10.0.0.1"}})))
    );
}

#[test]
fn values_are_compared_as_go_prints_them() {
    let object =
        json!({"status": {"phase": "Bound", "ready": true, "count": 3, "share": 2.5e7, "list": [1, "a"]}});
    let met = |path: &str, value: &str| {
        assert_eq!(values(&[(path, value)]).check(&object), Check::Met(None), "{path}");
    };
    met("status.phase", "Bound");
    met("status.ready", "true");
    met("status.count", "3");
    met("status.share", "2.5e+07");
    met("status.list", "[1 a]");
    assert_eq!(
        values(&[("status.phase", "Bound"), ("status.count", "4")]).check(&object),
        not_yet("field \"status.count\" is \"3\", not \"4\"")
    );
    assert_eq!(
        values(&[("status.none", "")]).check(&object),
        not_yet("field \"status.none\" is not there: none is not found")
    );
    assert_eq!(values(&[("status.phase", "Bound")]).tracked(&object), Tracked::Not);
}

#[test]
fn the_content_of_a_secret_is_never_told() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVudGVyMg=="}});
    let wait = values(&[("data.password", "c2VjcmV0")]);
    assert_eq!(wait.check(&secret), not_yet("field \"data.password\" has another value"));
    let wait = field("data[?(@.a)]", Cut::Root);
    assert_eq!(wait.check(&secret), not_yet("field \"data[?(@.a)]\" filters something that is no list"));
}

#[test]
fn a_condition_has_to_be_true() {
    let object = |status: &str, reason: &str| json!({"status": {"conditions": [{"type": "Other"}, {"type": "Ready", "status": status, "reason": reason}]}});
    assert_eq!(condition("Ready").check(&object("True", "")), Check::Met(None));
    assert_eq!(condition("Ready").check(&object("Unknown", "")), not_yet("condition \"Ready\" is Unknown"));
    assert_eq!(
        condition("Ready").check(&object("False", "Starting")),
        not_yet("condition \"Ready\" is False (Starting)")
    );
    assert_eq!(
        condition("Healthy").check(&object("True", "")),
        not_yet("there is no condition \"Healthy\" yet")
    );
    assert_eq!(condition("Ready").check(&json!({})), not_yet("there is no condition \"Ready\" yet"));
}

#[test]
fn an_object_that_is_being_deleted_is_not_waited_for() {
    let object = json!({
        "metadata": {"deletionTimestamp": "2026-11-15T12:00:00Z"},
        "status": {"phase": "Bound", "conditions": [{"type": "Ready", "status": "True"}]},
    });
    let why = never("it is being deleted since 2026-11-15T12:00:00Z");
    for wait in [
        rollout(),
        condition("Ready"),
        values(&[("status.phase", "Bound")]),
        field("status.phase", Cut::Status),
    ] {
        assert_eq!(wait.check(&object), why, "{}", wait.mode);
    }
    // The value is still there, though.
    assert_eq!(
        field("status.phase", Cut::Status).tracked(&object),
        Tracked::Present(json!({"phase": "Bound"}))
    );
}

#[test]
fn a_failed_job_ends_every_wait_for_its_status() {
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}]},
    });
    let why = never("the Job failed (BackoffLimitExceeded): Job has reached the specified backoff limit");
    for wait in [
        rollout(),
        condition("Complete"),
        values(&[("status.succeeded", "1")]),
        field("status.completionTime", Cut::Status),
    ] {
        assert_eq!(wait.check(&job), why, "{}", wait.mode);
    }
    assert_eq!(condition("Failed").check(&job), Check::Met(None));
    // What is not in the status may still come.
    let label = field("metadata.labels.done", Cut::Root);
    assert_eq!(
        label.check(&job),
        not_yet("field \"metadata.labels.done\" is not there: metadata is not found")
    );
}

#[test]
fn a_deployment_past_its_deadline_is_given_up_unless_its_spec_has_changed() {
    let deployment = |generation: i64| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": generation}, "spec": {"replicas": 1},
            "status": {"observedGeneration": 1, "conditions": [
                {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out progressing."}]},
        })
    };
    let why =
        "the Deployment exceeded its progress deadline (ProgressDeadlineExceeded): timed out progressing.";
    assert_eq!(rollout().check(&deployment(1)), never(why));
    assert_eq!(condition("Available").check(&deployment(1)), never(why));
    assert_eq!(rollout().check(&deployment(2)), not_yet("the spec has not been observed yet"));
}

#[test]
fn a_pod_that_has_ended_does_not_become_ready() {
    let pod = |phase: &str| json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": phase, "reason": "Evicted"}});
    assert_eq!(
        condition("Ready").check(&pod("Failed")),
        never("the Pod has ended in phase Failed (Evicted)")
    );
    assert_eq!(condition("Ready").check(&pod("Pending")), not_yet("there is no condition \"Ready\" yet"));
    assert_eq!(values(&[("status.phase", "Succeeded")]).check(&pod("Succeeded")), Check::Met(None));
}

#[test]
fn modes_are_shown_as_a_phrase() {
    assert_eq!(rollout().mode.to_string(), "rollout");
    assert_eq!(field("status.a", Cut::Status).mode.to_string(), "field \"status.a\"");
    assert_eq!(
        values(&[("b", "1"), ("a", "x")]).mode.to_string(),
        "field \"a\" = \"x\", field \"b\" = \"1\""
    );
    assert_eq!(condition("Ready").mode.to_string(), "condition \"Ready\"");
}
