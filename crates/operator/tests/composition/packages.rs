//! A Function with a package runs without hand work: the operator makes what it needs, and renews its certificate.
//!
//! The sandbox runs no containers, so a function of this process stands behind the Service, with the certificate that a Pod would
//! mount.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster::{Selection, Session};
use composition::protocol::{RunRequest, RunResponse};
use functions::certs::{Authority, Validity, service_names};
use functions::{FunctionError, response};
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};

use crate::fixture::{
    World, apply, composition, condition, condition_line, delete, get, group, is_true, legacy_xrd, session,
    until, until_gone, until_recorded, world,
};
use crate::operators::{Offer, alone};
use crate::platform::{asked, desire, map};

/// Composes a map with what is asked for.
async fn compose(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    desire(&mut rsp, "map", map(&json!({"word": asked(&request, "word")})));
    Ok(rsp)
}

fn function(name: &str, version: &str) -> Value {
    json!({
        "apiVersion": "pkg.crossplane.io/v1", "kind": "Function",
        "metadata": {"name": name},
        "spec": {
            "package": format!("xpkg.example.org/test/{name}:{version}"),
            "runtimeConfigRef": {"name": name},
        },
    })
}

fn config(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "pkg.crossplane.io/v1beta1", "kind": "DeploymentRuntimeConfig", "metadata": {"name": name},
        "spec": {"deploymentTemplate": {"spec": {
            "replicas": replicas, "selector": {},
            "template": {"spec": {"containers": [{"name": "package-runtime", "args": ["--debug"]}]}},
        }}},
    })
}

/// An object in the namespace of the operator.
fn own(api_version: &str, kind: &str, name: &str) -> Value {
    let metadata = json!({"name": name, "namespace": world().namespace});
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})
}

/// The revisions of a function.
async fn revisions(session: &Session, function: &str) -> Vec<Value> {
    let labels = Some(format!("pkg.crossplane.io/package={function}"));
    let selection = Selection { labels, ..Selection::default() };
    session.list(&"pkg.crossplane.io/v1/FunctionRevision".parse().unwrap(), &selection).await.unwrap().items
}

/// Waits for the certificate of a function, and does what the kubelet does with it.
async fn mount(session: &Session, secret: &Value, folder: &Path, is_new: impl Fn(&Value) -> bool) -> Value {
    let secret = until(session, secret, "it has the certificate", |secret| {
        secret["data"]["tls.crt"].is_string() && is_new(secret)
    })
    .await;
    for key in ["tls.crt", "tls.key", "ca.crt"] {
        fs::write(folder.join(key), decoded(&secret, key)).unwrap();
    }
    secret
}

