//! What a real Crossplane 2.4 left: XRDs with and without claims, Compositions with their revisions, CRDs, XRs, claims, composed objects
//! and connection Secrets. They are without what the API server sets anew.

use std::collections::BTreeMap;
use std::path::Path;

use cluster::{Check, PatchType, Session, WaitOutcome, Write};
use functions::certs::{IssueOptions, issue};
use jiff::Timestamp;
use operator::Half;
use operator::install::definitions;
use oraclecloud::Catalogue;
use serde_json::{Value, json};

use crate::{PATIENCE, reference};

const DEFINITIONS: &str = include_str!("left_by_crossplane/definitions.json");
const CRDS: &str = include_str!("left_by_crossplane/crds.json");
const COMPOSITES: &str = include_str!("left_by_crossplane/composites.json");
const CLAIMS: &str = include_str!("left_by_crossplane/claims.json");
const COMPOSED: &str = include_str!("left_by_crossplane/composed.json");
const SECRETS: &str = include_str!("left_by_crossplane/connection-secrets.json");

/// The namespace of Crossplane and its functions.
pub(crate) const NAMESPACE: &str = "crossplane-system";
/// The functions of the Compositions, as Crossplane had installed them.
pub(crate) const FUNCTIONS: [&str; 4] =
    ["fn-configmaps", "function-auto-ready", "function-go-templating", "function-patch-and-transform"];
/// The manager of Crossplane's updates.
const MANAGER: &str = "crossplane";

pub(crate) fn composites() -> Vec<Value> {
    [COMPOSITES, CLAIMS].into_iter().flat_map(objects).collect()
}

pub(crate) fn composed() -> Vec<Value> {
    objects(COMPOSED)
}

pub(crate) fn secrets() -> Vec<Value> {
    objects(SECRETS)
}

fn objects(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("a list of objects")
}

/// Where a function of Crossplane's is called.
pub(crate) fn service(function: &str) -> String {
    format!("{function}.{NAMESPACE}:9443")
}

/// Restores everything in an empty cluster, held by the managers that held it. `folder` gets the certificate of the functions.
pub(crate) async fn restore(session: &Session, folder: &Path) {
    let mut restored = Restored { session, uids: BTreeMap::new() };
    for mut definition in definitions(Half::Composition, &Catalogue::standard()) {
        for version in definition["spec"]["versions"].as_array_mut().unwrap() {
            version["schema"]["openAPIV3Schema"]["description"] = "As Crossplane describes it.".into();
        }
        restored.add(definition).await;
    }
    for object in installation() {
        restored.add(object).await;
    }
    let sans = FUNCTIONS.map(|function| format!("{function}.{NAMESPACE}")).to_vec();
    let options = IssueOptions { sans, days: 1, ..IssueOptions::new("function") };
    let issued = issue(folder, &options, Timestamp::now()).unwrap();
    restored.add(client_certificate(&issued.client)).await;
    for text in [DEFINITIONS, CRDS, CLAIMS, COMPOSITES, COMPOSED, SECRETS] {
        for object in objects(text) {
            restored.add(object).await;
        }
    }
    settle(session).await;
}

/// What is there already, with the uids that others refer to it by.
struct Restored<'s> {
    session: &'s Session,
    uids: BTreeMap<String, String>,
}

impl Restored<'_> {
    async fn add(&mut self, mut object: Value) {
        let target = reference(&object);
        let status = take(&mut object, "status");
        let metadata = &mut object["metadata"];
        for key in ["ownerReferences", "managedFields"] {
            let mut text = take(metadata, key).to_string();
            for (before, now) in &self.uids {
                text = text.replace(before, now);
            }
            metadata[key] = serde_json::from_str(&text).unwrap();
        }
        let (uid, held) = (take(metadata, "uid"), take(metadata, "managedFields"));
        let session = self.session;
        let created =
            session.when_possible(&target, || session.create(&target, &object, Write::by(MANAGER))).await;
        let mut created = created.unwrap_or_else(|error| panic!("{target}: {error:?}")).object;
        if let Some(uid) = uid.as_str() {
            self.uids.insert(uid.to_owned(), created["metadata"]["uid"].as_str().unwrap().to_owned());
        }
        if !status.is_null() {
            created["status"] = status;
            let written = session.replace(&target, &created, Write::by(MANAGER).status()).await;
            written.unwrap_or_else(|error| panic!("{target}: {error:?}"));
        }
        if !held.is_null() {
            let patch = json!([{"op": "replace", "path": "/metadata/managedFields", "value": held}]);
            let write = Write::by(MANAGER);
            let patched = session.patch(&target, PatchType::Json, &patch, write).await;
            patched.unwrap_or_else(|error| panic!("{target}: {error:?}"));
        }
    }
}

