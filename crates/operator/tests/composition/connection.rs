//! Connection details from a function to the Secret of a claim, through nested XRs, and everything gone in the end.

use std::collections::BTreeMap;

use base64::Engine as _;
use composition::protocol::SecretData;
use functions::{FunctionError, RunRequest, RunResponse, response};
use serde_json::{Value, json};

use crate::fixture::{
    Served, apply, composition, delete, function, get, group, is_true, legacy_xrd, session, until,
    until_gone, world,
};
use crate::platform::{asked_text, children};

/// The parent composes another XR; both say something about their connection.
async fn parent_and_child(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    let input =
        request.input.as_ref().and_then(|input| input["role"].as_str()).unwrap_or_default().to_owned();
    let xr = &request.observed.composite.object;
    let details = [("super", "secret\n"), ("left", "behind")];
    let details: BTreeMap<String, Vec<u8>> =
        details.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())).into_iter().collect();
    rsp.desired.composite = composition::protocol::Resource {
        connection_details: SecretData::from(details),
        ..composition::protocol::Resource::of(json!({"status": {"coolerField": "I'm cooler!"}}))
    };
    if input == "parent" {
        let child = json!({
            "apiVersion": xr["apiVersion"], "kind": xr["kind"],
            "spec": {"compositionRef": {"name": asked_text(&request, "child")}},
        });
        let child = composition::protocol::Resource::of(child);
        rsp.desired.resources.insert("child".to_owned(), child);
    }
    response::normal(&mut rsp, "I am doing a compose!");
    Ok(rsp)
}

/// Crossplane's TestLegacyComposition.
#[tokio::test]
async fn a_claim_gets_its_connection_details_and_its_deletion_removes_everything() {
    let session = session();
    let (group, served) = (group("connection"), world().serve(parent_and_child));
    let served: Served = served;
    apply(&session, &function("function-connection", &served.endpoint)).await;
    let (parent, child) = (format!("parent-{group}"), format!("child-{group}"));
    for (name, role) in [(&parent, "parent"), (&child, "child")] {
        let mut made = composition(name, &group, &["function-connection", "function-auto-ready"]);
        made["spec"]["writeConnectionSecretsToNamespace"] = "default".into();
        made["spec"]["pipeline"][0]["input"] =
            json!({"apiVersion": "example.org/v1", "kind": "Input", "role": role});
        apply(&session, &made).await;
    }
    let mut xrd = legacy_xrd(&group);
    xrd["spec"]["connectionSecretKeys"] = json!(["super"]);
    apply(&session, &xrd).await;
    let secret_name = group.split('.').next().unwrap().to_owned();
    let claim = json!({
        "apiVersion": format!("{group}/v1"), "kind": "App",
        "metadata": {"name": "connection", "namespace": "default"},
        "spec": {
            "compositionRef": {"name": parent}, "child": child, "compositeDeletePolicy": "Foreground",
            "writeConnectionSecretToRef": {"name": secret_name},
        },
    });
    apply(&session, &claim).await;
    let ready = |claim: &Value| is_true(claim, "Ready") && claim["status"]["connectionDetails"].is_object();
    let shown = until(&session, &claim, "it is ready and connected", ready).await;
    assert_eq!(shown["status"]["coolerField"], "I'm cooler!");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret_name, "namespace": "default"},
    });
    let secret = get(&session, &secret).await.unwrap();
    let expected = base64::engine::general_purpose::STANDARD.encode("secret\n");
    assert_eq!(secret["data"], json!({"super": expected}), "what the XRD does not let out stays");
    assert_eq!(secret["type"], "connection.crossplane.io/v1alpha1");

    let xr = json!({
        "apiVersion": claim["apiVersion"], "kind": "XApp", "metadata": {"name": shown["spec"]["resourceRef"]["name"]},
    });
    let xr = get(&session, &xr).await.unwrap();
    let nested = children(&xr).await;
    assert_eq!(nested.len(), 1);
    assert_eq!(nested[0]["metadata"]["labels"]["crossplane.io/composite"], xr["metadata"]["name"]);
    delete(&session, &claim).await;
    until_gone(&session, &claim).await;
    assert_eq!(get(&session, &xr).await, None, "in the foreground the XR is gone before the claim");
    assert_eq!(get(&session, &nested[0]).await, None);
}
