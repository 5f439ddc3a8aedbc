//! What may change or refuse an object on its way into the cluster: webhooks and admission policies.
//!
//! They act on every apply, also on one that writes nothing new, so only the API server can tell what comes of it.

use serde_json::Value;

/// Whether anything may intervene when an object is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intervention {
    None,
    Possible,
    /// Webhooks and policies were not listed, or we may not list them.
    Unknown,
    /// What they would make of a repeated apply does not matter to the caller.
    Disregarded,
}

/// The rules of all webhooks and admission policies of a cluster.
pub struct Admission {
    rules: Vec<Value>,
}

impl Admission {
    pub const GROUP: &str = "admissionregistration.k8s.io";
    /// The kinds of [`Self::GROUP`] that intervene.
    pub const KINDS: [&str; 4] = [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "MutatingAdmissionPolicy",
        "ValidatingAdmissionPolicy",
    ];

    /// The rules of `objects`, which are all there are of [`Self::KINDS`].
    pub fn of<'o>(objects: impl IntoIterator<Item = &'o Value>) -> Self {
        Self { rules: objects.into_iter().flat_map(rules_of).cloned().collect() }
    }

    /// Whether anything may intervene in updates of the resource called `plural` in `group`. Selectors and conditions
    /// are not evaluated: they could only exclude objects.
    pub fn intervention(&self, group: &str, plural: &str) -> Intervention {
        let concerns = |rule: &Value| {
            let has = |list: &str, matches: &dyn Fn(&str) -> bool| {
                array(&rule[list]).filter_map(Value::as_str).any(matches)
            };
            has("operations", &|operation| matches!(operation, "*" | "UPDATE"))
                && has("apiGroups", &|named| named == "*" || named == group)
                && has("resources", &|name| {
                    // `pods/*` means pods and their subresources, `*/*` everything.
                    matches!(name, "*" | "*/*") || name.strip_suffix("/*").unwrap_or(name) == plural
                })
        };
        if self.rules.iter().any(concerns) { Intervention::Possible } else { Intervention::None }
    }
}

fn rules_of(object: &Value) -> impl Iterator<Item = &Value> {
    let webhooks = array(&object["webhooks"]).flat_map(|webhook| array(&webhook["rules"]));
    webhooks.chain(array(&object["spec"]["matchConstraints"]["resourceRules"]))
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_concerns_the_kinds_it_names() {
        let check = |rule: Value, group: &str, plural: &str, possible: bool| {
            let expected = if possible { Intervention::Possible } else { Intervention::None };
            let objects = [
                json!({ "webhooks": [{ "rules": [rule.clone()] }] }),
                json!({ "spec": { "matchConstraints": { "resourceRules": [rule.clone()] } } }),
            ];
            for object in objects {
                assert_eq!(Admission::of([&object]).intervention(group, plural), expected, "{rule} {plural}");
            }
        };
        let rule = |operation: &str, group: &str, resource: &str| json!({ "operations": [operation], "apiGroups": [group], "apiVersions": ["v9"], "resources": [resource] });
        check(rule("UPDATE", "apps", "deployments"), "apps", "deployments", true);
        check(rule("*", "*", "*"), "", "configmaps", true);
        check(rule("*", "*", "*/*"), "", "configmaps", true);
        check(rule("*", "", "pods/*"), "", "pods", true);
        check(rule("CREATE", "apps", "deployments"), "apps", "deployments", false);
        check(rule("UPDATE", "apps", "deployments/scale"), "apps", "deployments", false);
        check(rule("UPDATE", "batch", "*"), "apps", "deployments", false);
    }
}
