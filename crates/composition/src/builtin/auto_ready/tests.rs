use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::object::object;
use crate::protocol::{Resource, State};

fn state(resources: &[(&str, Ready, Value)]) -> State {
    let resource = |(key, ready, value): &(&str, Ready, Value)| {
        ((*key).to_owned(), Resource { ready: *ready, ..Resource::of(value.clone()) })
    };
    State { resources: resources.iter().map(resource).collect(), ..State::default() }
}

#[test]
fn each_difference_has_a_reason_and_an_object_that_shows_it() {
    let conditions = |conditions: Value| json!({"apiVersion": "example.org/v1", "kind": "Thing", "status": {"conditions": conditions}});
    let examples = [
        (
            0,
            false,
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "status": {"loadBalancer": {}}}),
        ),
        (1, false, json!({"apiVersion": "batch/v1", "kind": "CronJob"})),
        (
            2,
            false,
            json!({
                "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
                "status": {"conditions": [{"type": "AbleToScale", "status": "True"}]},
            }),
        ),
        (3, false, conditions(json!([{"type": "Available", "status": "True"}]))),
        (
            3,
            true,
            conditions(json!([{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False"}])),
        ),
    ];
    for (index, difference) in LIKE_UPSTREAM.iter().enumerate() {
        assert!(!difference.reason.is_empty());
        assert!(examples.iter().any(|example| example.0 == index), "no example of: {}", difference.reason);
    }
    for (index, ready, example) in examples {
        let gvk = GroupVersionKind::of(&object(example.clone())).unwrap();
        let first = LIKE_UPSTREAM.iter().position(|it| (it.applies)(gvk.group(), gvk.kind()));
        assert_eq!(first, Some(index), "{example}");
        assert_eq!(is_ready(&object(example.clone())), ready, "{example}");
        let elsewhere = matches!(Health::of(&example, false), Health::Ready | Health::NoStatus);
        assert_ne!(elsewhere, ready, "{example} is not a difference");
    }
}

#[test]
fn ready_of_an_earlier_generation_does_not_count() {
    let thing = |seen: i64| {
        object(json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"generation": 2},
            "status": {"observedGeneration": seen, "conditions": [{"type": "Ready", "status": "True"}]}}))
    };
    assert!(!is_ready(&thing(1)));
    assert!(is_ready(&thing(2)));
}

#[test]
fn observed_readiness_counts_unless_an_earlier_function_decided() {
    let thing = |status: &str| json!({"apiVersion": "example.org/v1", "kind": "Thing", "status": {"conditions": [{"type": "Ready", "status": status}]}});
    let none = Ready::Unspecified;
    let desired = [
        ("ready", none, json!({})),
        ("unready", none, json!({})),
        ("missing", none, json!({})),
        ("decided", Ready::False, json!({})),
    ];
    let observed = [
        ("ready", none, thing("True")),
        ("unready", none, thing("False")),
        ("decided", none, thing("True")),
        ("undesired", none, thing("True")),
    ];
    let request = RunRequest {
        observed: Arc::new(state(&observed)),
        desired: state(&desired),
        ..RunRequest::default()
    };
    let response = run(&request);
    let ready: Vec<_> =
        response.desired.resources.iter().map(|(key, resource)| (key.as_str(), resource.ready)).collect();
    assert_eq!(
        ready,
        [("decided", Ready::False), ("missing", none), ("ready", Ready::True), ("unready", none)]
    );
    assert_eq!(response.meta.ttl.unwrap().as_secs(), 60);
}

