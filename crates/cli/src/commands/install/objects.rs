//! The objects of an installation: the manifests in `deploy/`, adapted to what was chosen. Decides without a cluster.

use operator::Half;
use operator::install::definitions;
use oraclecloud::Catalogue;
use serde_json::{Value, json};

use super::base::{PARTS, proxy_containers};
use crate::args::install::{Install, NAMESPACE};

/// The name of the Deployment, its service account and everything beside it; those of a shard end in its name.
const OPERATOR: &str = "plimsoll-operator";
/// The image in the manifests, which names no version.
const IMAGE: &str = "plimsoll";
/// The labels of everything that is installed.
pub(in crate::commands) const LABELS: [(&str, &str); 2] =
    [("app.kubernetes.io/name", "plimsoll"), ("app.kubernetes.io/component", "operator")];
/// The alert about the leader, of which every shard has one.
const LEADER: &str = "plimsoll-operator-leader";
/// Kinds that every shard has a copy of.
const PER_SHARD: [&str; 5] =
    ["Deployment", "PodDisruptionBudget", "NetworkPolicy", "Service", "ServiceMonitor"];
/// The account whose impersonation the manifests allow.
const TENANT_ACCOUNT: &str = "plimsoll-composer";

/// What to install.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent choice of the user")]
pub(super) struct Installation {
    pub(super) namespace: String,
    pub(super) image: String,
    pub(super) pull_secrets: Vec<String>,
    pub(super) controllers: Vec<Half>,
    pub(super) kinds: Catalogue,
    pub(super) replicas: u16,
    pub(super) shards: Vec<String>,
    pub(super) grants_defined_kinds: bool,
    pub(super) user_roles: bool,
    pub(super) tenant_account: Option<String>,
    pub(super) env_secrets: Vec<String>,
    pub(super) monitoring: bool,
    pub(super) network_policy: bool,
    /// Further arguments of the operator.
    pub(super) arguments: Vec<String>,
}

impl Installation {
    pub(super) fn new(args: &Install, kinds: Catalogue) -> Self {
        Self {
            namespace: super::namespace(&args.cluster).to_owned(),
            image: args.image.clone(),
            pull_secrets: args.pull_secrets.clone(),
            controllers: args.controllers.clone(),
            kinds,
            replicas: args.replicas,
            shards: args.shards.clone(),
            grants_defined_kinds: args.grant_defined_kinds,
            user_roles: args.user_roles,
            tenant_account: args.tenant_account.clone(),
            env_secrets: args.env_secrets.clone(),
            monitoring: args.monitoring,
            network_policy: !args.no_network_policy,
            arguments: args.operator.clone(),
        }
    }

    /// Everything to apply.
    pub(super) fn objects(&self) -> Vec<Value> {
        let mut objects = Vec::new();
        for part in PARTS.iter().filter(|part| (part.is_chosen)(self)) {
            for mut object in part.objects() {
                match object["kind"].as_str() {
                    Some("Deployment") => self.adapt_deployment(&mut object),
                    Some("ClusterRole") => self.adapt_role(&mut object),
                    _ => {}
                }
                let is_copied = object["kind"].as_str().is_some_and(|kind| PER_SHARD.contains(&kind))
                    || object["metadata"]["name"] == LEADER;
                let shards = self.shards.iter().filter(|_| is_copied);
                let copies: Vec<Value> = shards.map(|shard| copy_for(shard, &object)).collect();
                if object["kind"] == "Deployment" && !self.shards.is_empty() {
                    push(&mut object, ARGUMENTS, ["--watch-label-selector=!plimsoll.dev/shard".into()]);
                }
                objects.push(object);
                objects.extend(copies);
            }
        }
        objects.extend(self.definitions());
        for object in &mut objects {
            label(object);
            if self.namespace != NAMESPACE {
                move_to(&self.namespace, object);
            }
        }
        objects
    }

    pub(super) fn definitions(&self) -> Vec<Value> {
        self.controllers.iter().flat_map(|half| definitions(*half, &self.kinds)).collect()
    }

