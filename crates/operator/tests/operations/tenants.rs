//! What administrators of a cluster with several tenants forbid them, and what a tenant tries nevertheless.

use std::time::Duration;

use cluster::Connection;
use operator::TenantOptions;
use operator::operations::COMPARTMENTS;
use oraclecloud_emulator::{Operation, Script};
use serde_json::json;

use super::bench::{Bench, at_home, client, condition, entries, ocid, queues, quick, secret, text};

/// The calls about resources so far.
fn calls(bench: &Bench) -> usize {
    bench.server.journal().entries().len()
}

#[tokio::test]
async fn credentials_of_the_namespace_can_be_required() {
    let options = operator::Options {
        operations: quick(),
        tenants: TenantOptions { require_credentials: true, ..TenantOptions::default() },
        ..operator::Options::on(Connection::default())
    };
    let bench = Bench::run("required", Script::default(), options, at_home).await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let stalled = bench.until_stalled(&queue, "AccessDenied").await;
    let message = text(&condition(&stalled, "Stalled")["message"]);
    assert!(message.contains("--require-namespace-credentials"), "{message}");
    assert_eq!(calls(&bench), 0);
    let own = entries();
    let own: Vec<(&str, &str)> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
    bench.apply(&secret("ocicredentials", &own)).await;
    bench.until_ready(&queue).await;
}

#[tokio::test]
async fn adoption_can_be_disabled() {
    let options = operator::Options {
        operations: quick(),
        tenants: TenantOptions { no_adoption: true, ..TenantOptions::default() },
        ..operator::Options::on(Connection::default())
    };
    let bench = Bench::run("no_adopt", Script::default(), options, at_home).await;
    let client = client(&bench.server);
    let body = json!({"displayName": "theirs", "compartmentId": bench.server.compartment()});
    queues(&client).create(&body, None, None).await.unwrap();
    let id = text(&bench.living()[0]["id"]);
    let mut queue = bench.queue("orders", json!({}));
    queue["metadata"]["annotations"] = json!({"plimsoll.dev/adopt": id});
    bench.apply(&queue).await;
    let stalled = bench.until_stalled(&queue, "NotAllowed").await;
    let message = text(&condition(&stalled, "Stalled")["message"]);
    assert!(message.contains("--no-adopt"), "{message}");
    assert_eq!(bench.effects(Operation::UpdateQueue), 0);
    bench.change(&queue, &json!({"metadata": {"annotations": {"plimsoll.dev/adopt": null}}})).await;
    assert_ne!(ocid(&bench.until_ready(&queue).await), id);
}

#[tokio::test]
async fn a_namespace_uses_only_the_compartments_it_may_use() {
    let bench = Bench::new("compartments").await;
    let annotate = |value: &str| {
        let annotation = format!("{COMPARTMENTS}={value}");
        let annotate = ["annotate", "--overwrite", "namespace", bench.namespace.name(), &annotation];
        bench.namespace.kubectl(&annotate).unwrap();
    };
    annotate("ocid1.compartment.oc1..elsewhere");
    // Until the operator has seen the annotation, the namespace has none.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let queue = bench.apply(&bench.queue("orders", json!({}))).await;
    let stream = bench.apply(&bench.stream("clicks", json!({}))).await;
    for object in [&queue, &stream] {
        let stalled = bench.until_stalled(object, "NotAllowed").await;
        let message = text(&condition(&stalled, "Stalled")["message"]);
        assert!(message.contains(bench.server.compartment()) && message.contains(COMPARTMENTS), "{message}");
    }
    assert_eq!(calls(&bench), 0);
    annotate(&format!("ocid1.compartment.oc1..elsewhere, {}", bench.server.compartment()));
    bench.until_ready(&queue).await;
    bench.until_ready(&stream).await;
}

/// The status says what an object is bound to. A user who may not write it cannot bind anything by writing it with the spec.
#[tokio::test]
async fn a_status_that_comes_with_the_spec_binds_nothing() {
    let bench = Bench::new("forged").await;
    let cloud = client(&bench.server);
    let body = json!({"displayName": "theirs", "compartmentId": bench.server.compartment()});
    queues(&cloud).create(&body, None, None).await.unwrap();
    let theirs = bench.living()[0].clone();
    let mut queue = bench.queue("orders", json!({"visibilityInSeconds": 77}));
    queue["status"] = json!({"status": {"ocid": theirs["id"]}});
    bench.apply(&queue).await;
    assert_ne!(ocid(&bench.until_ready(&queue).await), text(&theirs["id"]));
    bench.delete(&queue);
    bench.until_gone(&queue).await;
    let left = bench.living();
    assert_eq!((left.len(), &left[0]["id"]), (1, &theirs["id"]));
    assert_eq!(left[0]["visibilityInSeconds"], theirs["visibilityInSeconds"]);
}
