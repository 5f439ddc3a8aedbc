//! Tests of the client against a real control plane.

#![expect(clippy::unwrap_used, reason = "a panic in a test's helper is a failed test")]

mod apply;
mod connect;
mod delete;
mod dependency;
mod error;
mod outage;
mod ready;
mod watch;
mod webhook;

use cluster::{Connection, Environment, Session};
use manifest::{Namespace, ObjectRef};
use serde_json::{Value, json};
use testkit::Sandbox;

/// A session for the calling test's runtime, made from the sandbox's kubeconfig as users do.
fn session() -> Session {
    let connection =
        Connection { config_paths: vec![Sandbox::shared().kubeconfig()], ..Connection::default() };
    Session::connect(&connection, &Environment::default(), "plimsoll-cluster-tests").unwrap()
}

/// The reference of `object`, from its own fields.
fn reference(object: &Value) -> ObjectRef {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let gvk = format!("{}/{}", text("/apiVersion"), text("/kind")).parse().unwrap();
    ObjectRef::new(gvk, Namespace::new(text("/metadata/namespace")), text("/metadata/name"))
}

fn config_map(namespace: &testkit::Namespace, name: &str, data: &Value) -> Value {
    let metadata = json!({ "name": name, "namespace": namespace.name() });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data })
}

fn deployment(namespace: &testkit::Namespace, name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "namespace": namespace.name() },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "registry.example.com/app:1" }] },
            },
        },
    })
}

/// A CRD in a group of the test's own, because CRDs are cluster-scoped.
fn crd(group: &str, kind: &str, spec: &Value) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
            }],
        },
    })
}

/// A unique group, derived from the test's unique namespace.
fn group_of(namespace: &testkit::Namespace) -> String {
    format!("{}.example.com", namespace.name())
}