fn decoded(secret: &Value, key: &str) -> Vec<u8> {
    STANDARD.decode(secret["data"][key].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_package_runs_and_its_certificate_is_renewed() {
    let (session, World { namespace, packaged: (name, address), .. }) = (session(), world());
    // Pods have to meet the level that deploy/ enforces.
    let restricted = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    });
    apply(&session, &restricted).await;
    let object = apply(&session, &function(name, "v1")).await;
    let lacks = |function: &Value| {
        condition(function, "Healthy")
            .is_some_and(|healthy| healthy["message"].as_str().unwrap_or_default().contains("config"))
    };
    until(&session, &object, "it says that its config is missing", lacks).await;
    apply(&session, &config(name, 2)).await;

    let folder = tempfile::tempdir().unwrap();
    let secret = own("v1", "Secret", &format!("{name}-tls-server"));
    mount(&session, &secret, folder.path(), |_| true).await;
    let _served = world().serve_with(&address.to_string(), folder.path(), compose);

    let group = group("packaged");
    apply(&session, &composition(&group, &group, &[name])).await;
    apply(&session, &legacy_xrd(&group)).await;
    let claim = |word: &str| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "App", "metadata": {"name": "app", "namespace": "default"},
            "spec": {"word": word, "compositionRef": {"name": group}},
        })
    };
    apply(&session, &claim("first")).await;
    until(&session, &claim("first"), "it is ready", |claim| {
        is_true(claim, "Ready") && is_true(claim, "Healthy")
    })
    .await;

    let healthy = until(&session, &object, "it is healthy", |object| is_true(object, "Healthy")).await;
    assert_eq!(condition_line(&healthy, "Installed"), "Installed=True ActivePackageRevision");
    assert_eq!(condition_line(&healthy, "Healthy"), "Healthy=True HealthyPackageRevision");
    let said = condition(&healthy, "Installed").unwrap()["message"].as_str().unwrap();
    assert!(said.contains("dependencies are not resolved"), "{said}");
    until_recorded(&session, &healthy, "Successfully installed package revision").await;
    let first = revisions(&session, name).await.remove(0);
    assert_eq!(healthy["status"]["currentRevision"], first["metadata"]["name"]);
    assert_eq!(first["status"]["endpoint"], format!("dns:///{name}.{namespace}:9443"));
    assert_eq!(condition_line(&first, "RevisionHealthy"), "RevisionHealthy=True HealthyPackageRevision");
    assert_eq!(condition_line(&first, "RuntimeHealthy"), "RuntimeHealthy=True HealthyPackageRevision");
    let deployment = own("apps/v1", "Deployment", first["metadata"]["name"].as_str().unwrap());
    let running = get(&session, &deployment).await.unwrap();
    assert_eq!((&running["spec"]["replicas"], &running["status"]["readyReplicas"]), (&json!(2), &json!(2)));

    // A certificate that ends soon is renewed, and neither side is restarted.
    let stored = get(&session, &own("v1", "Secret", "plimsoll-root-ca")).await.unwrap();
    let authority = Authority::from_pem(&decoded(&stored, "tls.crt"), &decoded(&stored, "tls.key")).unwrap();
    let (host, now) = (format!("{name}.{namespace}"), Timestamp::now());
    let ending = authority.issue_server(&host, &service_names(&host), 35, now - (24 * 30).hours()).unwrap();
    let mut ends_soon = secret.clone();
    ends_soon["data"] = json!({
        "tls.crt": STANDARD.encode(&ending.certificate), "tls.key": STANDARD.encode(&ending.key),
        "ca.crt": STANDARD.encode(&ending.authority),
    });
    let ends_soon = apply(&session, &ends_soon).await;
    // The certificate is checked every hour, and with every change of the runtime.
    apply(&session, &config(name, 3)).await;
    let is_new = |secret: &Value| secret["data"]["tls.crt"] != ends_soon["data"]["tls.crt"];
    let renewed = mount(&session, &secret, folder.path(), is_new).await;
    let dates = Validity::of(&decoded(&renewed, "tls.crt")).unwrap();
    assert!(dates.until > now + (24 * 365 * 2).hours(), "{dates:?}");
    until(&session, &deployment, "it has three replicas", |running| running["spec"]["replicas"] == 3).await;
    apply(&session, &claim("second")).await;
    let ready = |claim: &Value| {
        let synced = condition(claim, "Ready").and_then(|ready| ready["observedGeneration"].as_i64());
        is_true(claim, "Ready") && synced == claim["metadata"]["generation"].as_i64()
    };
    until(&session, &claim("second"), "it is ready again", ready).await;

    // An upgrade: another revision is active, and the one before no longer runs.
    let upgraded = apply(&session, &function(name, "v2")).await;
    until_gone(&session, &deployment).await;
    let new = |function: &Value| {
        function["status"]["currentRevision"] != healthy["status"]["currentRevision"]
            && is_true(function, "Healthy")
    };
    let current = until(&session, &upgraded, "the new revision is healthy", new).await;
    let states: Vec<String> = {
        let state = |revision: &Value| {
            format!("{} {}", revision["spec"]["revision"], revision["spec"]["desiredState"])
        };
        let mut states: Vec<String> = revisions(&session, name).await.iter().map(state).collect();
        states.sort();
        states
    };
    assert_eq!(states, [r#"1 "Inactive""#, r#"2 "Active""#]);
    let service = get(&session, &own("v1", "Service", name)).await.unwrap();
    assert_eq!(
        service["spec"]["selector"]["pkg.crossplane.io/revision"],
        current["status"]["currentRevision"]
    );
    assert_eq!(service["spec"]["clusterIP"], "None");

    // A deleted authority is replaced, and so is the certificate.
    delete(&session, &own("v1", "Secret", "plimsoll-root-ca")).await;
    apply(&session, &config(name, 4)).await;
    let reissued = |secret: &Value| secret["data"]["ca.crt"] != renewed["data"]["ca.crt"];
    mount(&session, &secret, folder.path(), reissued).await;
    let replaced = get(&session, &own("v1", "Secret", "plimsoll-root-ca")).await.unwrap();
    assert_ne!(replaced["data"]["tls.crt"], stored["data"]["tls.crt"]);

    // Everything goes with the Function.
    delete(&session, &claim("second")).await;
    until_gone(&session, &claim("second")).await;
    delete(&session, &upgraded).await;
    until_gone(&session, &service).await;
    until_gone(&session, &secret).await;
}

#[tokio::test]
async fn what_is_not_of_the_function_is_left_alone() {
    let session = session();
    let check = async |kind: &str, suffix: &str, content: Value| {
        let name = format!("function-taken-{}-{}", kind.to_lowercase(), std::process::id());
        let mut theirs = own("v1", kind, &format!("{name}{suffix}"));
        theirs.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        let theirs = apply(&session, &theirs).await;
        let mut object = function(&name, "v1");
        object["spec"].as_object_mut().unwrap().remove("runtimeConfigRef");
        let object = apply(&session, &object).await;
        let says = |function: &Value| {
            condition(function, "Healthy").is_some_and(|healthy| {
                healthy["message"].as_str().unwrap_or_default().contains("exists and is not of this Function")
            })
        };
        until(&session, &object, "it says that the object is another's", says).await;
        assert_eq!(
            get(&session, &theirs).await.unwrap()["metadata"]["resourceVersion"],
            theirs["metadata"]["resourceVersion"]
        );
        delete(&session, &object).await;
        delete(&session, &theirs).await;
    };
    check("Service", "", json!({"spec": {"ports": [{"port": 80}]}})).await;
    check("Secret", "-tls-server", json!({"data": {"password": "aHVudGVyMg=="}})).await;
}

#[tokio::test]
async fn a_package_whose_function_is_called_at_the_endpoint_of_a_flag_does_not_run() {
    let (sandbox, _turn) = alone().await;
    let offer = Offer::new(sandbox, "flag").await;
    let name = offer.functions.keys().next().unwrap().clone();
    let mut packaged = function(&name, "v1");
    packaged["spec"].as_object_mut().unwrap().remove("runtimeConfigRef");
    apply(&offer.session, &packaged).await;
    let operator = offer.start();
    let healthy = until(&offer.session, &packaged, "it is healthy", |it| is_true(it, "Healthy")).await;
    let revisions = revisions(&offer.session, &name).await;
    let metadata = json!({"name": "plimsoll-root-ca", "namespace": "default"});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata});
    let authority = get(&offer.session, &secret).await;
    // The operators of other tests, which have no such flag, would run the package.
    delete(&offer.session, &packaged).await;
    operator.kill();
    let about = condition(&healthy, "Installed").unwrap()["message"].as_str().unwrap();
    assert_eq!(about, "called at the endpoint of --function; no package is installed");
    assert_eq!(revisions, Vec::<Value>::new());
    assert_eq!(authority, None, "nothing needs certificates");
}
