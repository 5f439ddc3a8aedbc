//! What functions ask for: given to them, and watched for them.

use std::collections::BTreeMap;

use composition::protocol::{Match, ResourceSelector, SchemaSelector};
use functions::{FunctionError, RunRequest, RunResponse, response};
use http::Request;
use kube::client::Body;
use serde_json::{Value, json};

use crate::crash::maps;
use crate::fixture::{apply, condition, delete, group, is_true, legacy_xrd, session, until};
use crate::operators::{Offer, Operator, alone};
use crate::platform::{Platform, asked_text, map};

fn status(rsp: &mut RunResponse, text: impl Into<String>) {
    let status = json!({"status": {"coolerField": text.into()}});
    rsp.desired.composite = composition::protocol::Resource::of(status);
}

/// Echoes what is in the ConfigMap it requires, by name.
async fn echo(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    // No answer holds for long enough to be the reason of another pass.
    rsp.meta.ttl = None;
    let selector = ResourceSelector {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        matching: Match::Name(asked_text(&request, "from")),
        namespace: Some("default".to_owned()),
    };
    rsp.requirements.resources.insert("map".to_owned(), selector);
    match request.required_resources.get("map").map(Vec::as_slice) {
        None => {}
        Some([map]) => status(&mut rsp, map.object["data"]["value"].as_str().unwrap_or_default()),
        Some(_) => {
            response::fatal(&mut rsp, "there is no such map");
        }
    }
    Ok(rsp)
}

/// Crossplane's TestRequiredResources; what is not there yet is watched too.
#[tokio::test]
async fn a_change_of_a_required_resource_causes_a_reconcile() {
    let platform = Platform::new("required", echo).await;
    let session = session();
    let name = group("required").split('.').next().unwrap().to_owned();
    let claim = platform.claim("required", json!({"from": name}));
    apply(&session, &claim).await;
    let failed = |xr: &Value| crate::fixture::condition_line(xr, "Synced") == "Synced=False ReconcileError";
    platform.xr(&claim, "it fails without the map", failed).await;

    let mut given = map(&json!({"value": "first"}));
    given["metadata"]["name"] = name.into();
    apply(&session, &given).await;
    let says = |text: &'static str| move |claim: &Value| claim["status"]["coolerField"] == text;
    until(&session, &claim, "it says what the map says", says("first")).await;
    given["data"]["value"] = "second".into();
    apply(&session, &given).await;
    until(&session, &claim, "it says what the map says now", says("second")).await;
    delete(&session, &given).await;
    platform.xr(&claim, "it misses the map", failed).await;
}

/// Crossplane's TestRequiredSchemas, and requirements that the Composition makes.
#[tokio::test]
async fn schemas_are_complete_and_bootstrap_requirements_are_given_at_once() {
    let run = |request: RunRequest| async move {
        let mut rsp = response::to(&request);
        let selector = SchemaSelector { api_version: "v1".to_owned(), kind: "ConfigMap".to_owned() };
        rsp.requirements.schemas.insert("map".to_owned(), selector);
        let Some(schema) = request.required_schemas.get("map") else { return Ok(rsp) };
        let schema = schema.openapi_v3.clone().unwrap_or_default();
        let name = schema["properties"]["metadata"]["properties"]["name"]["type"].as_str().unwrap_or("none");
        let given = request.required_resources.get("given").map_or(0, Vec::len);
        status(
            &mut rsp,
            format!(
                "name: {name}, given: {given}, references: {}",
                Value::Object(schema.clone()).to_string().contains("$ref")
            ),
        );
        Ok(rsp)
    };
    let platform = Platform::with("schemas", run, legacy_xrd, &[]).await;
    let session = session();
    let mut requiring = crate::fixture::composition(&platform.group, &platform.group, &[&platform.function]);
    requiring["spec"]["pipeline"][0]["requirements"] = json!({"requiredResources": [
        // Every namespace has this one.
        {"requirementName": "given", "apiVersion": "v1", "kind": "ConfigMap", "namespace": "kube-system", "name": "kube-root-ca.crt"},
    ]});
    apply(&session, &requiring).await;
    let claim = platform.claim("schemas", json!({}));
    apply(&session, &claim).await;
    let says = |claim: &Value| claim["status"]["coolerField"] == "name: string, given: 1, references: false";
    until(&session, &claim, "the function has all it asked for", says).await;
}

