use serde_json::{Value, json};

use super::*;

fn object(api_version: &str, kind: &str, status: &Value) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind, "metadata": { "name": "a", "generation": 2 }, "status": status,
    })
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a table reads better without references")]
fn check(api_version: &str, kind: &str, status: Value, expected: Health) {
    assert_eq!(Health::of(&object(api_version, kind, &status), false), expected, "{kind} {status}");
}

fn waiting(why: &str) -> Health {
    Health::Waiting(why.to_owned())
}

fn failed(why: &str) -> Health {
    Health::Failed(why.to_owned())
}

fn condition(kind: &str, status: &str) -> Value {
    json!({ "conditions": [{ "type": kind, "status": status }] })
}

#[test]
fn a_pod_says_what_its_containers_wait_for() {
    let check = |status: Value, expected: Health| check("v1", "Pod", status, expected);
    let container = |state: Value| json!({ "phase": "Pending", "containerStatuses": [{ "name": "web", "state": state }] });
    check(
        container(json!({ "waiting": { "reason": "ImagePullBackOff", "message": "no web:2" } })),
        failed("container \"web\" is waiting (ImagePullBackOff): no web:2"),
    );
    check(
        container(json!({ "terminated": { "exitCode": 3, "reason": "Error" } })),
        failed("container \"web\" exited with code 3 (Error)"),
    );
    check(container(json!({ "waiting": { "reason": "ContainerCreating" } })), waiting("it is Pending"));
    let unscheduled = json!({ "phase": "Pending", "conditions": [
        { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes" },
    ] });
    check(unscheduled, waiting("cannot be scheduled (Unschedulable): 0/1 nodes"));
    check(json!({ "phase": "Succeeded" }), Health::Ready);
    check(
        json!({ "phase": "Failed", "reason": "Evicted" }),
        failed("the Pod ended in phase Failed (Evicted)"),
    );
    check(condition("Ready", "True"), Health::Ready);
}

#[test]
fn built_in_kinds_have_rules_of_their_own() {
    check("v1", "ConfigMap", json!({}), Health::NoStatus);
    check("v1", "Service", json!({ "loadBalancer": {} }), Health::NoStatus);
    check("v1", "PersistentVolumeClaim", json!({ "phase": "Pending" }), waiting("it is Pending"));
    check("v1", "PersistentVolumeClaim", json!({}), waiting("it has no phase yet"));
    check(
        "v1",
        "PersistentVolumeClaim",
        json!({ "phase": "Lost" }),
        failed("the claim is Lost: its volume is gone"),
    );
    check("batch/v1", "Job", condition("Failed", "True"), failed("the Job failed"));
    let unavailable = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "conditions": [
        { "type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable" },
    ] });
    let why = "0 of 1 updated replicas are available; Available is False (MinimumReplicasUnavailable)";
    check("apps/v1", "Deployment", unavailable, waiting(why));
}

#[test]
fn other_kinds_are_judged_by_what_they_report() {
    let check = |status: Value, expected: Health| check("example.org/v1", "Queue", status, expected);
    let conditions = |conditions: Value| json!({ "conditions": conditions });
    check(json!(null), Health::NoStatus);
    check(json!({ "observedGeneration": 2 }), Health::NoStatus);
    check(json!({ "observedGeneration": 1 }), waiting("the controller has observed generation 1 of 2"));
    check(condition("Ready", "True"), Health::Ready);
    check(condition("Ready", "Unknown"), waiting("Ready is Unknown"));
    check(condition("Available", "False"), waiting("Available is False"));
    check(condition("Broken", "False"), Health::Ready);
    check(condition("Synced", "False"), waiting("Synced is False"));
    check(condition("Synced", "True"), Health::Ready);
    check(json!({ "phase": "Pending" }), waiting("it is Pending"));
    check(
        conditions(json!([{ "type": "Ready", "status": "False", "reason": "Creating", "message": "soon" }])),
        waiting("Ready is False (Creating): soon"),
    );
    let image =
        json!({ "type": "ImageReady", "status": "False", "reason": "NotFound", "message": "Ask for it." });
    let ready = json!({ "type": "Ready", "status": "True" });
    check(conditions(json!([ready, image])), waiting("ImageReady is False (NotFound): Ask for it."));
    let stalled = json!({ "type": "Stalled", "status": "True", "reason": "NoQuota" });
    check(conditions(json!([ready, stalled])), waiting("Stalled is True (NoQuota)"));
    check(
        conditions(json!([{ "type": "Ready", "status": "True", "observedGeneration": 1 }])),
        waiting("the controller has observed generation 1 of 2"),
    );
}

#[test]
fn condition_types_are_compared_without_case() {
    for (kind, status) in
        [("ready", "False"), ("synced", "False"), ("stalled", "True"), ("databaseREADY", "False")]
    {
        let trouble = waiting(&format!("{kind} is {status}"));
        check("example.org/v1", "Widget", condition(kind, status), trouble);
    }
}

#[test]
fn an_empty_status_is_not_ready_where_the_kind_publishes_conditions() {
    let check = |api_version: &str, kind: &str, status: Value, expected: Health| {
        assert_eq!(Health::of(&object(api_version, kind, &status), true), expected, "{kind} {status}");
    };
    let not_yet = || waiting("its controller has not reported a condition yet");
    check("example.org/v1", "Queue", json!(null), not_yet());
    check("example.org/v1", "Queue", json!({}), not_yet());
    check("example.org/v1", "Queue", json!({ "id": "x" }), Health::NoStatus);
    check("example.org/v1", "Queue", condition("Ready", "True"), Health::Ready);
    check("v1", "ConfigMap", json!({}), Health::NoStatus);
}

#[test]
fn an_object_that_is_being_deleted_says_what_blocks_it() {
    let mut object = object("v1", "ConfigMap", &json!({}));
    let check = |object: &Value, why: &str| {
        assert_eq!(Health::of(object, false), Health::Terminating(why.to_owned()));
    };
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    check(&object, "deletion was requested at 2026-01-01T00:00:00Z");
    object["metadata"]["finalizers"] = json!(["a/b"]);
    check(&object, "deletion was requested at 2026-01-01T00:00:00Z and is blocked by a/b");
    object["status"]["conditions"] = json!([
        { "type": "NamespaceContentRemaining", "status": "True", "message": "Some resources are remaining" },
        { "type": "NamespaceFinalizersRemaining", "status": "False", "message": "All is well" },
    ]);
    check(
        &object,
        "deletion was requested at 2026-01-01T00:00:00Z and is blocked by a/b: Some resources are remaining",
    );
}
