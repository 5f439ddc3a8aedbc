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
fn a_field_is_set_unless_it_is_empty() {
    let check = |value: Value| field("status.x", Cut::Root).check(&json!({"status": {"x": value}}));
    for value in [json!(0), json!(false), json!("a"), json!([0]), json!({"a": null})] {
        assert_eq!(check(value.clone()), Check::Met(Some(json!({"status": {"x": value}}))));
    }
    for value in [json!(null), json!(""), json!([]), json!({})] {
        assert_eq!(check(value), not_yet("field \"status.x\" is empty"));
    }
    let missing = field("status.x", Cut::Root).check(&json!({"status": {}}));
    assert_eq!(missing, not_yet("field \"status.x\" is not set: x is not found"));
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
        assert_eq!(field(path, Cut::Status).tracked(&service), Some(expected), "{path}");
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
        not_yet("field \"status.none\" is not set: none is not found")
    );
    assert_eq!(values(&[("status.phase", "Bound")]).tracked(&object), None);
}

#[test]
fn the_content_of_a_secret_is_never_shown() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVudGVyMg=="}});
    let wait = values(&[("data.password", "c2VjcmV0")]);
    assert_eq!(wait.check(&secret), not_yet("field \"data.password\" has another value"));
    let wait = field("data[?(@.a)]", Cut::Root);
    assert_eq!(wait.check(&secret), not_yet("field \"data[?(@.a)]\" filters a value that is not a list"));
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
    let why = never("deletion was requested at 2026-11-15T12:00:00Z");
    for wait in [
        rollout(),
        condition("Ready"),
        values(&[("status.phase", "Bound")]),
        field("status.phase", Cut::Status),
    ] {
        assert_eq!(wait.check(&object), why, "{}", wait.mode);
    }
    // The value is still there, though.
    assert_eq!(field("status.phase", Cut::Status).tracked(&object), Some(json!({"phase": "Bound"})));
}

/// Met, or why not, for an object of generation 2 with this status.
#[track_caller]
fn check_generation(wait: &Wait, cases: &[(Value, &str)]) {
    for (status, expected) in cases {
        let object = json!({"metadata": {"generation": 2}, "status": status});
        let found = match wait.check(&object) {
            Check::Met(_) => "met".to_owned(),
            Check::NotYet(why) | Check::Never(why) => why,
        };
        assert_eq!(found, *expected, "{} {status}", wait.mode);
    }
}

const STALE: &str = "the controller has observed generation 1 of 2";