fn labelled(kind: &str, value: &str) -> ResourceSelector {
    ResourceSelector {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        matching: Match::Labels(BTreeMap::from([("of".to_owned(), value.to_owned())])),
        namespace: None,
    }
}

/// A function that requires a lot and never answers.
#[tokio::test]
async fn a_function_that_requires_much_and_never_answers_holds_up_no_other() {
    let group = group("much");
    let of = group.split('.').next().unwrap().to_owned();
    let session = session();
    for number in 0..4 {
        let mut large = map(&json!({"text": "x".repeat(500_000)}));
        large["metadata"]["name"] = format!("{of}-{number}").into();
        large["metadata"]["labels"] = json!({"of": of});
        apply(&session, &large).await;
    }
    let hungry = Platform::new("much", move |request: RunRequest| {
        let of = of.clone();
        async move {
            if request.required_resources.contains_key("all") {
                std::future::pending::<()>().await;
            }
            let mut rsp = response::to(&request);
            rsp.requirements.resources.insert("all".to_owned(), labelled("ConfigMap", &of));
            Ok(rsp)
        }
    })
    .await;
    for number in 0..30 {
        apply(&session, &hungry.claim(&format!("much-{number}"), json!({}))).await;
    }
    let stuck = |xr: &Value| !is_true(xr, "Synced") && condition(xr, "Synced").is_some();
    hungry.xr(&hungry.claim("much-0", json!({})), "its function does not answer", stuck).await;

    let modest = Platform::new("modest", maps).await;
    for number in 0..10 {
        apply(&session, &modest.claim(&format!("modest-{number}"), json!({"maps": "a"}))).await;
    }
    for number in 0..10 {
        let claim = modest.claim(&format!("modest-{number}"), json!({"maps": "a"}));
        until(&session, &claim, "it is ready", |claim| is_true(claim, "Ready")).await;
    }
}

/// A user who may watch all Secrets with a label gets every one that is given it later.
#[tokio::test]
async fn secrets_that_are_required_by_labels_are_listed_and_not_watched() {
    let (sandbox, _turn) = alone().await;
    let run = |request: RunRequest| async move {
        let mut rsp = response::to(&request);
        rsp.requirements.resources.insert("secrets".to_owned(), labelled("Secret", "listed"));
        if let Some(found) = request.required_resources.get("secrets") {
            status(&mut rsp, format!("{} found", found.len()));
        }
        Ok::<_, FunctionError>(rsp)
    };
    let offer = Offer::with(sandbox, "listed", run).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "listed", "namespace": "default", "labels": {"of": "listed"}},
    });
    apply(&offer.session, &secret).await;
    let seen: std::sync::Arc<std::sync::Mutex<Vec<String>>> = std::sync::Arc::default();
    let (functions, requests) = (offer.functions.clone(), std::sync::Arc::clone(&seen));
    let operator = Operator::start_with(functions, async move || {
        let client = sandbox.client().await;
        let service = tower::service_fn(move |request: Request<Body>| {
            requests.lock().unwrap().push(request.uri().to_string());
            let client = client.clone();
            async move { client.send(request).await }
        });
        kube::Client::new(service, "default")
    });
    let xr = offer.object("XApp", None, "");
    apply(&offer.session, &xr).await;
    let says = |xr: &Value| xr["status"]["coolerField"] == "1 found";
    until(&offer.session, &xr, "it has what it requires", says).await;
    operator.kill();
    let seen = seen.lock().unwrap();
    let of_secrets = seen.iter().filter(|uri| uri.contains("/secrets?") && uri.contains("labelSelector"));
    let (watched, listed): (Vec<_>, Vec<_>) = of_secrets.partition(|uri| uri.contains("watch=true"));
    assert!(!listed.is_empty() && watched.is_empty(), "{listed:?} {watched:?}");
}
