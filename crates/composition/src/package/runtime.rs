//! What runs for the active revision of a Function: a Deployment of its package, the Service it is called at, and its account.
//!
//! Names, labels, ports, environment and the folder of the certificates are Crossplane's, so functions run unchanged and a
//! DeploymentRuntimeConfig means the same. Pods also meet the Pod Security level `restricted`, which the operator's namespace
//! enforces.

use serde_json::{Value, json};

use super::LABEL_PACKAGE;
use crate::object;
use crate::protocol::Object;

/// The container of a Pod that is the function.
const CONTAINER: &str = "package-runtime";
const LABEL_REVISION: &str = "pkg.crossplane.io/revision";
/// The label on Pods, and on what we run, with the name of the Function.
pub const LABEL_FUNCTION: &str = "pkg.crossplane.io/function";
const PORT: u16 = 9443;
const METRICS_PORT: u16 = 8080;
const CERTIFICATES: (&str, &str) = ("tls-server-certs", "/tls/server");
/// Crossplane's user for packages.
const USER: u32 = 2000;

/// What runs for one revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Runtime {
    pub service: Object,
    /// None if the DeploymentRuntimeConfig names an account of the user.
    pub service_account: Option<Object>,
    pub deployment: Object,
    /// `name.namespace` of the Service.
    pub host: String,
    /// The name of the Secret with the certificate of the function.
    pub secret: String,
}

impl Runtime {
    /// Of an active revision, with the DeploymentRuntimeConfig it refers to.
    pub fn new(revision: &Object, config: Option<&Object>, namespace: &str) -> Self {
        let builder = Builder { revision, config, namespace };
        let name = object::label(revision, LABEL_PACKAGE).unwrap_or_default();
        let revision_name = object::name(revision).unwrap_or_default();
        let service = builder.service(name);
        let service_name = object::name(&service).unwrap_or_default();
        let host = format!("{service_name}.{namespace}");
        let secret = object::text(revision, &["spec", "tlsServerSecretName"]);
        let secret = secret.map_or_else(|| format!("{name}-tls-server"), str::to_owned);
        let account = builder.service_account(revision_name);
        let account_name = object::name(&account).unwrap_or_default().to_owned();
        let deployment = builder.deployment(revision_name, &account_name, &secret);
        let used = object::text(&deployment, &["spec", "template", "spec", "serviceAccountName"]);
        let service_account = (used == Some(account_name.as_str())).then_some(account);
        Self { service, service_account, deployment, host, secret }
    }

    /// Where the function is called, in the notation of gRPC.
    pub fn endpoint(&self) -> String {
        format!("dns:///{}:{PORT}", self.host)
    }

    /// The Secret with the function's certificate, whose content is not decided here.
    pub fn secret_of(&self, revision: &Object, namespace: &str) -> Object {
        object::object(json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": self.secret, "namespace": namespace,
                "ownerReferences": [object::controller_reference(revision)],
            },
        }))
    }
}

struct Builder<'a> {
    revision: &'a Object,
    config: Option<&'a Object>,
    namespace: &'a str,
}

