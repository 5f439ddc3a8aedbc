//! The half for cloud resources yields to the OCI Service Operator, and resumes when it is gone.

use std::time::Duration;

use cluster::{Check, Connection, Session, WaitOutcome, Write};
use jiff::Timestamp;
use manifest::ObjectRef;
use operator::{Half, Options};
use serde_json::{Value, json};
use testkit::Sandbox;
use tokio_util::sync::CancellationToken;

/// How long a test waits for something that should happen.
const PATIENCE: Duration = Duration::from_secs(60);

fn lease() -> Value {
    let now = Timestamp::now();
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "40558063.oci", "namespace": "default"},
        "spec": {"holderIdentity": "osok-0", "leaseDurationSeconds": 3600, "renewTime": format!("{now:.6}")},
    })
}

fn queue(display_name: &str) -> Value {
    json!({
        "apiVersion": "queue.oracle.com/v1beta1", "kind": "Queue",
        "metadata": {"name": "orders", "namespace": "default"},
        "spec": {"compartmentId": "ocid1.compartment.oc1..a", "displayName": display_name},
    })
}

async fn apply(session: &Session, object: &Value) {
    let target = ObjectRef::of(object.as_object().unwrap()).unwrap();
    session.apply_when_possible(&target, object, Write::by("person").force()).await.unwrap();
}

/// Waits until the queue `is_so`.
async fn until(session: &Session, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let target = ObjectRef::of(queue("").as_object().unwrap()).unwrap();
    let check = |object: Option<&Value>| match object {
        Some(object) if is_so(object) => Check::Met(()),
        _ => Check::NotYet(what.to_owned()),
    };
    match session.wait_until(&target, PATIENCE, check).await {
        Ok(WaitOutcome::Met { object: Some(object), .. }) => object,
        other => panic!("{what}: {other:?}"),
    }
}

fn condition<'a>(queue: &'a Value, kind: &str) -> Option<&'a Value> {
    queue["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Whether the controller has reconciled the current generation: without credentials it can only say so.
fn is_reported(queue: &Value) -> bool {
    condition(queue, "Stalled")
        .is_some_and(|stalled| stalled["observedGeneration"] == queue["metadata"]["generation"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cloud_resources_are_left_to_the_oci_service_operator_while_it_runs() {
    let sandbox = tokio::task::spawn_blocking(|| Sandbox::dedicated("oci-rival")).await.unwrap();
    let session = Session::new(sandbox.client().await);
    let connection = Connection { config_paths: vec![sandbox.kubeconfig()], ..Connection::default() };
    let options = Options {
        controllers: vec![Half::Oci],
        // Without any credentials nothing is called.
        tenants: operator::TenantOptions { require_credentials: true, ..Default::default() },
        namespace: manifest::Namespace::new("default"),
        install_crds: true,
        leader_elect: Some(true),
        metrics_address: None,
        health_address: None,
        ..Options::on(connection)
    };
    let stop = CancellationToken::new();
    let running = tokio::spawn(operator::run(options, stop.clone()));
    apply(&session, &queue("orders")).await;
    until(&session, "it is reconciled", is_reported).await;

    apply(&session, &lease()).await;
    let is_aside = |queue: &Value| condition(queue, "ServedByPlimsoll").is_some();
    let aside = until(&session, "it says that another engine serves it", is_aside).await;
    let served = condition(&aside, "ServedByPlimsoll").unwrap();
    assert_eq!((&served["status"], &served["reason"]), (&json!("False"), &json!("RivalRunning")));
    let message = served["message"].as_str().unwrap();
    assert!(message.starts_with("the OCI Service Operator is running: osok-0 holds"), "{message}");
    assert!(is_reported(&aside), "what was reported stays");
    apply(&session, &queue("renamed")).await;

    let lease = ObjectRef::of(lease().as_object().unwrap()).unwrap();
    session.delete(&lease, &cluster::Delete::of(&lease)).await.unwrap();
    let served =
        until(&session, "it is reconciled again", |queue| is_reported(queue) && !is_aside(queue)).await;
    assert_eq!(served["spec"]["displayName"], "renamed");
    stop.cancel();
    running.await.unwrap().unwrap();
}
