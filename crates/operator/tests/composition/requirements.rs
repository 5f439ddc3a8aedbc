//! What functions ask for: given to them, and watched for them.

use composition::protocol::{Match, ResourceSelector, SchemaSelector};
use functions::{FunctionError, RunRequest, RunResponse, response};
use serde_json::{Value, json};

use crate::fixture::{apply, delete, group, legacy_xrd, session, until};
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
