//! Kinds that a third party adds: descriptions and no code. Everything else is inherited.

use cluster::{Connection, Session};
use operator::Half;
use operator::install::{grant, install};
use operator::operations::FINALIZER;
use oraclecloud::{Catalogue, Service};
use oraclecloud_emulator::{Fault, FaultKind, Operation, Script};
use serde_json::{Value, json};

use super::bench::{Bench, at_home, condition, ocid, quick, secret, shared_types, text};
use super::namespace;

/// An operator that serves the kinds of the file, with the rights that follow from them.
async fn third_party(test: &str) -> Bench {
    let kinds = Catalogue::from(Service::read(include_str!("topic.json")).unwrap());
    let namespace = namespace(test).await;
    let administrator = Session::new(namespace.client().clone());
    grant(&administrator, &kinds).await.unwrap();
    install(&administrator, &[Half::Oci], &kinds).await.unwrap();
    let options =
        operator::Options { operations: quick(), kinds, ..operator::Options::on(Connection::default()) };
    Bench::within(namespace, test, Script::default(), options, at_home).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_described_kind_inherits_everything() {
    let bench = third_party("third").await;
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

/// It has no tags, no states and no delete; paths name it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_without_tags_is_found_again_by_its_name_and_nothing_else_is() {
    let bench = third_party("untagged").await;
    let kind = FaultKind::ResetAfter;
    bench.server.faults().inject(Fault {
        operation: Operation::named("CreateBadge"),
        nth: 1,
        times: 1,
        kind,
    });
    let badge = |name: &str, fields: Value| {
        let mut spec = json!({"name": "gold", "compartmentId": bench.server.compartment(), "form": "ROUND", "radius": 3});
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({
            "apiVersion": "thirdparty.oracle.com/v1beta1", "kind": "Badge", "metadata": {"name": name},
            "spec": spec,
        })
    };
    // The response to the create is lost.
    let made = bench.apply(&badge("first", json!({"motto": "onwards"}))).await;
    let ready = bench.until_ready(&made).await;
    assert_eq!(bench.effects(Operation::named("CreateBadge")), 1);
    assert_eq!(bench.server.resources()[0]["id"], json!(ocid(&ready)));

    let other = bench.apply(&badge("second", json!({}))).await;
    let stalled = bench.until_stalled(&other, "Rejected").await;
    let message = text(&condition(&stalled, "Stalled")["message"]);
    assert!(message.contains("AlreadyExists") && message.contains("plimsoll.dev/adopt"), "{message}");
    bench.namespace.kubectl(&["delete", "--wait", "--timeout=60s", "badge/second"]).unwrap();
    assert_eq!(bench.server.resources().len(), 1, "what another object has is left alone");

    // A field that no response shows is sent once.
    bench.change(&made, &json!({"spec": {"motto": "upwards"}})).await;
    let before = ready["status"]["status"]["sent"]["motto"].clone();
    bench.until(&made, "sent", |badge| badge["status"]["status"]["sent"]["motto"] != before).await;
    bench.another_look(&made, Operation::named("GetBadge")).await;
    assert_eq!(bench.effects(Operation::named("UpdateBadge")), 1);

    bench.change(&made, &json!({"spec": {"compartmentId": "elsewhere"}})).await;
    bench.until(&made, "moved", |badge| badge["status"]["compartmentId"] == "elsewhere").await;
    bench.until_ready(&made).await;
    assert_eq!(bench.effects(Operation::named("MoveBadge")), 1);
    let refused = bench.namespace.kubectl(&[
        "patch",
        "badge",
        "first",
        "--type=merge",
        "-p",
        r#"{"spec": {"side": 1}}"#,
    ]);
    let refused = format!("{:?}", refused.unwrap_err());
    assert!(refused.contains("side is allowed only if form is SQUARE"), "{refused}");

    bench.namespace.kubectl(&["delete", "--wait", "--timeout=60s", "badge/first"]).unwrap();
    assert_eq!(bench.effects(Operation::named("RetireBadge")), 1);
    assert_eq!(bench.server.resources(), Vec::<Value>::new());
}
