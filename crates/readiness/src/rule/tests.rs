//! When an object is ready, kind by kind.

use serde_json::{Value, json};

use super::*;

/// Asserts for each status what is still missing; an empty text means that the object is ready.
#[track_caller]
fn check(api_version: &str, kind: &str, spec: &Value, cases: &[(Value, &str)]) {
    for (status, expected) in cases {
        let object = json!({
            "apiVersion": api_version, "kind": kind, "metadata": {"generation": 2}, "spec": spec, "status": status,
        });
        let (group, kind) = Object::from(&object).group_kind();
        let missing = Rule::of(group, kind).unwrap().check(Object::from(&object)).err().unwrap_or_default();
        assert_eq!(missing, *expected, "{kind} {status}");
    }
}

#[test]
fn a_deployment_is_complete_when_only_new_replicas_are_there_and_available() {
    let status = |observed: i64, replicas: i64, updated: i64, available: i64| {
        json!({"observedGeneration": observed, "replicas": replicas, "updatedReplicas": updated,
               "readyReplicas": available, "availableReplicas": available})
    };
    check(
        "apps/v1",
        "Deployment",
        &json!({"replicas": 3}),
        &[
            (json!(null), "the controller has not observed it yet"),
            (status(1, 3, 3, 3), "the controller has observed generation 1 of 2"),
            (status(2, 4, 1, 3), "1 of 3 replicas are updated"),
            (status(2, 4, 3, 3), "1 old replicas still exist"),
            (status(2, 3, 3, 2), "2 of 3 updated replicas are available"),
            (status(2, 3, 3, 3), ""),
            (status(3, 3, 3, 3), ""),
        ],
    );
    check(
        "apps/v1",
        "Deployment",
        &json!({"replicas": 3, "paused": true}),
        &[(status(2, 3, 0, 3), "0 of 3 replicas are updated, and the Deployment is paused")],
    );
}