#[test]
fn a_condition_of_an_earlier_generation_does_not_count() {
    let status = |of_status: Option<i64>, of_condition: Option<i64>, status: &str| {
        let mut condition = json!({"type": "Ready", "status": status});
        if let Some(generation) = of_condition {
            condition["observedGeneration"] = generation.into();
        }
        let mut object = json!({"conditions": [condition]});
        if let Some(generation) = of_status {
            object["observedGeneration"] = generation.into();
        }
        object
    };
    check_generation(
        &condition("Ready"),
        &[
            (status(None, None, "True"), "met"),
            (status(Some(1), None, "True"), STALE),
            (status(Some(2), None, "True"), "met"),
            (status(None, Some(1), "True"), STALE),
            (status(None, Some(2), "True"), "met"),
            // The condition's own generation comes first.
            (status(Some(1), Some(2), "True"), "met"),
            (status(Some(2), Some(1), "True"), STALE),
            // Only a wait that nothing else holds up speaks of generations.
            (status(Some(1), None, "False"), "condition \"Ready\" is False"),
        ],
    );
    let no_generation =
        json!({"status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}});
    assert_eq!(condition("Ready").check(&no_generation), Check::Met(None));
}

#[test]
fn a_status_field_of_an_earlier_generation_does_not_end_a_wait() {
    let cases = |is_met: &'static str, is_stale: &'static str| {
        [
            (json!({"ip": "10.0.0.1"}), is_met),
            (json!({"ip": "10.0.0.1", "observedGeneration": 2}), is_met),
            (json!({"ip": "10.0.0.1", "observedGeneration": 1}), is_stale),
        ]
    };
    check_generation(&field("status.ip", Cut::Status), &cases("met", STALE));
    check_generation(&values(&[("status.ip", "10.0.0.1")]), &cases("met", STALE));
    check_generation(
        &values(&[("metadata.generation", "2"), ("status.ip", "10.0.0.1")]),
        &cases("met", STALE),
    );
    // What is outside the status is what the user or the API server wrote.
    check_generation(&field("metadata.generation", Cut::Root), &cases("met", "met"));
    check_generation(&values(&[("metadata.generation", "2")]), &cases("met", "met"));
}

#[test]
fn condition_types_and_statuses_are_compared_without_case() {
    let object = |status: &str| json!({"status": {"conditions": [{"type": "Ready"}, {"type": "Available", "status": status}]}});
    assert_eq!(condition("available").check(&object("true")), Check::Met(None));
    assert_eq!(condition("AVAILABLE=false").check(&object("False")), Check::Met(None));
    let why = "condition \"Available\" is False";
    assert_eq!(condition("available").check(&object("False")), not_yet(why));
    // An entry without a status is none.
    assert_eq!(condition("Ready").check(&object("True")), not_yet("there is no condition \"Ready\" yet"));
}

#[test]
fn the_opposite_end_of_a_job_or_a_request_ends_a_wait() {
    let check = |api_version: &str, kind: &str, stands: &str, wanted: &str, expected: Check| {
        let conditions = json!([{"type": stands, "status": "True"}]);
        let object = json!({"apiVersion": api_version, "kind": kind, "status": {"conditions": conditions}});
        assert_eq!(condition(wanted).check(&object), expected, "{kind} {stands} {wanted}");
    };
    check("batch/v1", "Job", "Complete", "Failed", never("the Job completed"));
    check("batch/v1", "Job", "Failed", "Complete", never("the Job failed"));
    check("batch/v1", "Job", "Complete", "complete", Check::Met(None));
    check("batch/v1", "Job", "Suspended", "Complete", not_yet("there is no condition \"Complete\" yet"));
    let csr = ("certificates.k8s.io/v1", "CertificateSigningRequest");
    check(csr.0, csr.1, "Denied", "Approved", never("the request was denied"));
    check("example.com/v1", "Job", "Complete", "Failed", not_yet("there is no condition \"Failed\" yet"));
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
        not_yet("field \"metadata.labels.done\" is not set: metadata is not found")
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
    assert_eq!(rollout().check(&deployment(2)), not_yet("the controller has observed generation 1 of 2"));
}

#[test]
fn a_pod_that_has_ended_does_not_become_ready() {
    let pod = |phase: &str| json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": phase, "reason": "Evicted"}});
    assert_eq!(condition("Ready").check(&pod("Failed")), never("the Pod ended in phase Failed (Evicted)"));
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

#[test]
fn a_condition_that_an_object_can_never_have_ends_the_wait() {
    let object = |api: &str, kind: &str, conditions: Value| json!({ "apiVersion": api, "kind": kind, "status": { "conditions": conditions } });
    let deployment = |conditions: Value| object("apps/v1", "Deployment", conditions);
    let only = "Kubernetes sets no condition \"Availible\" on a Deployment, only Available, Progressing, ReplicaFailure";
    assert_eq!(condition("Availible").check(&deployment(json!([]))), never(only));
    let absent = condition("Availible").check_absent(&"apps/v1/Deployment".parse().unwrap());
    assert_eq!(absent, never(only));
    // Another controller has set it.
    let odd = deployment(json!([{ "type": "Availible", "status": "False" }]));
    assert_eq!(condition("Availible").check(&odd), not_yet("condition \"Availible\" is False"));

    let widget = object("example.org/v1", "Widget", json!([{ "type": "Ready", "status": "False" }]));
    let of_crd = |kind: &str, conditions: Conditions| {
        Wait { conditions: Some(conditions), ..condition(kind) }.check(&widget)
    };
    let types = || Conditions::Only(vec!["Ready".to_owned()]);
    assert_eq!(of_crd("ready", types()), not_yet("condition \"Ready\" is False"));
    assert_eq!(
        of_crd("Synced", types()),
        never("the CRD of Widget allows no condition \"Synced\", only Ready")
    );
    assert_eq!(of_crd("Synced", Conditions::Any), not_yet("there is no condition \"Synced\" yet"));

    let approved = json!([{ "type": "Approved", "status": "True", "reason": "Auto" }]);
    let request = object("certificates.k8s.io/v1", "CertificateSigningRequest", approved);
    assert_eq!(condition("Denied").check(&request), never("the request was approved (Auto)"));
    assert_eq!(condition("Failed").check(&request), not_yet("there is no condition \"Failed\" yet"));
}