fn take(object: &mut Value, key: &str) -> Value {
    object.as_object_mut().unwrap().remove(key).unwrap_or_default()
}

/// Waits until the Deployment is as it was: its controller has written its last status.
async fn settle(session: &Session) {
    let deployment = composed().into_iter().find(|object| object["kind"] == "Deployment").unwrap();
    let is_settled = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array();
        let has = |reason: &str| conditions.is_some_and(|all| all.iter().any(|it| it["reason"] == reason));
        object["status"]["availableReplicas"] == 2
            && has("MinimumReplicasAvailable")
            && has("NewReplicaSetAvailable")
    };
    let check = |object: Option<&Value>| match object {
        Some(object) if is_settled(object) => Check::Met(()),
        _ => Check::NotYet("it is not rolled out".to_owned()),
    };
    let waited = session.wait_until(&reference(&deployment), PATIENCE, check).await.unwrap();
    assert!(matches!(waited, WaitOutcome::Met { .. }), "{waited:?}");
}

/// What Crossplane's chart and its package manager had installed.
fn installation() -> Vec<Value> {
    let mut objects = vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})];
    for (name, replicas) in [("crossplane", 2), ("crossplane-rbac-manager", 1)] {
        let labels = json!({"app": name, "release": "crossplane"});
        let env = json!([{"name": "LEADER_ELECTION", "value": "true"}]);
        objects.push(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
            "spec": {
                "replicas": replicas, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "crossplane", "image": "crossplane", "env": env}]}},
            },
        }));
    }
    let webhook = |name: &str, service: &str, path: &str| {
        json!({
            "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "clientConfig": {"service": {"name": service, "namespace": NAMESPACE, "path": path}},
            "objectSelector": {"matchLabels": {"crossplane.io/in-use": "true"}},
            "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["DELETE"]}],
        })
    };
    objects.push(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "crossplane-no-usages"},
        "webhooks": [
            webhook("other.example.org", "somewhere", "/"),
            webhook("nousages.protection.crossplane.io", "crossplane-webhooks", "/validate-no-usages"),
        ],
    }));
    let rules = [
        (&["", "apps"][..], &["configmaps", "deployments", "secrets", "serviceaccounts"][..]),
        (&["mig.example.org", "bench.example.org"], &["*"]),
    ];
    objects.push(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {
            "name": "crossplane:system:aggregate-to-crossplane",
            "labels": {"rbac.crossplane.io/aggregate-to-crossplane": "true"},
        },
        "rules": rules.map(|(groups, resources)| json!({"apiGroups": groups, "resources": resources, "verbs": ["*"]})),
    }));
    for name in FUNCTIONS {
        let package = format!("xpkg.crossplane.io/test/{name}:v1");
        objects.push(json!({
            "apiVersion": "pkg.crossplane.io/v1", "kind": "Function", "metadata": {"name": name},
            "spec": {"package": package},
        }));
        objects.push(json!({
            "apiVersion": "pkg.crossplane.io/v1", "kind": "FunctionRevision",
            "metadata": {"name": format!("{name}-1"), "labels": {"pkg.crossplane.io/package": name}},
            "spec": {"desiredState": "Active", "image": package, "revision": 1},
            "status": {
                "endpoint": format!("dns:///{}", service(name)), "tlsServerSecretName": format!("{name}-tls-server"),
            },
        }));
    }
    objects
}

/// The certificate by which Crossplane's functions know their caller.
fn client_certificate(folder: &Path) -> Value {
    let mut data = json!({});
    for key in ["tls.crt", "tls.key", "ca.crt"] {
        data[key] = std::fs::read_to_string(folder.join(key)).unwrap().into();
    }
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "crossplane-tls-client", "namespace": NAMESPACE},
        "stringData": data,
    })
}
