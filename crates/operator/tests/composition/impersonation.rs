//! Composing as a ServiceAccount of the tenant: RBAC decides what an XR or a claim can be made of.

use std::collections::BTreeMap;

use cluster::Session;
use functions::{FunctionError, RunRequest, RunResponse, ServeOptions, Server, Transport, response};
use serde_json::{Value, json};
use testkit::Sandbox;

use crate::fixture::{
    apply, composition, condition, connect, delete, get, group, is_true, legacy_xrd, modern_xrd, session,
    until, until_gone, until_recorded,
};
use crate::operators::{Operator, alone};
use crate::platform::{Platform, asked, desire};

/// The account that `deploy/roles-impersonation.yaml` lets the operator act as.
pub(crate) const ACCOUNT: &str = "plimsoll-composer";

/// Composes a map with the XR's `data` in the namespace it asks for, unless there is no data.
async fn compose_map(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    let (data, namespace) = (asked(&request, "data"), asked(&request, "target"));
    if data.is_object() {
        let metadata = json!({"namespace": namespace});
        desire(
            &mut rsp,
            "map",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}),
        );
    }
    Ok(rsp)
}

/// Lets the operator act as the account.
pub(crate) fn allow_impersonation(sandbox: &Sandbox) {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/roles-impersonation.yaml");
    let applied = sandbox.kubectl(&["apply", "--server-side", "--filename", manifest]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
}

/// Serves [`compose_map`] as a function; where.
async fn serve() -> BTreeMap<String, String> {
    let options = ServeOptions::new("127.0.0.1:0", Transport::Insecure);
    let server = Server::bind(options).await.unwrap();
    let functions = BTreeMap::from([("function-map".to_owned(), server.address().unwrap().to_string())]);
    tokio::spawn(server.run(compose_map, std::future::pending()));
    functions
}

pub(crate) async fn tenant(session: &Session, name: &str) {
    apply(session, &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    let metadata = json!({"name": ACCOUNT, "namespace": name});
    apply(session, &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})).await;
}

/// Lets `subject` use these verbs on ConfigMaps in `namespace`.
pub(crate) async fn grant(session: &Session, namespace: &str, verbs: &[&str], subject: Value) {
    let metadata = json!({"name": "composer", "namespace": namespace});
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata,
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "composer"},
        "subjects": [subject],
    });
    apply(session, &role).await;
    apply(session, &binding).await;
}

fn synced(object: &Value) -> &str {
    condition(object, "Synced").and_then(|synced| synced["message"].as_str()).unwrap_or_default()
}

#[tokio::test]
async fn a_composition_names_the_service_account_that_writes() {
    let platform =
        Platform::with("as-tenant", compose_map, |group| modern_xrd(group, "Namespaced"), &[]).await;
    let session = session();
    allow_impersonation(Sandbox::shared());
    let mut named = composition(&platform.group, &platform.group, &[&platform.function]);
    named["metadata"]["annotations"] = json!({"plimsoll.dev/service-account": ACCOUNT});
    apply(&session, &named).await;

    let own = platform.group.split('.').next().unwrap();
    tenant(&session, own).await;
    let xr = |data: Value| {
        let spec = json!({"data": data, "crossplane": {"compositionRef": {"name": platform.group}}});
        platform.object("XApp", "app", Some(own), &spec)
    };
    // The operator has every right on ConfigMaps; the account has none.
    apply(&session, &xr(json!({"a": "1"}))).await;
    let missing = format!(
        "ServiceAccount {own}/{ACCOUNT} is not allowed to [create, update, patch, delete] resource configmaps in namespace \
         {own}. Grant it with a Role and a RoleBinding"
    );
    let refused =
        until(&session, &xr(Value::Null), "it names the missing rights", |xr| synced(xr).contains(&missing))
            .await;
    assert!(!is_true(&refused, "Synced"));
    until_recorded(&session, &refused, &format!("Warning RoleBasedAccessControl: {missing}")).await;

    // The API server counts the account among the groups of its namespace.
    let everyone = json!({
        "kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": format!("system:serviceaccounts:{own}"),
    });
    grant(&session, own, &["create", "update", "patch"], everyone).await;
    let ready = until(&session, &refused, "it is ready", |xr| is_true(xr, "Ready")).await;
    let reference = &ready["spec"]["crossplane"]["resourceRefs"][0];
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": reference["name"], "namespace": own},
    });
    assert_eq!(get(&session, &map).await.unwrap()["data"], json!({"a": "1"}));

    // What is no longer desired is deleted by the account, too.
    apply(&session, &xr(Value::Null)).await;
    let denied =
        format!("User \"system:serviceaccount:{own}:{ACCOUNT}\" cannot delete resource \"configmaps\"");
    until(&session, &ready, "it names the missing right", |xr| synced(xr).contains(&denied)).await;
    let account = json!({"kind": "ServiceAccount", "name": ACCOUNT, "namespace": own});
    grant(&session, own, &["create", "update", "patch", "delete"], account).await;
    until_gone(&session, &map).await;
    until(&session, &ready, "it is synced", |xr| is_true(xr, "Synced")).await;

    // An account that the operator may not act as, and a name that is none.
    for (account, why) in [
        ("default", "cannot impersonate resource \"serviceaccounts\""),
        ("kube-system:admin", "kube-system:admin is not the namespace and name of a ServiceAccount"),
    ] {
        named["metadata"]["annotations"] = json!({"plimsoll.dev/service-account": account});
        apply(&session, &named).await;
        apply(&session, &xr(json!({"a": account}))).await;
        until(&session, &ready, "it says why", |xr| synced(xr).contains(why)).await;
    }
}