#[test]
fn a_status_written_by_hand_has_no_generation_to_be_about() {
    let check = |status: Value, expected: bool| {
        let object =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1}, "status": status});
        let rule = Rule::of("apps", "Deployment").unwrap();
        assert_eq!(rule.check(Object::from(&object)).is_ok(), expected, "{object}");
    };
    check(json!({"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}), true);
    check(json!({"replicas": 1, "updatedReplicas": 1}), false);
    check(json!(null), false);
}

#[test]
fn zero_replicas_are_complete_once_nothing_is_left() {
    for kind in ["Deployment", "StatefulSet", "ReplicaSet"] {
        check(
            "apps/v1",
            kind,
            &json!({"replicas": 0}),
            &[
                (json!({"observedGeneration": 2}), ""),
                (
                    json!({"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1}),
                    "1 old replicas still exist",
                ),
            ],
        );
    }
}

#[test]
fn replicas_that_are_not_set_are_one() {
    let ready = json!({"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1});
    for kind in ["Deployment", "StatefulSet", "ReplicaSet"] {
        check("apps/v1", kind, &json!({}), &[(ready.clone(), "")]);
        let still_to_come =
            if kind == "Deployment" { "0 of 1 replicas are updated" } else { "0 of 1 replicas are ready" };
        check("apps/v1", kind, &json!({}), &[(json!({"observedGeneration": 2}), still_to_come)]);
    }
}

#[test]
fn a_stateful_set_updates_down_to_its_partition() {
    let status = |ready: i64, updated: i64| json!({"observedGeneration": 2, "replicas": 3, "readyReplicas": ready, "updatedReplicas": updated});
    let spec = |partition: i64| json!({"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}});
    check(
        "apps/v1",
        "StatefulSet",
        &spec(0),
        &[
            (status(2, 3), "2 of 3 replicas are ready"),
            (status(3, 1), "1 of 3 replicas are updated"),
            (status(3, 3), ""),
        ],
    );
    check(
        "apps/v1",
        "StatefulSet",
        &spec(2),
        &[(status(3, 0), "0 of 1 replicas are updated"), (status(3, 1), "")],
    );
    check("apps/v1", "StatefulSet", &spec(9), &[(status(3, 0), "")]);
}

#[test]
fn on_delete_leaves_old_pods_to_their_owner() {
    let spec = json!({"replicas": 2, "updateStrategy": {"type": "OnDelete"}});
    let status = json!({"observedGeneration": 2, "replicas": 2, "readyReplicas": 2, "updatedReplicas": 0});
    check("apps/v1", "StatefulSet", &spec, &[(status, "")]);
    let status = json!({"observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 0,
                        "numberReady": 2, "numberAvailable": 2});
    check("apps/v1", "DaemonSet", &spec, &[(status, "")]);
}

#[test]
fn replicas_that_must_be_ready_for_a_while_have_to_be_available() {
    let spec = json!({"replicas": 1, "minReadySeconds": 10});
    let status = |available: i64| json!({"observedGeneration": 2, "replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "availableReplicas": available});
    for kind in ["StatefulSet", "ReplicaSet"] {
        check("apps/v1", kind, &spec, &[(status(0), "0 of 1 replicas are available"), (status(1), "")]);
    }
}

#[test]
fn a_daemon_set_covers_all_its_nodes() {
    let status = |updated: i64, ready: i64, available: i64| {
        json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": updated,
               "numberReady": ready, "numberAvailable": available})
    };
    check(
        "apps/v1",
        "DaemonSet",
        &json!({}),
        &[
            (status(1, 3, 3), "1 of 3 pods are updated"),
            (status(3, 2, 2), "2 of 3 pods are ready"),
            (status(3, 3, 2), "2 of 3 pods are available"),
            (status(3, 3, 3), ""),
            (json!({"observedGeneration": 2, "desiredNumberScheduled": 0}), ""),
        ],
    );
}

#[test]
fn a_job_is_complete_when_it_says_so() {
    let complete =
        |status: &str| json!({"succeeded": 1, "conditions": [{"type": "Complete", "status": status}]});
    check(
        "batch/v1",
        "Job",
        &json!({"completions": 2}),
        &[
            (json!(null), "0 of 2 completions have succeeded"),
            (complete("False"), "1 of 2 completions have succeeded"),
            (complete("True"), ""),
        ],
    );
    check("batch/v1", "Job", &json!({"suspend": true}), &[(json!({}), "the Job is suspended")]);
}

#[test]
fn phases_and_conditions_decide_for_kinds_that_do_not_roll_out() {
    let condition = |kind: &str, status: &str| json!({"conditions": [{"type": kind, "status": status}]});
    let phase = |phase: &str| json!({"phase": phase});
    let none = || json!({});
    check("v1", "ConfigMap", &none(), &[(none(), "")]);
    check("batch/v1", "CronJob", &none(), &[(none(), "")]);
    check("v1", "Namespace", &none(), &[(phase("Active"), ""), (phase("Terminating"), "it is Terminating")]);
    check(
        "v1",
        "PersistentVolumeClaim",
        &none(),
        &[(none(), "it has no phase yet"), (phase("Pending"), "it is Pending"), (phase("Bound"), "")],
    );
    check(
        "v1",
        "PersistentVolume",
        &none(),
        &[(phase("Available"), ""), (phase("Released"), "it is Released")],
    );
    let balancer = json!({"type": "LoadBalancer"});
    check("v1", "Service", &balancer, &[(none(), "it has no address")]);
    check("v1", "Service", &balancer, &[(json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}), "")]);
    check("v1", "Service", &none(), &[(none(), "")]);
    check(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &none(),
        &[(none(), "there is no condition \"Established\" yet"), (condition("Established", "True"), "")],
    );
    check("apiregistration.k8s.io/v1", "APIService", &none(), &[(condition("Available", "True"), "")]);
    let inactive = json!({"conditions": [{"type": "AbleToScale", "status": "True"}, {"type": "ScalingActive", "status": "False"}]});
    check(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        &none(),
        &[(condition("AbleToScale", "True"), ""), (inactive, "ScalingActive is False")],
    );
}

#[test]
fn a_kind_has_its_rule_only_in_its_own_group() {
    assert!(has_rule("batch", "Job") && !has_rule("batch.volcano.sh", "Job"));
    assert!(is_ready_when_created("", "Secret") && !is_ready_when_created("", "Service"));
}
