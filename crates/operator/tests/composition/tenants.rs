//! What a tenant tries who may write claims and XRs of one namespace and nothing else. The functions are as careless as can be:
//! they compose and require whatever the spec says.

use std::collections::BTreeMap;

use base64::Engine as _;
use cluster::Session;
use composition::protocol::{Match, Resource, ResourceSelector, SecretData};
use functions::{FunctionError, RunRequest, RunResponse, ServeOptions, Server, Transport, response};
use serde_json::{Value, json};

use crate::fixture::{
    apply, composition, condition, delete, get, group, is_true, legacy_xrd, modern_xrd, until, until_gone,
};
use crate::impersonation::{ACCOUNT, allow_impersonation, grant, tenant};
use crate::operators::{Operator, alone};
use crate::platform::{asked, asked_text, desire};

const FUNCTION: &str = "function-careless";

/// Composes the XR's `child`, publishes its `details`, and shows how many objects it was given of those that `require` names.
async fn careless(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    let (child, wanted, details) =
        (asked(&request, "child"), asked(&request, "require"), asked_text(&request, "details"));
    if child.is_object() {
        desire(&mut rsp, "child", child);
    }
    let mut shown = json!({});
    if wanted.is_object() {
        let text = |key: &str| wanted[key].as_str().unwrap_or_default().to_owned();
        let selector = ResourceSelector {
            api_version: "v1".to_owned(),
            kind: text("kind"),
            matching: if text("name").is_empty() { Match::All } else { Match::Name(text("name")) },
            namespace: Some(text("namespace")).filter(|namespace| !namespace.is_empty()),
        };
        rsp.requirements.resources.insert("wanted".to_owned(), selector);
    }
    let given = ["wanted", "platform"].iter().filter_map(|key| request.required_resources.get(*key));
    let given: Vec<&Resource> = given.flatten().collect();
    if !given.is_empty() {
        let name = |one: &&Resource| one.object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        shown = json!({"status": {"coolerField": given.iter().map(name).collect::<Vec<_>>().join(",")}});
    }
    let details = if details.is_empty() {
        SecretData::default()
    } else {
        SecretData::from(BTreeMap::from([("password".to_owned(), details.into_bytes())]))
    };
    rsp.desired.composite = Resource { connection_details: details, ..Resource::of(shown) };
    Ok(rsp)
}

/// Two tenants of one platform, and an operator that composes as the account of each.
struct Tenants {
    session: Session,
    group: String,
    own: String,
    other: String,
    _operator: Operator,
}

impl Tenants {
    /// On a platform whose XRD is what `xrd` makes for a group.
    async fn new(sandbox: &'static testkit::Sandbox, test: &str, xrd: impl Fn(&str) -> Value) -> Self {
        let session = Session::new(sandbox.client().await);
        let server = Server::bind(ServeOptions::new("127.0.0.1:0", Transport::Insecure)).await.unwrap();
        let functions = BTreeMap::from([(FUNCTION.to_owned(), server.address().unwrap().to_string())]);
        tokio::spawn(server.run(careless, std::future::pending()));
        allow_impersonation(sandbox);
        let group = group(test);
        apply(&session, &composition(&group, &group, &[FUNCTION])).await;
        apply(&session, &xrd(&group)).await;
        let [own, other] = ["own", "other"].map(|suffix| format!("{test}-{suffix}"));
        for name in [&own, &other] {
            tenant(&session, name).await;
            let account = json!({"kind": "ServiceAccount", "name": ACCOUNT, "namespace": name});
            grant(&session, name, &["create", "update", "patch", "delete"], account).await;
        }
        let operator = Operator::start_for_tenants(functions, ACCOUNT, async || sandbox.client().await);
        Self { session, group, own, other, _operator: operator }
    }

    fn object(&self, kind: &str, name: &str, namespace: Option<&str>, spec: &Value) -> Value {
        let api_version = format!("{}/v1", self.group);
        json!({
            "apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec,
        })
    }

    /// A claim of the tenant.
    fn claim(&self, name: &str, mut spec: Value) -> Value {
        spec["compositionRef"] = json!({"name": self.group});
        self.object("App", name, Some(&self.own), &spec)
    }

    /// The XR that a claim is bound to.
    async fn xr(&self, claim: &Value) -> Value {
        let bound = |claim: &Value| claim.pointer("/spec/resourceRef/name").is_some();
        let claim = until(&self.session, claim, "it is bound", bound).await;
        self.object("XApp", claim["spec"]["resourceRef"]["name"].as_str().unwrap(), None, &Value::Null)
    }

    /// Waits until `object` says that it is not synced, in these words.
    async fn until_refused(&self, object: &Value, words: &str) -> Value {
        let says = |object: &Value| !is_true(object, "Synced") && synced(object).contains(words);
        until(&self.session, object, words, says).await
    }
}

