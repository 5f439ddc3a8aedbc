//! With kubectl: invalid objects are rejected, conditions are waited for, columns are Crossplane's, and XRs scale.

use cluster::Write;
use functions::{RunRequest, response};
use serde_json::{Value, json};
use testkit::Sandbox;

use crate::fixture::{apply, composition, group, legacy_xrd, modern_xrd, reference, session, until, world};
use crate::platform::{Platform, desire, map};

/// What kubectl prints.
fn kubectl(arguments: &[&str]) -> String {
    let output = Sandbox::shared().kubectl(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The columns of a table.
fn columns(arguments: &[&str]) -> String {
    let printed = kubectl(arguments);
    printed.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Crossplane's TestXRDValidation and TestCompositionValidation, as far as the API server decides.
#[tokio::test]
async fn invalid_objects_are_rejected_on_write() {
    world();
    let (session, group) = (session(), group("invalid"));
    let refused = |written: Result<cluster::Reply, cluster::Error>, words: &str| {
        let error = written.unwrap_err();
        let status = error.status().unwrap_or_else(|| panic!("{error:?}"));
        assert_eq!(status.code, 422, "{words}: {}", status.message);
        assert!(status.message.contains(words), "{words}: {}", status.message);
    };
    let check = async |object: &Value, words: &str| {
        refused(session.create(&reference(object), object, Write::by("person")).await, words);
    };
    let check_change = async |object: &Value, words: &str| {
        refused(session.apply(&reference(object), object, Write::by("person").force()).await, words);
    };
    let changed = |object: &Value, pointer: &str, value: Value| {
        let mut changed = object.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    let mut xrd = legacy_xrd(&group);
    xrd["spec"]["scope"] = "LegacyCluster".into();
    check(&changed(&xrd, "/spec/scope", "Cluster".into()), "spec").await;
    check(&changed(&xrd, "/spec/scope", "Anywhere".into()), "spec.scope").await;
    check(&changed(&xrd, "/spec/names/plural", "xApps".into()), "spec.names").await;
    check(&changed(&xrd, "/spec/claimNames/plural", "Apps".into()), "spec.claimNames").await;
    let mut modern = modern_xrd(&group, "Namespaced");
    modern["spec"]["connectionSecretKeys"] = json!(["password"]);
    check(&modern, "spec").await;
    let mut modern = modern_xrd(&group, "Namespaced");
    modern["spec"]["claimNames"] = json!({"kind": "App", "plural": "apps"});
    check(&modern, "spec").await;
    // What was written once stays.
    apply(&session, &xrd).await;
    check_change(&changed(&xrd, "/spec/names/kind", "XOther".into()), "spec.names").await;
    check_change(&changed(&xrd, "/spec/claimNames/kind", "Other".into()), "spec.claimNames").await;
    check_change(&changed(&xrd, "/spec/group", "other.example.org".into()), "spec.group").await;

    let good = composition(&group, &group, &["function-a", "function-b"]);
    check(&changed(&good, "/spec/pipeline", json!([])), "spec.pipeline").await;
    check(&changed(&good, "/spec/pipeline/1/step", "run-function-a".into()), "spec.pipeline").await;
    check(&changed(&good, "/spec/mode", "Resources".into()), "spec.mode").await;
    let credentials = json!([{"name": "cloud", "source": "Secret"}]);
    let mut lacking = good.clone();
    lacking["spec"]["pipeline"][0]["credentials"] = credentials;
    check(&lacking, "credentials").await;
    let both = json!({"requiredResources": [{
        "requirementName": "a", "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "matchLabels": {"a": "b"},
    }]});
    let mut twofold = good.clone();
    twofold["spec"]["pipeline"][0]["requirements"] = both;
    check(&twofold, "requiredResources").await;
    apply(&session, &good).await;
    check_change(&changed(&good, "/spec/compositeTypeRef/kind", "XOther".into()), "spec.compositeTypeRef")
        .await;
}

#[tokio::test]
async fn kubectl_waits_for_conditions_and_shows_crossplanes_columns() {
    let one = |request: RunRequest| async move {
        let mut rsp = response::to(&request);
        desire(&mut rsp, "map", map(&json!({})));
        Ok(rsp)
    };
    let platform = Platform::new("kubectl", one).await;
    let group = &platform.group;
    let xrd = format!("xrd/xapps.{group}");
    for condition in ["Established", "Offered"] {
        kubectl(&["wait", &format!("--for=condition={condition}"), "--timeout=60s", &xrd]);
    }
    let session = session();
    apply(&session, &platform.claim("kubectl", json!({}))).await;
    let claim = format!("apps.{group}/kubectl");
    kubectl(&["wait", "--for=condition=Ready", "--timeout=60s", "-n", "default", &claim]);
    assert_eq!(columns(&["get", &xrd]), "NAME ESTABLISHED OFFERED AGE");
    assert_eq!(columns(&["get", "composition", group]), "NAME XR-KIND XR-APIVERSION AGE");
    let selector = format!("crossplane.io/composition-name={group}");
    assert_eq!(columns(&["get", "comprev", "-l", &selector]), "NAME REVISION XR-KIND XR-APIVERSION AGE");
    assert_eq!(
        columns(&["get", "functions.pkg.crossplane.io", &platform.function]),
        "NAME INSTALLED HEALTHY PACKAGE AGE"
    );
    assert_eq!(columns(&["get", &claim, "-n", "default"]), "NAME SYNCED READY CONNECTION-SECRET AGE");
    let xrs = format!("xapps.{group}");
    assert_eq!(columns(&["get", &xrs]), "NAME SYNCED READY COMPOSITION AGE");
    assert_eq!(
        columns(&["get", &xrs, "-o", "wide"]),
        "NAME SYNCED READY COMPOSITION COMPOSITIONREVISION AGE"
    );
    // By Crossplane's categories.
    assert!(
        kubectl(&["get", "claim", "-n", "default", "-o", "name"]).contains(&format!("app.{group}/kubectl"))
    );
    assert!(kubectl(&["get", "composite", "-o", "name"]).contains(group.as_str()));
}

/// As Crossplane's end-to-end test for subresources.
#[tokio::test]
async fn an_xr_with_a_scale_subresource_can_be_scaled() {
    let count = |request: RunRequest| async move {
        let mut rsp = response::to(&request);
        let replicas = request.observed.composite.object["spec"]["replicas"].clone();
        desire(&mut rsp, "map", map(&json!({"replicas": replicas.to_string()})));
        rsp.desired.composite =
            composition::protocol::Resource::of(json!({"status": {"replicas": replicas}}));
        Ok(rsp)
    };
    let scalable = |group: &str| {
        let mut xrd = modern_xrd(group, "Cluster");
        let version = &mut xrd["spec"]["versions"][0];
        version["subresources"] = json!({"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}});
        let properties = &mut version["schema"]["openAPIV3Schema"]["properties"];
        properties["spec"]["properties"] = json!({"replicas": {"type": "integer"}});
        properties["status"]["properties"]["replicas"] = json!({"type": "integer"});
        xrd
    };
    let platform = Platform::with("scaled", count, scalable, &[]).await;
    let session = session();
    let spec = json!({"replicas": 1, "crossplane": {"compositionRef": {"name": platform.group}}});
    let xr = platform.object("XApp", "scaled", None, &spec);
    apply(&session, &xr).await;
    until(&session, &xr, "it counts one", |xr| xr["status"]["replicas"] == 1).await;
    kubectl(&["scale", "--replicas=3", &format!("xapps.{}/scaled", platform.group)]);
    until(&session, &xr, "it counts three", |xr| xr["status"]["replicas"] == 3).await;
}
