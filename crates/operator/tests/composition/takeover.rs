//! Taking over from Crossplane: nothing is recreated, and what is no longer desired is removed, also where an earlier
//! Crossplane owned fields by updates instead of server-side apply.

use std::collections::BTreeMap;

use cluster::{Session, Write};
use composition::naming::{COMPOSITE_MANAGER, child_name, composed_manager};
use composition::protocol::{RunRequest, RunResponse};
use functions::{FunctionError, ServeOptions, Server, Transport, response};
use serde_json::{Value, json};

use crate::fixture::{
    apply, composition, condition, condition_line, delete, get, is_true, legacy_xrd, reference, until,
    until_gone,
};
use crate::operators::{Operator, alone};
use crate::platform::{asked, desire, map};

const GROUP: &str = "takeover.example.org";
const FUNCTION: &str = "function-takeover";
/// The manager of Crossplane's updates.
const UPDATER: &str = "crossplane";

/// Composes one map with what the XR's tags say, and has no status to show.
async fn tagged(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    desire(&mut rsp, "map", map(&asked(&request, "tags")));
    Ok(rsp)
}

fn claim(labels: &Value, tags: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "App",
        "metadata": {"name": "old", "namespace": "default", "labels": labels},
        "spec": {
            "numbers": ["one", "three"], "tags": tags,
            "compositionRef": {"name": "takeover"},
            "resourceRef": {"apiVersion": format!("{GROUP}/v1"), "kind": "XApp", "name": "old-abcde"},
        },
    })
}

/// Writes an object as Crossplane's client does.
async fn create(session: &Session, object: &Value) -> Value {
    session.create(&reference(object), object, Write::by(UPDATER)).await.unwrap().object
}