fn synced(object: &Value) -> &str {
    condition(object, "Synced").and_then(|synced| synced["message"].as_str()).unwrap_or_default()
}

fn secret(namespace: &str, name: &str) -> Value {
    let value = base64::engine::general_purpose::STANDARD.encode("theirs");
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
        "type": "Opaque", "data": {"password": value},
    })
}

fn config_map(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}})
}

#[tokio::test]
async fn what_a_claim_says_of_itself_reaches_nothing_of_another_tenant() {
    let (sandbox, _turn) = alone().await;
    let tenants = Tenants::new(sandbox, "tenant-claim", legacy_xrd).await;
    let Tenants { session, own, other, .. } = &tenants;
    let victim = apply(session, &config_map(other, "victim")).await;
    apply(session, &secret(other, "keys")).await;
    let mut child = config_map(other, "planted");
    child["data"] = json!({"planted": "1"});
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "victim", "namespace": other});
    let mut claim = tenants.claim(
        "attack",
        json!({
            "child": child,
            "resourceRefs": [reference],
            "claimRef": {"apiVersion": "v1", "kind": "App", "name": "attack", "namespace": other},
            "writeConnectionSecretToRef": {"name": "stolen", "namespace": other},
        }),
    );
    claim["metadata"]["labels"] = json!({"crossplane.io/claim-namespace": other});
    claim["metadata"]["annotations"] = json!({"plimsoll.dev/service-account": "default"});
    apply(session, &claim).await;
    let xr = tenants.xr(&claim).await;
    // The account is that of the claim's own namespace, and it has no rights in the other.
    let denied = format!("ServiceAccount {own}/{ACCOUNT} is not allowed to [create, update, patch, delete]");
    let xr = tenants.until_refused(&xr, &denied).await;
    assert_eq!(xr["metadata"]["labels"]["crossplane.io/claim-namespace"], *own);
    assert_eq!(
        (&xr["spec"]["claimRef"]["namespace"], &xr["spec"]["claimRef"]["name"]),
        (&json!(own), &json!("attack"))
    );
    assert_eq!(xr["spec"].get("writeConnectionSecretToRef"), None);
    let refs = xr["spec"]["resourceRefs"].as_array().cloned().unwrap_or_default();
    assert!(refs.iter().all(|reference| reference["name"] != "victim"), "{refs:?}");
    assert_eq!(get(session, &child).await, None);
    delete(session, &claim).await;
    until_gone(session, &claim).await;
    assert_eq!(get(session, &victim).await, Some(victim), "it is untouched");
}

#[tokio::test]
async fn a_claim_takes_no_xr_from_another_claim() {
    let (sandbox, _turn) = alone().await;
    let tenants = Tenants::new(sandbox, "tenant-binding", legacy_xrd).await;
    let Tenants { session, group, other, .. } = &tenants;
    let mut theirs = tenants.claim("theirs", json!({"details": "hidden"}));
    theirs["metadata"]["namespace"] = other.clone().into();
    theirs["spec"]["child"] = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": other}, "data": {"of": "theirs"},
    });
    apply(session, &theirs).await;
    until(session, &theirs, "it is ready", |claim| is_true(claim, "Ready")).await;
    let xr = get(session, &tenants.xr(&theirs).await).await.unwrap();

    let reference =
        json!({"apiVersion": format!("{group}/v1"), "kind": "XApp", "name": xr["metadata"]["name"]});
    let attack = tenants.claim(
        "attack",
        json!({"resourceRef": reference, "writeConnectionSecretToRef": {"name": "stolen"}, "child": {"taken": true}}),
    );
    apply(session, &attack).await;
    let refused = tenants.until_refused(&attack, "is not bound to this claim").await;
    assert_eq!(refused["status"].get("coolerField"), None);
    delete(session, &attack).await;
    until_gone(session, &attack).await;
    let after = get(session, &xr).await.unwrap();
    assert_eq!((&after["metadata"]["uid"], &after["spec"]), (&xr["metadata"]["uid"], &xr["spec"]));
    assert_eq!(get(session, &secret(&tenants.own, "stolen")).await, None);
}

#[tokio::test]
async fn a_claim_overwrites_no_secret() {
    let (sandbox, _turn) = alone().await;
    let tenants = Tenants::new(sandbox, "tenant-secret", legacy_xrd).await;
    let Tenants { session, group, own, .. } = &tenants;
    let mut publishing = composition(group, group, &[FUNCTION]);
    publishing["spec"]["writeConnectionSecretsToNamespace"] = "default".into();
    apply(session, &publishing).await;
    let before = apply(session, &secret(own, "ocicredentials")).await;
    let spec = json!({"details": "mine", "writeConnectionSecretToRef": {"name": "ocicredentials"}});
    let claim = tenants.claim("attack", spec);
    apply(session, &claim).await;
    tenants.until_refused(&claim, "refusing to modify uncontrolled secret").await;
    assert_eq!(get(session, &before).await, Some(before));
}

