//! An operator makes way when Crossplane starts, and goes on when it is gone.

use cluster::{Connection, Session, Write};
use jiff::Timestamp;
use operator::{FunctionOptions, Half, Options};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::{condition, condition_line, is_true, reference, until};
use crate::operators::{Offer, alone};

/// Crossplane's lease, held for 15 seconds from now.
fn held() -> Value {
    let now = Timestamp::now();
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "crossplane-leader-election-core", "namespace": "default"},
        "spec": {
            "holderIdentity": "crossplane-0", "leaseDurationSeconds": 15,
            "renewTime": format!("{now:.6}"),
        },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_makes_way_for_crossplane_and_goes_on_afterwards() {
    let (sandbox, _turn) = alone().await;
    let offer = Offer::new(sandbox, "rival").await;
    let session = Session::new(sandbox.client().await);
    let connection = Connection { config_paths: vec![sandbox.kubeconfig()], ..Connection::default() };
    let options = Options {
        controllers: vec![Half::Composition],
        functions: FunctionOptions { endpoints: offer.functions.clone(), ..FunctionOptions::default() },
        namespace: manifest::Namespace::new("default"),
        leader_elect: Some(true),
        metrics_address: None,
        health_address: None,
        ..Options::on(connection)
    };
    let stop = CancellationToken::new();
    let running = tokio::spawn(operator::run(options, stop.clone()));
    let claim = offer.object("App", Some("default"), "a");
    session.apply_when_possible(&reference(&claim), &claim, Write::by("person").force()).await.unwrap();
    until(&session, &claim, "it is healthy", |claim| is_true(claim, "Healthy")).await;

    session.apply(&reference(&held()), &held(), Write::by("crossplane").force()).await.unwrap();
    let is_aside = |xrd: &Value| condition(xrd, "ServedByPlimsoll").is_some();
    let xrd = until(&session, &offer.xrd, "it says that another engine serves it", is_aside).await;
    assert_eq!(condition_line(&xrd, "ServedByPlimsoll"), "ServedByPlimsoll=False RivalRunning");
    let message = condition(&xrd, "ServedByPlimsoll").unwrap()["message"].as_str().unwrap();
    assert!(message.starts_with("Crossplane is running: crossplane-0 holds the lease default/"), "{message}");
    let released =
        until(&session, &claim, "it no longer says Healthy", |claim| condition(claim, "Healthy").is_none())
            .await;
    assert!(is_true(&released, "Ready"), "what Crossplane knows stays");

    // Its lease expires, and everything is as before.
    until(&session, &claim, "it is healthy again", |claim| is_true(claim, "Healthy")).await;
    until(&session, &offer.xrd, "it no longer names another engine", |xrd| !is_aside(xrd)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
}
