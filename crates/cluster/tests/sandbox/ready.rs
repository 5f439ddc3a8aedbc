use cluster::{Readiness, Write};
use readiness::{Cut, Wait, Written, WrittenWait};
use serde_json::json;

use super::*;

fn wait(change: impl FnOnce(&mut WrittenWait), timeout: &str) -> Wait {
    let mut written = WrittenWait { timeout: Written::Known(timeout.to_owned()), ..WrittenWait::default() };
    change(&mut written);
    written.parse(None, Cut::Status).wait.unwrap()
}

#[tokio::test]
async fn a_rollout_is_waited_for() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("rollout").await);
    let object = deployment(&namespace, "web", 3);
    session.apply(&reference(&object), &object, Write::by("us")).await.unwrap();
    let rollout = wait(|wait| wait.rollout = Written::Known(true), "60s");
    let Readiness::Met { value, object } =
        session.wait_for(&reference(&object), &rollout, |_| {}).await.unwrap()
    else {
        panic!("it did not roll out");
    };
    assert_eq!((value, &object["status"]["readyReplicas"]), (None, &json!(3)));
}

#[tokio::test]
async fn a_wait_covers_an_object_and_a_value_that_appear_later() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("field").await);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "lb", "namespace": namespace.name() },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }], "selector": { "app": "x" } },
    });
    let ingress = wait(|wait| wait.field = Written::Known("status.loadBalancer.ingress".to_owned()), "60s");
    let target = reference(&service);
    let (waited, applied) = tokio::join!(
        session.wait_for(&target, &ingress, |_| {}),
        session.apply(&target, &service, Write::by("us"))
    );
    applied.unwrap();
    let Readiness::Met { value: Some(value), .. } = waited.unwrap() else { panic!("no address came") };
    assert!(value["loadBalancer"]["ingress"][0]["ip"].is_string(), "{value}");
}

#[tokio::test]
async fn a_wait_that_times_out_is_diagnosed() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("vain").await);
    let object = config_map(&namespace, "a", &json!({}));
    let field = wait(|wait| wait.field = Written::Known("status.never".to_owned()), "300ms");
    let Readiness::Unmet { diagnosis, object: None } =
        session.wait_for(&reference(&object), &field, |_| {}).await.unwrap()
    else {
        panic!("it is there");
    };
    assert_eq!(diagnosis.summary, "Wait Operation Failed");
    assert!(diagnosis.detail.contains("did not appear"), "{}", diagnosis.detail);

    session.apply(&reference(&object), &object, Write::by("us")).await.unwrap();
    let Readiness::Unmet { diagnosis, object: Some(_) } =
        session.wait_for(&reference(&object), &field, |_| {}).await.unwrap()
    else {
        panic!("it has no such field");
    };
    assert!(diagnosis.detail.contains("Wait Timeout"), "{}", diagnosis.detail);

    let condition = wait(|wait| wait.condition = Written::Known("Ready".to_owned()), "1h");
    let Readiness::Unmet { diagnosis, .. } =
        session.wait_for(&reference(&object), &condition, |_| {}).await.unwrap()
    else {
        panic!("a ConfigMap has no conditions");
    };
    assert!(diagnosis.detail.contains("Wait Timeout Cut Short"), "{}", diagnosis.detail);
}
