//! What FieldsV1 and projection cost, measured by what it costs to parse the same object.

use bench::{Outcome, Role, Run, compare};
use fields::{FieldSet, Schema, leaf_values, project, written};
use serde_json::{Value, json};

fn main() -> Outcome<()> {
    let mut run = Run::begin()?;
    let object = with_managed_fields(deployment());
    let text = object.to_string();
    let schema = Schema::of(&object);
    let parse = || serde_json::from_str::<Value>(&text).expect("it was written by serde_json");
    let sets = || -> Vec<FieldSet> {
        let entries = object["metadata"]["managedFields"].as_array().expect("managers were added");
        entries.iter().map(|entry| FieldSet::from_value(&entry["fieldsV1"]).expect("we wrote it")).collect()
    };

    let yardstick = || ("parsing the object", Role::Yardstick, parse);
    compare(&mut run, "FieldsV1 decode and projection to leaves", 3.0, yardstick(), || {
        sets().iter().map(|set| leaf_values(&object, set, &schema)).collect::<Vec<_>>()
    })?;
    compare(&mut run, "FieldsV1 decode and projection to an object", 3.0, yardstick(), || {
        sets().iter().map(|set| project(&object, set, &schema)).collect::<Vec<_>>()
    })?;
    run.end()
}

/// Thirty containers with everything in them, about 100 kB without managedFields.
fn deployment() -> Value {
    let list = |count: usize, item: &dyn Fn(usize) -> Value| (0..count).map(item).collect::<Value>();
    let container = |number: usize| {
        json!({
            "name": format!("container-{number}"),
            "image": format!("registry.example.com/team/service-{number}:1.2.{number}"),
            "args": ["--verbose", "--port=8080", "--config=/etc/service/config.yaml"],
            "env": list(20, &|n| json!({"name": format!("VARIABLE_{n}"), "value": format!("value of variable {n}")})),
            "ports": list(5, &|n| json!({"containerPort": 8000 + n, "name": format!("port-{n}"), "protocol": "TCP"})),
            "volumeMounts": list(8, &|n| json!({"name": format!("volume-{n}"), "mountPath": format!("/data/{n}")})),
            "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
        })
    };
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app.kubernetes.io/name": "web"}},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app.kubernetes.io/name": "web"}},
            "template": {
                "metadata": {"labels": {"app.kubernetes.io/name": "web"}},
                "spec": {
                    "containers": list(30, &container),
                    "volumes": list(8, &|n| json!({"name": format!("volume-{n}"), "emptyDir": {}})),
                },
            },
        },
        "status": {"replicas": 3, "readyReplicas": 3, "observedGeneration": 7},
    })
}

/// The object as one manager applied it and another keeps its status.
fn with_managed_fields(mut object: Value) -> Value {
    let schema = Schema::of(&object);
    let all = written(&object, &schema);
    let status = written(&json!({"status": object["status"]}), &schema);
    let applied = all.recursive_difference(&fields::identity()).difference(&status);
    object["metadata"]["managedFields"] = json!([
        {"manager": "k8sconnect", "operation": "Apply", "fieldsV1": applied.to_value()},
        {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": status.to_value()},
    ]);
    object
}