    fn adapt_deployment(&self, deployment: &mut Value) {
        deployment["spec"]["replicas"] = self.replicas.into();
        let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
        debug_assert_eq!(container["image"], IMAGE);
        container["image"] = self.image.clone().into();
        if !self.env_secrets.is_empty() {
            let source = |name: &String| json!({ "secretRef": { "name": name } });
            container["envFrom"] = self.env_secrets.iter().map(source).collect();
        }
        let mut arguments = Vec::new();
        if Half::ALL.iter().any(|half| !self.controllers.contains(half)) {
            let names: Vec<&str> = self.controllers.iter().map(|half| half.name()).collect();
            arguments.push(format!("--controllers={}", names.join(",")));
        }
        if let Some(account) = &self.tenant_account {
            arguments.push(format!("--default-service-account={account}"));
        }
        arguments.extend(self.arguments.iter().cloned());
        push(deployment, ARGUMENTS, arguments.into_iter().map(Value::from));
        if self.monitoring {
            push(deployment, CONTAINERS, proxy_containers());
        }
        if !self.pull_secrets.is_empty() {
            let reference = |name: &String| json!({ "name": name });
            deployment["spec"]["template"]["spec"]["imagePullSecrets"] =
                self.pull_secrets.iter().map(reference).collect();
        }
    }

    fn adapt_role(&self, role: &mut Value) {
        match role["metadata"]["name"].as_str() {
            Some("plimsoll-oci-kinds") => {
                let [chosen, _] = operator::api::role("", self.kinds.kinds());
                role["rules"] = chosen["rules"].clone();
            }
            Some("plimsoll-lease") => {
                let leases = self.shards.iter().map(|shard| format!("{OPERATOR}-{shard}").into());
                push(role, "/rules/1/resourceNames", leases);
            }
            Some("plimsoll-impersonation") => {
                debug_assert_eq!(role["rules"][0]["resourceNames"][0], TENANT_ACCOUNT);
                role["rules"][0]["resourceNames"][0] = self.tenant_account.clone().into();
            }
            _ => {}
        }
    }
}

const CONTAINERS: &str = "/spec/template/spec/containers";
const ARGUMENTS: &str = "/spec/template/spec/containers/0/args";

/// Appends to the list at `path`, which the manifests have.
fn push(object: &mut Value, path: &str, items: impl IntoIterator<Item = Value>) {
    let list = object.pointer_mut(path).and_then(Value::as_array_mut);
    list.expect("a list of the manifests in deploy/").extend(items);
}

/// The same object for a shard: a name, a selector and a lease of its own, and the objects with its label.
fn copy_for(shard: &str, object: &Value) -> Value {
    let mut copy = object.clone();
    let name = format!("{OPERATOR}-{shard}");
    rename(&mut copy, &name);
    if let Some(Value::String(expression)) = copy.pointer_mut("/spec/groups/0/rules/0/expr") {
        *expression = expression.replace(&format!("service=\"{OPERATOR}-"), &format!("service=\"{name}-"));
    }
    if copy["kind"] == "Deployment" {
        // All shards share the account and its rights.
        copy["spec"]["template"]["spec"]["serviceAccountName"] = OPERATOR.into();
        let arguments = [
            format!("--watch-label-selector=plimsoll.dev/shard={shard}").into(),
            format!("--lease-name={OPERATOR}-{shard}").into(),
        ];
        push(&mut copy, ARGUMENTS, arguments);
    }
    copy
}

/// Replaces the operator's name wherever it begins a string.
fn rename(value: &mut Value, name: &str) {
    match value {
        Value::String(text) => {
            if let Some(rest) = text.strip_prefix(OPERATOR) {
                *text = format!("{name}{rest}");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, name)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, name)),
        _ => {}
    }
}

fn label(object: &mut Value) {
    for (name, value) in LABELS {
        object["metadata"]["labels"][name] = value.into();
    }
}

/// Moves an object, or the subjects it binds, to another namespace.
fn move_to(namespace: &str, object: &mut Value) {
    if object["kind"] == "Namespace" {
        object["metadata"]["name"] = namespace.into();
    }
    set_namespace(namespace, &mut object["metadata"]);
    for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        set_namespace(namespace, subject);
    }
}

fn set_namespace(namespace: &str, place: &mut Value) {
    if place["namespace"] == NAMESPACE {
        place["namespace"] = namespace.into();
    }
}
