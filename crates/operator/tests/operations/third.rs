//! A kind that a third party adds: a description and no code. Everything else is inherited.

use cluster::Connection;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use operator::api::{crd_name, definition};
use operator::operations::FINALIZER;
use oraclecloud::{Catalogue, Service};
use oraclecloud_emulator::{Operation, Script};
use serde_json::{Value, json};
use testkit::Namespace;

use super::bench::{Bench, at_home, condition, ocid, quick, secret, shared_types, text};
use super::namespace;

/// What `deploy/` grants for a kind, for this one: a kind brings no rights of its own.
fn grant(namespace: &Namespace) {
    let account = "--serviceaccount=plimsoll-system:plimsoll-operator";
    for (role, verbs, resource) in [
        ("topics", "--verb=get,list,watch,patch", "--resource=topics.thirdparty.oracle.com"),
        ("topics-status", "--verb=update", "--resource=topics.thirdparty.oracle.com/status"),
    ] {
        namespace.kubectl(&["create", "role", role, verbs, resource]).unwrap();
        namespace.kubectl(&["create", "rolebinding", role, &format!("--role={role}"), account]).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_described_kind_inherits_everything() {
    let kinds = Catalogue::from(Service::read(include_str!("topic.json")).unwrap());
    let kind = kinds.kinds()[0];
    let namespace = namespace("third").await;
    let crds = Api::<CustomResourceDefinition>::all(namespace.client().clone());
    let force = PatchParams::apply("person").force();
    crds.patch(&crd_name(kind), &force, &Patch::Apply(&definition(kind))).await.unwrap();
    let crd = format!("crd/{}", crd_name(kind));
    namespace.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", &crd]).unwrap();
    grant(&namespace);
    let options =
        operator::Options { operations: quick(), kinds, ..operator::Options::on(Connection::default()) };
    let bench = Bench::within(namespace, "third", Script::default(), options, at_home).await;

    let topic = |fields: Value| {
        let mut spec = json!({
            "forumId": "f1", "title": "News", "tone": "CALM",
            "password": {"secret": {"secretName": "login"}},
        });
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({
            "apiVersion": "thirdparty.oracle.com/v1beta1", "kind": "Topic", "metadata": {"name": "news"},
            "spec": spec,
        })
    };
    let made = bench.apply(&topic(json!({}))).await;
    let stalled = bench.until_stalled(&made, "Rejected").await;
    let message = text(&condition(&stalled, "Stalled")["message"]);
    assert!(message.contains("spec.password: there is no Secret login"), "{message}");
    bench.apply(&secret("login", &[("password", "hunter2")])).await;
    let ready = bench.until_ready(&made).await;
    assert_eq!(ready["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(ready["status"]["lifecycleState"], "AVAILABLE");
    assert_eq!(
        shared_types(&ready),
        ["Failed", "Provisioning", "Active"],
        "it was rejected without its Secret"
    );
    let columns = bench.namespace.kubectl(&["get", "topics", "-o", "wide"]).unwrap();
    assert!(columns.starts_with("NAME   TITLE") && columns.contains("True"), "{columns}");

    let change = json!({"spec": {"title": "Olds", "routes": [{"target": "a", "weight": 2}]}});
    bench.change(&made, &change).await;
    let changed = bench
        .until(&made, "changed", |topic| {
            topic["status"]["title"] == "Olds" && condition(topic, "Progressing")["status"] == "False"
        })
        .await;
    assert_eq!(ocid(&changed), ocid(&ready));
    assert_eq!(changed["status"]["routes"], json!([{"target": "a", "weight": 2}]));
    assert_eq!(changed["status"]["status"]["async"]["lastOperation"]["phase"], "update");

    // What the description forbids, the definition refuses.
    for (fields, message) in [
        (json!({"tone": "HOARSE"}), "spec.tone: Unsupported value"),
        (json!({"tone": "LOUD"}), "tone can be neither changed nor removed after the topic is created"),
        (json!({"forumId": "f2"}), "forumId cannot be changed after the topic is created"),
        (json!({"routes": [{"weight": 1}]}), "spec.routes[0].target: Required value"),
    ] {
        let patch = json!({"spec": fields}).to_string();
        let refused = bench.namespace.kubectl(&["patch", "topic", "news", "--type=merge", "-p", &patch]);
        let refused = format!("{:?}", refused.unwrap_err());
        assert!(refused.contains(message), "{refused}");
    }
    let everything = bench.namespace.kubectl(&["get", "topics,events", "-o", "yaml"]).unwrap();
    assert!(!everything.contains("hunter2"), "a password is neither in status nor in events");
    bench.namespace.kubectl(&["delete", "--wait", "--timeout=60s", "topic/news"]).unwrap();
    assert_eq!(bench.effects(Operation::named("CreateTopic")), 1);
    assert_eq!(bench.effects(Operation::named("DeleteTopic")), 1);
    assert_eq!(bench.server.resources().iter().filter(|it| it["lifecycleState"] != "TERMINATED").count(), 0);
}