#[tokio::test]
async fn the_default_service_account_writes_for_claims_and_not_for_the_platform() {
    let (sandbox, _turn) = alone().await;
    let session = Session::new(sandbox.client().await);
    let functions = serve().await;
    let group = group("default-account");
    let (own, other) = ("default-account-own", "default-account-other");
    apply(&session, &composition(&group, &group, &["function-map"])).await;
    apply(&session, &legacy_xrd(&group)).await;
    for name in [own, other] {
        tenant(&session, name).await;
    }
    let account = json!({"kind": "ServiceAccount", "name": ACCOUNT, "namespace": own});
    grant(&session, own, &["create", "update", "patch", "delete"], account).await;
    let operator = Operator::start_for_tenants(functions, ACCOUNT, async || sandbox.client().await);

    let object = |kind: &str, name: &str, namespace: Option<&str>, target: &str| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name, "namespace": namespace},
            "spec": {"compositionRef": {"name": group}, "data": {"a": "1"}, "target": target},
        })
    };
    // In its own namespace a claim composes what its account may.
    let inside = object("App", "inside", Some(own), own);
    apply(&session, &inside).await;
    until(&session, &inside, "it is ready", |claim| is_true(claim, "Ready")).await;

    // Elsewhere the account has no rights, whatever the operator may do.
    let outside = object("App", "outside", Some(own), other);
    apply(&session, &outside).await;
    let bound = |claim: &Value| claim.pointer("/spec/resourceRef/name").is_some();
    let outside = until(&session, &outside, "it is bound", bound).await;
    let xr = object("XApp", outside["spec"]["resourceRef"]["name"].as_str().unwrap(), None, "");
    let denied = format!(
        "ServiceAccount {own}/{ACCOUNT} is not allowed to [create, update, patch, delete] resource configmaps in namespace {other}"
    );
    until(&session, &xr, "it names the missing rights", |xr| synced(xr).contains(&denied)).await;

    // An XR that serves no namespace is the platform's own.
    let platform = object("XApp", "platform", None, other);
    apply(&session, &platform).await;
    until(&session, &platform, "it is ready", |xr| is_true(xr, "Ready")).await;
    operator.kill();
}

#[tokio::test]
async fn an_operator_that_may_only_read_what_it_composes_drains_a_deleted_xrd() {
    let (sandbox, _turn) = alone().await;
    let session = Session::new(sandbox.client().await);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = sandbox.operator_kubeconfig(&sandbox.namespace("reader").await, folder.path()).await;
    allow_impersonation(sandbox);
    let group = group("reader");
    apply(&session, &composition(&group, &group, &["function-map"])).await;
    let xrd = apply(&session, &legacy_xrd(&group)).await;
    let reads = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {
            "name": "plimsoll-composition-reader",
            "labels": {"rbac.crossplane.io/aggregate-to-crossplane": "true"},
        },
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}],
    });
    apply(&session, &reads).await;
    let own = "reader-own";
    tenant(&session, own).await;
    let account = json!({"kind": "ServiceAccount", "name": ACCOUNT, "namespace": own});
    grant(&session, own, &["create", "update", "patch", "delete"], account).await;
    let operator = Operator::start_for_tenants(serve().await, ACCOUNT, async || {
        connect(kubeconfig, "plimsoll-operator").client().clone()
    });

    let claim = json!({
        "apiVersion": format!("{group}/v1"), "kind": "App", "metadata": {"name": "app", "namespace": own},
        "spec": {"compositionRef": {"name": group}, "data": {"a": "1"}, "target": own},
    });
    apply(&session, &claim).await;
    let claim = until(&session, &claim, "it is ready", |claim| is_true(claim, "Ready")).await;
    let xr = json!({
        "apiVersion": format!("{group}/v1"), "kind": "XApp",
        "metadata": {"name": claim["spec"]["resourceRef"]["name"]},
    });
    let composed = get(&session, &xr).await.unwrap()["spec"]["resourceRefs"][0]["name"].clone();
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": composed, "namespace": own},
    });
    assert!(get(&session, &map).await.is_some());

    delete(&session, &xrd).await;
    until_gone(&session, &map).await;
    until_gone(&session, &xrd).await;
    operator.kill();
}
