//! A recording of a pass, as a user sees it who may read an XR and what it is composed of, but no Secrets.

use std::collections::BTreeMap;

use base64::Engine as _;
use composition::protocol::{Match, Resource, ResourceSelector, SecretData};
use functions::{FunctionError, RunRequest, RunResponse, response};
use operator::composition::requests::{OpeningKey, open};
use serde_json::{Value, json};
use testkit::Sandbox;

use crate::fixture::{apply, is_true, session, until};
use crate::hostile_requests::{asking, create, is_done, request_with, user_of};
use crate::platform::{Platform, asked_text, desire, map};

/// The value in a Secret that the function requires, and the one that it publishes itself.
const REQUIRED: &str = "correct-horse-battery";
const PUBLISHED: &str = "staple-of-the-function";

/// Puts both values wherever a function can put a value.
async fn careless(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    let selector = ResourceSelector {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        matching: Match::Name("login".to_owned()),
        namespace: Some(asked_text(&request, "place")),
    };
    rsp.requirements.resources.insert("login".to_owned(), selector);
    let found = request.required_resources.get("login").and_then(|found| found.first());
    let value = found.and_then(|secret| secret.object["data"]["password"].as_str());
    let Some(encoded) = value.map(str::to_owned) else { return Ok(rsp) };
    let decoded = base64::engine::general_purpose::STANDARD.decode(&encoded).unwrap();
    let decoded = String::from_utf8(decoded).unwrap();
    let said = format!("postgres://admin:{decoded}@db, {encoded}, {PUBLISHED}");
    let details = BTreeMap::from([("password".to_owned(), PUBLISHED.as_bytes().to_vec())]);
    rsp.desired.composite = Resource {
        connection_details: SecretData::from(details),
        ..Resource::of(json!({"status": {"coolerField": said}}))
    };
    desire(&mut rsp, "map", map(&json!({"url": said, "password": PUBLISHED, "zone": "eu"})));
    let mut context = rsp.context.take().unwrap_or_default();
    context.insert("login".to_owned(), json!({"url": said, "zone": "eu"}));
    rsp.context = Some(context);
    response::normal(&mut rsp, format!("connected to {said}"));
    response::condition_true(&mut rsp, "Connected", "Available").with_message(&said);
    Ok(rsp)
}

#[tokio::test]
async fn values_of_secrets_are_masked_wherever_a_function_puts_them() {
    let platform = Platform::new("recordings", careless).await;
    let (session, namespace) = (session(), Sandbox::shared().namespace("recordings").await);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace.name(), "name": "login"},
        "stringData": {"password": REQUIRED},
    });
    apply(&session, &secret).await;
    let xr = json!({
        "place": namespace.name(), "compositionRef": {"name": platform.group},
        "writeConnectionSecretToRef": {"namespace": namespace.name(), "name": "published"},
    });
    let xr = apply(&session, &platform.object("XApp", "recorded", None, &xr)).await;
    // The second pass is recorded: the XR shows what the first one made of the values.
    let xr = until(&session, &xr, "it is ready", |xr| is_true(xr, "Ready")).await;
    assert!(xr["status"]["coolerField"].as_str().unwrap().contains(REQUIRED));

    let user = asking(namespace.name()).await;
    let rights = "rbac.authorization.k8s.io";
    let name = format!("reads-{}", namespace.name());
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let role = json!({
        "apiVersion": format!("{rights}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
        "rules": [
            rule(&platform.group, "xapps", &["get", "patch"]),
            rule("", "configmaps", &["get"]),
            rule("apiextensions.crossplane.io", "compositionrevisions", &["get"]),
        ],
    });
    let binding = json!({
        "apiVersion": format!("{rights}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": rights, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "apiGroup": rights, "name": user_of(namespace.name())}],
    });
    apply(&session, &role).await;
    apply(&session, &binding).await;
    let question = json!({"xr": {"apiVersion": xr["apiVersion"], "kind": "XApp", "name": "recorded"}});
    let key = OpeningKey::new().unwrap();
    let mut request = request_with(&user, namespace.name(), "inspect", &question, key.public()).await;
    request["spec"]["operation"] = "Inspect".into();
    create(&user, &request).await.unwrap();
    let done = until(&session, &request, "it is answered", is_done).await;
    assert_eq!(done["status"]["state"], "Answered", "{done:#}");
    let recording: Value = open(done["status"]["answer"].as_str().unwrap(), key).unwrap();

    let text = recording.to_string();
    let encoded = |value: &str| base64::engine::general_purpose::STANDARD.encode(value);
    for value in [REQUIRED.to_owned(), encoded(REQUIRED), PUBLISHED.to_owned(), encoded(PUBLISHED)] {
        assert!(!text.contains(&value), "{value} in {recording:#}");
    }
    // They are masked and not left out: each of these may be read.
    let returned = &recording["steps"][0]["calls"].as_array().unwrap().last().unwrap()["returned"];
    let masked = [
        &recording["composite"]["value"]["status"]["coolerField"],
        &recording["observed"]["map"]["value"]["data"]["url"],
        &returned["composite"]["value"]["status"]["coolerField"],
        &returned["resources"]["map"]["value"]["data"]["url"],
        &returned["results"][0]["message"],
        &returned["conditions"][0]["message"],
    ];
    for shown in masked {
        let shown = shown.as_str().unwrap_or_else(|| panic!("{recording:#}"));
        assert!(shown.contains("postgres://admin:(sensitive hmac:"), "{shown}");
    }
    assert_eq!(returned["resources"]["map"]["value"]["data"]["zone"], "eu");
    // The context may hold anything in any form, so it is not shown to this user at all.
    assert!(returned["context"]["hidden"].is_string(), "{returned:#}");
}
