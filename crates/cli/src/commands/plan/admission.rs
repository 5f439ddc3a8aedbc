//! Who may change or refuse an object on its way into the cluster: webhooks and admission policies.
//!
//! Such a one acts on every apply, also on one that writes nothing new, so that only the API server can tell what comes
//! of it.

use cluster::{Resource, Selection, Session};
use futures::future::try_join_all;
use serde_json::Value;

use crate::commands::kinds::version;

const GROUP: &str = "admissionregistration.k8s.io";
/// The kinds that intervene, and where each of their objects has its rules.
const KINDS: [&str; 4] = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
    "ValidatingAdmissionPolicy",
];

/// What objects somebody intervenes in.
pub(super) struct Admission {
    rules: Vec<Value>,
}

impl Admission {
    /// Reads who intervenes; nothing where we may not know.
    pub(super) async fn read(session: &Session, resources: &[Resource]) -> Option<Self> {
        let kinds = KINDS.iter().filter_map(|kind| served(resources, kind));
        let lists =
            kinds.map(|resource| async move { session.list(&resource.gvk, &Selection::default()).await });
        let listings = try_join_all(lists).await.ok()?;
        let rules = listings.iter().flat_map(|listing| &listing.items).flat_map(rules_of).cloned().collect();
        Some(Self { rules })
    }

    /// Whether somebody may intervene when an object of the kind is updated. Selectors and conditions are not looked
    /// at: they could only make it less.
    pub(super) fn concerns(&self, resource: &Resource) -> bool {
        self.rules.iter().any(|rule| {
            let has = |list: &str, matches: &dyn Fn(&str) -> bool| {
                array(&rule[list]).filter_map(Value::as_str).any(matches)
            };
            has("operations", &|operation| matches!(operation, "*" | "UPDATE"))
                && has("apiGroups", &|group| group == "*" || group == resource.gvk.group())
                && has("resources", &|name| {
                    // `pods/*` means pods and what is below them, `*/*` everything.
                    matches!(name, "*" | "*/*") || name.strip_suffix("/*").unwrap_or(name) == resource.plural
                })
        })
    }
}

fn rules_of(object: &Value) -> impl Iterator<Item = &Value> {
    let webhooks = array(&object["webhooks"]).flat_map(|webhook| array(&webhook["rules"]));
    webhooks.chain(array(&object["spec"]["matchConstraints"]["resourceRules"]))
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The kind in its best version, if the cluster has it.
fn served<'r>(resources: &'r [Resource], kind: &str) -> Option<&'r Resource> {
    let known = resources.iter().filter(|it| it.gvk.group() == GROUP && it.gvk.kind() == kind);
    known.min_by_key(|resource| version::rank(resource.gvk.version()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::kinds::tests::resource;

    #[test]
    fn a_rule_concerns_the_kinds_it_names() {
        let check = |rule: Value, gvk: &str, plural: &str, expected: bool| {
            let objects = [
                json!({ "webhooks": [{ "rules": [rule.clone()] }] }),
                json!({ "spec": { "matchConstraints": { "resourceRules": [rule.clone()] } } }),
            ];
            for object in objects {
                let admission = Admission { rules: rules_of(&object).cloned().collect() };
                assert_eq!(admission.concerns(&resource(gvk, plural, true)), expected, "{rule} {gvk}");
            }
        };
        let rule = |operation: &str, group: &str, resource: &str| json!({ "operations": [operation], "apiGroups": [group], "apiVersions": ["v9"], "resources": [resource] });
        check(rule("UPDATE", "apps", "deployments"), "apps/v1/Deployment", "deployments", true);
        check(rule("*", "*", "*"), "v1/ConfigMap", "configmaps", true);
        check(rule("*", "*", "*/*"), "v1/ConfigMap", "configmaps", true);
        check(rule("*", "", "pods/*"), "v1/Pod", "pods", true);
        check(rule("CREATE", "apps", "deployments"), "apps/v1/Deployment", "deployments", false);
        check(rule("UPDATE", "apps", "deployments/scale"), "apps/v1/Deployment", "deployments", false);
        check(rule("UPDATE", "batch", "*"), "apps/v1/Deployment", "deployments", false);
    }
}
