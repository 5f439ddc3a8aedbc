//! The operator's rights on the kinds of an XRD, under the name that Crossplane uses.
//!
//! These kinds are not known when the operator is installed. A ClusterRole per XRD is aggregated to the operator's, as are
//! those with which users grant access to the kinds they compose.

use composition::definition::{Definition, Names};
use composition::intent::Applied;
use composition::object;
use composition::protocol::Object;
use manifest::ObjectRef;
use serde_json::{Value, json};

use super::{Reconcile, Role};
use crate::runtime::events::EventType;

const MANAGER: &str = "apiextensions.crossplane.io/definition";

impl Reconcile<'_> {
    /// Grants the kinds of `definition` to the operator.
    ///
    /// An operator that is cluster-admin needs no grant, and one that may not grant has been given its rights by an
    /// administrator. Neither blocks the XRD: objects report where a right is missing.
    pub(super) async fn grant(&mut self, definition: &Definition) {
        let role = role(definition);
        if self.memory.granted.as_ref() == Some(&role) {
            return;
        }
        let engine = &self.definitions.engine;
        // A role that cannot be read is applied, which reports missing rights.
        let live = match ObjectRef::of(&role) {
            Ok(target) => engine.client.read(&target).await.ok().flatten(),
            Err(_) => None,
        };
        if live.is_some_and(|live| Applied::found(&role, &live, MANAGER).is_some()) {
            self.memory.granted = Some(role);
            return;
        }
        match engine.client.apply(&role, MANAGER).await {
            Ok(_) => self.memory.granted = Some(role),
            Err(error) => {
                let name = object::name(&role).unwrap_or_default();
                let message =
                    format!("cannot grant the operator its rights by ClusterRole {name}: {}", error.text());
                self.event(Role::Composite, EventType::Warning, Role::Composite.words().establish, message);
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
            // With OwnerReferencesPermissionEnforcement, setting blockOwnerDeletion needs this right on the owner.
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
mod tests;