#[tokio::test]
async fn a_function_is_given_only_secrets_that_the_account_of_the_tenant_may_read() {
    let (sandbox, _turn) = alone().await;
    let tenants = Tenants::new(sandbox, "tenant-requires", |group| modern_xrd(group, "Namespaced")).await;
    let Tenants { session, group, own, other, .. } = &tenants;
    for namespace in [own, other] {
        apply(session, &secret(namespace, "keys")).await;
    }
    let xr = |kind: &str, namespace: &str, name: &str| {
        let require = json!({"kind": kind, "namespace": namespace, "name": name});
        let spec = json!({"require": require, "crossplane": {"compositionRef": {"name": group}}});
        tenants.object("XApp", "attack", Some(own), &spec)
    };
    let given = |what: &str| {
        let what = what.to_owned();
        move |xr: &Value| is_true(xr, "Synced") && xr["status"]["coolerField"] == what
    };
    let user = format!("User \"system:serviceaccount:{own}:{ACCOUNT}\"");
    for (namespace, name, what) in [
        (other.as_str(), "keys", "cannot get resource \"secrets\""),
        ("", "keys", "cannot list resource \"secrets\""),
        (other.as_str(), "", "cannot list resource \"secrets\""),
        ("", "", "cannot list resource \"secrets\""),
    ] {
        apply(session, &xr("Secret", namespace, name)).await;
        let refused = tenants.until_refused(&xr("", "", ""), what).await;
        assert!(synced(&refused).contains(&user), "{}", synced(&refused));
        assert_eq!(refused["status"].get("coolerField"), None, "{namespace} {name}");
        // So that the next refusal is a new one.
        apply(session, &xr("ConfigMap", "kube-system", "kube-root-ca.crt")).await;
        let shown = until(session, &refused, "it is synced", given("kube-root-ca.crt")).await;
        delete(session, &shown).await;
        until_gone(session, &shown).await;
    }

    let role = |rules: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "composer", "namespace": own}, "rules": rules,
        })
    };
    let reads =
        json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["keys"], "verbs": ["get"]}]);
    apply(session, &role(reads)).await;
    apply(session, &xr("Secret", own, "keys")).await;
    until(session, &xr("", "", ""), "it is given its own", given("keys")).await;

    // What the Composition itself requires is the platform's choice.
    apply(session, &secret(other, "platform")).await;
    let mut requiring = composition(group, group, &[FUNCTION]);
    requiring["spec"]["pipeline"][0]["requirements"] = json!({"requiredResources": [
        {"requirementName": "platform", "apiVersion": "v1", "kind": "Secret", "namespace": other, "name": "platform"},
    ]});
    apply(session, &requiring).await;
    until(session, &xr("", "", ""), "it is given both", given("keys,platform")).await;
}

#[tokio::test]
async fn an_xr_takes_nothing_from_another_xr_of_its_namespace() {
    let (sandbox, _turn) = alone().await;
    let tenants = Tenants::new(sandbox, "tenant-neighbour", |group| modern_xrd(group, "Namespaced")).await;
    let Tenants { session, group, own, .. } = &tenants;
    let xr = |name: &str, spec: Value| {
        let mut spec = spec;
        spec["crossplane"]["compositionRef"] = json!({"name": group});
        tenants.object("XApp", name, Some(own), &spec)
    };
    let mut child = config_map(own, "shared");
    child["data"] = json!({"of": "theirs"});
    let theirs = xr("theirs", json!({"child": child}));
    apply(session, &theirs).await;
    until(session, &theirs, "it is ready", |xr| is_true(xr, "Ready")).await;
    let before = get(session, &child).await.unwrap();

    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "shared"});
    let mut taken = child.clone();
    taken["data"] = json!({"of": "attack"});
    let mut attack = xr("attack", json!({"child": taken, "crossplane": {"resourceRefs": [reference]}}));
    attack["metadata"]["labels"] = json!({"crossplane.io/composite": "theirs"});
    apply(session, &attack).await;
    let refused = tenants.until_refused(&attack, "Unsynced resources: child").await;
    let why = &condition(&refused, "Healthy").unwrap()["message"];
    assert!(why.as_str().unwrap().contains("refuses metadata.ownerReferences"), "{why}");
    // Nothing is desired any more, and what is referred to would be garbage.
    attack["spec"]["child"] = Value::Null;
    apply(session, &attack).await;
    until(session, &attack, "it is synced", |xr| is_true(xr, "Synced")).await;
    delete(session, &attack).await;
    until_gone(session, &attack).await;
    assert_eq!(get(session, &child).await, Some(before));
}