impl Builder<'_> {
    fn service(&self, name: &str) -> Object {
        let mut service = self.object("v1", "Service", "serviceTemplate", name);
        let ports = json!([{"name": "grpc", "protocol": "TCP", "port": PORT, "targetPort": "grpc"}]);
        // Without an address of its own, its name resolves to all Pods, and calls go to each in turn.
        let spec = json!({"clusterIP": "None", "selector": self.selector(), "ports": ports});
        service.insert("spec".to_owned(), spec);
        service
    }

    fn service_account(&self, name: &str) -> Object {
        let mut account = self.object("v1", "ServiceAccount", "serviceAccountTemplate", name);
        let secrets = self.pull_secrets();
        if !secrets.is_empty() {
            account.insert("imagePullSecrets".to_owned(), secrets.into());
        }
        account
    }

    fn deployment(&self, name: &str, account: &str, secret: &str) -> Object {
        let mut deployment = self.object("apps/v1", "Deployment", "deploymentTemplate", name);
        let template = self.template("deploymentTemplate", &["spec"]).and_then(Value::as_object);
        deployment.insert("spec".to_owned(), template.cloned().unwrap_or_default().into());
        object::nested_mut(&mut deployment, &["spec", "selector"])
            .insert("matchLabels".to_owned(), self.selector());
        object::nested_mut(&mut deployment, &["spec", "template", "metadata", "labels"])
            .extend(object::from_value(self.selector()));

        let pod = object::nested_mut(&mut deployment, &["spec", "template", "spec"]);
        pod.entry("serviceAccountName").or_insert_with(|| account.into());
        pod.entry("securityContext").or_insert_with(|| {
            json!({
                "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            })
        });
        let (volume, folder) = CERTIFICATES;
        let keys = ["tls.crt", "tls.key", "ca.crt"].map(|key| json!({"key": key, "path": key}));
        let volumes = json!({"name": volume, "secret": {"secretName": secret, "items": keys}});
        put(pod, "volumes", "name", volumes);
        for pull_secret in self.pull_secrets() {
            put(pod, "imagePullSecrets", "name", pull_secret);
        }

        let mut containers = match pod.remove("containers") {
            Some(Value::Array(containers)) => containers,
            _ => Vec::new(),
        };
        let ours = containers.iter().position(|container| container["name"] == CONTAINER);
        let container = ours.map_or_else(|| json!({"name": CONTAINER}), |ours| containers.remove(ours));
        let mut container = object::from_value(container);
        self.complete(&mut container, volume, folder);
        containers.insert(0, container.into());
        pod.insert("containers".to_owned(), containers.into());
        deployment
    }

    /// Adds what every function needs to its container.
    fn complete(&self, container: &mut Object, volume: &str, folder: &str) {
        let spec = |key: &str| object::text(self.revision, &["spec", key]);
        container.entry("image").or_insert_with(|| spec("image").unwrap_or_default().into());
        match spec("packagePullPolicy") {
            Some(policy) => {
                container.insert("imagePullPolicy".to_owned(), policy.into());
            }
            None => {
                container.entry("imagePullPolicy").or_insert_with(|| "IfNotPresent".into());
            }
        }
        container.entry("securityContext").or_insert_with(|| {
            json!({
                "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER, "privileged": false,
                "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
            })
        });
        for (name, port) in [("metrics", METRICS_PORT), ("grpc", PORT)] {
            let has_it = |ports: &Vec<Value>| ports.iter().any(|port| port["name"] == name);
            if !container.get("ports").and_then(Value::as_array).is_some_and(has_it) {
                let port = json!({"name": name, "containerPort": port, "protocol": "TCP"});
                put(container, "ports", "containerPort", port);
            }
        }
        put(
            container,
            "volumeMounts",
            "mountPath",
            json!({"name": volume, "mountPath": folder, "readOnly": true}),
        );
        let label = |label: &str| json!({"fieldRef": {"fieldPath": format!("metadata.labels['{label}']")}});
        for variable in [
            json!({"name": "TLS_SERVER_CERTS_DIR", "value": folder}),
            json!({"name": "FUNCTION_NAME", "valueFrom": label(LABEL_FUNCTION)}),
            json!({"name": "REVISION_NAME", "valueFrom": label(LABEL_REVISION)}),
            json!({"name": "REVISION_UID", "value": object::uid(self.revision).unwrap_or_default()}),
        ] {
            put(container, "env", "name", variable);
        }
    }

    /// An object of the runtime, with what the config says about its metadata.
    fn object(&self, api_version: &str, kind: &str, template: &str, name: &str) -> Object {
        let given = |key: &str| self.template(template, &["metadata", key]);
        let name = given("name").and_then(Value::as_str).unwrap_or(name);
        let mut made = object::object(json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {
                "name": name, "namespace": self.namespace,
                "ownerReferences": [object::controller_reference(self.revision)],
            },
        }));
        for (key, common) in [("labels", "commonLabels"), ("annotations", "commonAnnotations")] {
            let common = object::map(self.revision, &["spec", common]);
            let given = given(key).and_then(Value::as_object);
            let entries = common.into_iter().chain(given).flatten();
            let entries: Object = entries.map(|(key, value)| (key.clone(), value.clone())).collect();
            if !entries.is_empty() {
                object::nested_mut(&mut made, &["metadata", key]).extend(entries);
            }
        }
        let labels = object::nested_mut(&mut made, &["metadata", "labels"]);
        labels.extend(object::from_value(self.selector()));
        made
    }

    fn template(&self, template: &str, path: &[&str]) -> Option<&Value> {
        object::nested(self.config?, &[&["spec", template], path].concat())
    }

    fn pull_secrets(&self) -> Vec<Value> {
        object::list(self.revision, &["spec", "packagePullSecrets"]).cloned().collect()
    }

    /// Selects the Pods.
    fn selector(&self) -> Value {
        json!({
            LABEL_REVISION: object::name(self.revision).unwrap_or_default(),
            LABEL_FUNCTION: object::label(self.revision, LABEL_PACKAGE).unwrap_or_default(),
        })
    }
}

/// Puts `item` at the end of a list whose items are told apart by `key`; it replaces the one with the same.
fn put(object: &mut Object, list: &str, key: &str, item: Value) {
    let items = object.entry(list).or_insert_with(|| Value::Array(Vec::new()));
    match items {
        Value::Array(items) => {
            items.retain(|one| one.get(key) != item.get(key));
            items.push(item);
        }
        other => *other = Value::Array(vec![item]),
    }
}

#[cfg(test)]
mod tests;
