//! What the operator may do with described kinds, as a ClusterRole: no more than follows from their descriptions.

use oraclecloud::Kind;
use serde_json::{Value, json};

use super::crd_name;

/// The ClusterRole for one kind, and its binding to the operator's account.
pub fn rights(kind: Kind) -> [Value; 2] {
    role(&format!("plimsoll-oci-{}", crd_name(kind)), &[kind])
}

/// The ClusterRole for some kinds under this name, and its binding to the account that `deploy/` makes for the operator.
pub fn role(name: &str, kinds: &[Kind]) -> [Value; 2] {
    let mut rules: Vec<Value> = Vec::new();
    let all = kinds.iter().flat_map(|kind| of_objects(*kind));
    for rule in all.chain(of_secrets(kinds)).chain(kinds.iter().flat_map(|kind| kind.extra_rights.clone())) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let api = "rbac.authorization.k8s.io";
    let of =
        |kind: &str| json!({"apiVersion": format!("{api}/v1"), "kind": kind, "metadata": {"name": name}});
    let (mut role, mut binding) = (of("ClusterRole"), of("ClusterRoleBinding"));
    role["rules"] = rules.into();
    binding["roleRef"] = json!({"apiGroup": api, "kind": "ClusterRole", "name": name});
    let account =
        json!({"kind": "ServiceAccount", "name": "plimsoll-operator", "namespace": "plimsoll-system"});
    binding["subjects"] = json!([account]);
    [role, binding]
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
}

fn of_objects(kind: Kind) -> [Value; 2] {
    let (group, plural) = (kind.group(), &kind.plural);
    [
        rule(&group, plural, &["get", "list", "watch", "patch"]),
        rule(&group, &format!("{plural}/status"), &["update"]),
    ]
}

/// Passwords that a spec names are read; the Secret with an endpoint, named like its object, is written.
fn of_secrets(kinds: &[Kind]) -> Option<Value> {
    let writes = kinds.iter().any(|kind| !kind.endpoint.is_empty());
    let names_secret = |kind: &Kind| kind.spec.values().any(|field| kind.has_secret(&field.shape));
    let reads = kinds.iter().any(names_secret);
    let verbs: &[&str] = if writes { &["get", "create", "update", "delete"] } else { &["get"] };
    (writes || reads).then(|| rule("", "secrets", verbs))
}
