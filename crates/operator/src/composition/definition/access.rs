//! The operator's own rights on the kinds of an XRD, under the name the reference gives them.
//!
//! The kinds an XRD defines are not known when the operator is installed. A ClusterRole per XRD is aggregated to the
//! operator's, as are those with which people grant the kinds they compose.

use composition::definition::{Definition, Names};
use composition::intent::Applied;
use composition::object;
use composition::run::Object;
use manifest::ObjectRef;
use serde_json::{Value, json};

use super::{Pass, Role};

/// Who holds the fields of the roles.
const MANAGER: &str = "apiextensions.crossplane.io/definition";

impl Pass<'_> {
    /// Grants the kinds of `definition` to the operator.
    ///
    /// An operator that may do everything needs no grant, and one that may not grant has been granted what it needs by
    /// whoever decided so. Either way the XRD is not held up: where a right is missing, the objects say so.
    pub(super) async fn grant(&mut self, definition: &Definition) {
        let role = role(definition);
        if self.memory.granted.as_ref() == Some(&role) {
            return;
        }
        let engine = &self.definitions.engine;
        // What cannot be read is applied: that tells of missing rights.
        let live = match ObjectRef::of(&role) {
            Ok(target) => engine.session.read(&target).await.ok().flatten(),
            Err(_) => None,
        };
        let live = live.map(|reply| object::from_value(reply.object));
        if live.is_some_and(|live| Applied::found(&role, &live, MANAGER).is_some()) {
            self.memory.granted = Some(role);
            return;
        }
        match engine.writer.apply(&role, MANAGER).await {
            Ok(_) => self.memory.granted = Some(role),
            Err(error) => {
                let name = object::name(&role).unwrap_or_default();
                let message =
                    format!("cannot grant the operator its rights by ClusterRole {name}: {}", error.text());
                self.say(Role::Composite, true, Role::Composite.words().establish, message);
            }
        }
    }
}

fn role(definition: &Definition) -> Object {
    let group = &definition.spec.group;
    let rules = |names: &Names| {
        let plural = &names.plural;
        [
            json!({"apiGroups": [group], "resources": [plural, format!("{plural}/status")], "verbs": ["*"]}),
            // Where owners are checked, whoever blocks the deletion of one has to be allowed to finalize it.
            json!({"apiGroups": [group], "resources": [format!("{plural}/finalizers")], "verbs": ["update"]}),
        ]
    };
    let kinds = [Some(&definition.spec.names), definition.spec.claim_names.as_ref()];
    let rules: Vec<Value> = kinds.into_iter().flatten().flat_map(rules).collect();
    let name = object::name(&definition.object).unwrap_or_default();
    object::from_value(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {
            "name": format!("crossplane:composite:{name}:aggregate-to-crossplane"),
            "labels": {"rbac.crossplane.io/aggregate-to-crossplane": "true"},
            "ownerReferences": [object::controller_reference(&definition.object)],
        },
        "rules": rules,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rights_on_both_kinds_and_none_on_others() {
        let xrd = object::from_value(json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
            "metadata": {"name": "xapps.example.org", "uid": "u"},
            "spec": {
                "group": "example.org",
                "names": {"plural": "xapps", "kind": "XApp"},
                "claimNames": {"plural": "apps", "kind": "App"},
                "versions": [{"name": "v1", "served": true, "referenceable": true,
                              "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
        }));
        let (definition, _) = Definition::read(&xrd).unwrap();
        let role = role(&definition);
        assert_eq!(
            role["metadata"]["name"],
            "crossplane:composite:xapps.example.org:aggregate-to-crossplane"
        );
        let granted = role["rules"].as_array().unwrap().iter().map(|rule| {
            let list = |key: &str| {
                rule[key].as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>()
            };
            format!(
                "{} {}: {}",
                list("apiGroups").join(","),
                list("resources").join(","),
                list("verbs").join(",")
            )
        });
        assert_eq!(
            granted.collect::<Vec<_>>(),
            [
                "example.org xapps,xapps/status: *",
                "example.org xapps/finalizers: update",
                "example.org apps,apps/status: *",
                "example.org apps/finalizers: update",
            ]
        );
    }
}