/// The XR and its child as Crossplane leaves them; by `applied`, one that knows server-side apply.
async fn left_by_crossplane(session: &Session, applied: bool) -> (Value, Value) {
    let both = json!({"one": "1", "two": "2"});
    let xr = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "XApp",
        "metadata": {
            "name": "old-abcde",
            "labels": {
                "foo": "1", "bar": "2", "crossplane.io/composite": "old-abcde",
                "crossplane.io/claim-name": "old", "crossplane.io/claim-namespace": "default",
            },
            "finalizers": ["composite.apiextensions.crossplane.io"],
        },
        "spec": {
            "numbers": ["one", "three"], "tags": both,
            "compositionRef": {"name": "takeover"}, "compositionUpdatePolicy": "Automatic",
            "claimRef": {"apiVersion": format!("{GROUP}/v1"), "kind": "App", "namespace": "default", "name": "old"},
        },
    });
    let xr = create(session, &xr).await;
    let name = child_name("old-abcde-", xr["metadata"]["uid"].as_str().unwrap(), "map");
    let refs = json!({
        "apiVersion": xr["apiVersion"], "kind": "XApp", "metadata": {"name": "old-abcde"},
        "spec": {"resourceRefs": [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": name}]},
    });
    session.apply(&reference(&refs), &refs, Write::by(COMPOSITE_MANAGER).force()).await.unwrap();
    let mut child = map(&both);
    child["metadata"] = json!({
        "name": name, "namespace": "default", "generateName": "old-abcde-",
        "annotations": {"crossplane.io/composition-resource-name": "map"},
        "labels": {
            "crossplane.io/composite": "old-abcde",
            "crossplane.io/claim-name": "old", "crossplane.io/claim-namespace": "default",
        },
        "ownerReferences": [{
            "apiVersion": xr["apiVersion"], "kind": "XApp", "name": "old-abcde", "uid": xr["metadata"]["uid"],
            "controller": true, "blockOwnerDeletion": true,
        }],
    });
    let child = if applied {
        let manager = composed_manager("old-abcde", &format!("{GROUP}/v1/XApp").parse().unwrap());
        session.apply(&reference(&child), &child, Write::by(&manager).force()).await.unwrap().object
    } else {
        create(session, &child).await
    };
    // The status is written twice: by an apply of what functions want, and by an update of conditions.
    let wanted = json!({
        "apiVersion": xr["apiVersion"], "kind": "XApp", "metadata": {"name": "old-abcde"},
        "status": {"coolerField": "from before"},
    });
    let by_apply = Write::by(COMPOSITE_MANAGER).force().status();
    let mut xr = session.apply(&reference(&wanted), &wanted, by_apply).await.unwrap().object;
    let was = |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    xr["status"]["conditions"] = json!([
        was("Synced", "ReconcileSuccess"),
        was("Ready", "Available"),
        was("DatabaseReady", "Available")
    ]);
    xr["status"]["claimConditionTypes"] = json!(["DatabaseReady"]);
    let by_update = Write::by(UPDATER).status();
    let xr = session.replace(&reference(&xr), &xr, by_update).await.unwrap().object;
    (xr, child)
}

async fn check(applied: bool) {
    let (sandbox, _turn) = alone().await;
    let session = Session::new(sandbox.client().await);
    let options = ServeOptions::new("127.0.0.1:0", Transport::Insecure);
    let server = Server::bind(options).await.unwrap();
    let functions = BTreeMap::from([(FUNCTION.to_owned(), server.address().unwrap().to_string())]);
    tokio::spawn(server.run(tagged, std::future::pending()));
    apply(&session, &composition("takeover", GROUP, &[FUNCTION])).await;
    let xrd = apply(&session, &legacy_xrd(GROUP)).await;
    let installing = Operator::start(sandbox, functions.clone(), None);
    until(&session, &xrd, "it is offered", |xrd| is_true(xrd, "Offered")).await;
    installing.kill();

    let both = json!({"one": "1", "two": "2"});
    let labels = json!({"foo": "1", "bar": "2"});
    apply(&session, &claim(&labels, &both)).await;
    let (xr, child) = left_by_crossplane(&session, applied).await;
    let operator = Operator::start(sandbox, functions, None);
    let healthy = |object: &Value| is_true(object, "Healthy") && is_true(object, "Ready");
    let bound = until(&session, &claim(&labels, &both), "it is healthy", healthy).await;
    assert_eq!(condition_line(&bound, "DatabaseReady"), "DatabaseReady=True Available");
    let taken = until(&session, &xr, "it is healthy", healthy).await;
    assert_eq!(taken["metadata"]["uid"], xr["metadata"]["uid"]);
    assert_eq!(taken["status"].get("coolerField"), None, "no function wants it any more");
    assert_eq!(condition(&taken, "DatabaseReady").unwrap()["lastTransitionTime"], "2026-01-01T00:00:00Z");
    assert_eq!(get(&session, &child).await.unwrap()["metadata"]["uid"], child["metadata"]["uid"]);

    // What is removed from the claim is removed from XR and composed resource, whichever engine wrote it.
    apply(&session, &claim(&json!({"foo": "1"}), &json!({"one": "1"}))).await;
    let is_less = |xr: &Value| {
        xr["spec"]["tags"] == json!({"one": "1"}) && xr["metadata"]["labels"].get("bar").is_none()
    };
    let less = until(&session, &xr, "what was removed from the claim is gone", is_less).await;
    assert_eq!(less["metadata"]["labels"]["foo"], "1");
    assert_eq!(less["spec"]["compositionRef"]["name"], "takeover");
    until(&session, &child, "it has one entry", |map| map["data"] == json!({"one": "1"})).await;
    // As with Crossplane, the XR goes with its claim.
    delete(&session, &claim(&Value::Null, &Value::Null)).await;
    until_gone(&session, &xr).await;
    operator.kill();
}

#[tokio::test]
async fn what_crossplane_applied_is_taken_over() {
    check(true).await;
}

/// As Crossplane's end-to-end test PropagateFieldsRemovalToXRAfterUpgrade.
#[tokio::test]
async fn what_crossplane_wrote_before_it_knew_server_side_apply_is_taken_over() {
    check(false).await;
}