#[test]
fn kinds_have_their_own_rules() {
    let check = |api_version: &str, kind: &str, rest: Value, expected: bool| {
        let mut value = json!({"apiVersion": api_version, "kind": kind, "metadata": {"generation": 2}});
        for (key, part) in rest.as_object().unwrap() {
            value[key] = part.clone();
        }
        assert_eq!(is_ready(&object(value)), expected, "{kind} {rest}");
    };
    let condition = |kind: &str| json!({"status": {"conditions": [{"type": kind, "status": "True"}]}});
    check("v1", "ConfigMap", json!({}), true);
    check("rbac.authorization.k8s.io/v1", "RoleBinding", json!({}), true);
    check("example.org/v1", "ConfigMap", json!({}), false);
    check("v1", "Namespace", json!({"status": {"phase": "Active"}}), true);
    check("v1", "Namespace", json!({"status": {"phase": "Terminating"}}), false);
    check("v1", "PersistentVolumeClaim", json!({"status": {"phase": "Bound"}}), true);
    check("v1", "PersistentVolumeClaim", json!({"status": {"phase": "Pending"}}), false);
    check("v1", "Pod", condition("Ready"), true);
    check("v1", "Pod", json!({"status": {"phase": "Succeeded"}}), true);
    check("v1", "Pod", json!({"status": {"phase": "Running"}}), false);
    check("v1", "Service", json!({"spec": {"type": "ClusterIP"}}), true);
    check("v1", "Service", json!({"spec": {"type": "LoadBalancer"}}), false);
    let address = json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}});
    check("v1", "Service", json!({"spec": {"type": "LoadBalancer"}, "status": address}), true);
    check("networking.k8s.io/v1", "Ingress", json!({"status": address}), true);
    check("networking.k8s.io/v1", "Ingress", json!({}), false);

    let deployment = |seen: i64, updated: i64, available: i64, replicas: i64| {
        json!({"spec": {"replicas": 2}, "status": {"observedGeneration": seen, "updatedReplicas": updated,
            "availableReplicas": available, "replicas": replicas}})
    };
    check("apps/v1", "Deployment", deployment(2, 2, 2, 2), true);
    check("apps/v1", "Deployment", deployment(1, 2, 2, 2), false);
    check("apps/v1", "Deployment", deployment(2, 1, 2, 2), false);
    check("apps/v1", "Deployment", deployment(2, 2, 1, 2), false);
    check("apps/v1", "Deployment", deployment(2, 2, 2, 3), false);
    check(
        "apps/v1",
        "Deployment",
        json!({"spec": {"replicas": 0}, "status": {"observedGeneration": 2}}),
        true,
    );
    check("apps/v1", "Deployment", json!({}), false);

    let set = |strategy: Value, updated: i64| {
        json!({"spec": {"replicas": 3, "updateStrategy": strategy},
            "status": {"observedGeneration": 2, "replicas": 3, "readyReplicas": 3, "updatedReplicas": updated}})
    };
    check("apps/v1", "StatefulSet", set(json!({"type": "RollingUpdate"}), 3), true);
    check("apps/v1", "StatefulSet", set(json!({"type": "RollingUpdate"}), 2), false);
    check("apps/v1", "StatefulSet", set(json!({"type": "OnDelete"}), 0), true);
    // The partition keeps two of three on the old revision.
    check("apps/v1", "StatefulSet", set(json!({"rollingUpdate": {"partition": 2}}), 1), true);
    check("apps/v1", "ReplicaSet", json!({"status": {"observedGeneration": 2, "readyReplicas": 1}}), true);
    let daemons = |updated: i64, available: i64| {
        json!({"status": {"observedGeneration": 2, "desiredNumberScheduled": 3, "numberReady": 3,
            "updatedNumberScheduled": updated, "numberAvailable": available}})
    };
    let mut on_delete = daemons(0, 3);
    on_delete["spec"] = json!({"updateStrategy": {"type": "OnDelete"}});
    check("apps/v1", "DaemonSet", on_delete, true);
    check("apps/v1", "DaemonSet", daemons(3, 3), true);
    check("apps/v1", "DaemonSet", daemons(2, 3), false);
    check("apps/v1", "DaemonSet", daemons(3, 2), false);
    check("batch/v1", "Job", condition("Complete"), true);
    check("batch/v1", "Job", condition("Failed"), false);
    let runs = |status: Value| json!({"spec": {}, "status": status});
    let (first, second) = ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z");
    check("batch/v1", "CronJob", runs(json!({})), false);
    check("batch/v1", "CronJob", json!({"spec": {"suspend": true}}), true);
    check("batch/v1", "CronJob", runs(json!({"lastScheduleTime": first})), false);
    check("batch/v1", "CronJob", runs(json!({"lastScheduleTime": first, "active": [{"name": "a"}]})), true);
    check(
        "batch/v1",
        "CronJob",
        runs(json!({"lastScheduleTime": first, "lastSuccessfulTime": second})),
        true,
    );
    check(
        "batch/v1",
        "CronJob",
        runs(json!({"lastScheduleTime": second, "lastSuccessfulTime": first})),
        false,
    );
    check("autoscaling/v2", "HorizontalPodAutoscaler", condition("AbleToScale"), false);
    check("autoscaling/v2", "HorizontalPodAutoscaler", condition("ScalingActive"), true);
    check("autoscaling/v2", "HorizontalPodAutoscaler", condition("ScalingLimited"), true);
    check("autoscaling/v2", "HorizontalPodAutoscaler", condition("FailedGetScale"), false);
    check("autoscaling/v2", "HorizontalPodAutoscaler", json!({}), false);
    check("apiextensions.k8s.io/v1", "CustomResourceDefinition", condition("Established"), true);
    check("apiregistration.k8s.io/v1", "APIService", condition("Available"), true);
    check("example.org/v1", "Thing", condition("Ready"), true);
    check("example.org/v1", "Thing", condition("Synced"), false);
}

#[test]
fn rules_of_the_input_come_first_and_a_broken_one_is_reported() {
    let thing = |replicas: i64, ready: &str| {
        json!({"apiVersion": "example.org/v1", "kind": "Thing", "spec": {"replicas": replicas},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}})
    };
    let none = Ready::Unspecified;
    let check = |rule: &str, observed: Value, expected: Ready, warnings: usize| {
        let request = RunRequest {
            observed: Arc::new(state(&[("thing", none, observed)])),
            desired: state(&[("thing", none, json!({}))]),
            input: Some(object(json!({"celHealthCheckCustomization": {"example.org_v1_Thing": rule}}))),
            ..RunRequest::default()
        };
        let response = run(&request);
        assert_eq!(response.desired.resources["thing"].ready, expected, "{rule}");
        assert_eq!(response.results.len(), warnings, "{rule}: {:?}", response.results);
    };
    check("object.spec.replicas > 1", thing(2, "False"), Ready::True, 0);
    check("object.spec.replicas > 1", thing(1, "True"), Ready::False, 0);
    check("object.spec.unknown > 1", thing(1, "True"), Ready::True, 1);
    check("object.spec.unknown > 1", thing(1, "False"), none, 1);
}

#[test]
fn the_input_sets_the_ttl_and_an_unknown_one_is_fatal() {
    let respond = |input: Value| run(&RunRequest { input: Some(object(input)), ..RunRequest::default() });
    assert_eq!(respond(json!({"ttl": "10m"})).meta.ttl.unwrap().as_secs(), 600);
    let refused = respond(json!({"celHealthChecks": {}}));
    assert!(refused.fatal().unwrap().message.contains("unknown field `celHealthChecks`"), "{refused:?}");
}
