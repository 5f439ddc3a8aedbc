//! The operator's rights on the kinds of an XRD, under the name that Crossplane uses.
//!
//! These kinds are not known when the operator is installed. A ClusterRole per XRD is aggregated to the operator's, as are
//! those with which users grant access to the kinds they compose. A kind is granted when its CRD is established and
//! controlled by the XRD: an XRD must not be a way to rights on a kind that others have defined.

use std::time::Duration;

use composition::definition::{Definition, Names};
use composition::intent::Applied;
use composition::object;
use composition::protocol::Object;
use manifest::{GroupVersionKind, ObjectRef};
use serde_json::{Value, json};

use super::{Reconcile, Role};
use crate::composition::access;

const MANAGER: &str = "apiextensions.crossplane.io/definition";
/// Everything the controllers do with XRs and claims.
const VERBS: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
/// How often, and how many times, to check whether a grant has taken effect. Watches that start before it fail, and wait
/// longer than this for their next attempt.
const PROPAGATION: (Duration, usize) = (Duration::from_millis(50), 40);

impl Reconcile<'_> {
    /// Grants the kinds that `definition` has in `roles` to the operator, and no others; what is missing, if it may not grant
    /// and an administrator has not done so either.
    pub(super) async fn grant(&mut self, definition: &Definition, roles: &[Role]) -> Option<String> {
        let role =
            cluster_role(&self.xrd, roles.iter().filter_map(|role| rules(definition, *role)).flatten());
        if self.memory.granted.as_ref() == Some(&role) {
            return None;
        }
        let live = self.granted(&role).await;
        if live.is_some_and(|live| Applied::found(&role, &live, MANAGER).is_some()) {
            self.memory.granted = Some(role);
            return None;
        }
        let applied = self.definitions.engine.client.apply(&role, MANAGER).await;
        // What was just granted takes a moment to take effect.
        let attempts = if applied.is_ok() { PROPAGATION.1 } else { 1 };
        let mut denied = false;
        for kind in roles.iter().filter_map(|role| role.objects(definition)) {
            denied |= self.is_denied(kind, attempts).await;
        }
        match applied {
            Ok(_) => {
                self.memory.granted = Some(role);
                None
            }
            Err(error) if denied => Some(missing(&role, &error.text())),
            Err(_) => None,
        }
    }

    /// Takes back what an XRD that is refused was granted before.
    pub(super) async fn revoke(&mut self) {
        let role = cluster_role(&self.xrd, []);
        let is_granted = self.granted(&role).await.is_some_and(|live| {
            let has_rules = object::list(&live, &["rules"]).next().is_some();
            has_rules && object::is_controlled_by(&live, &self.xrd)
        });
        if is_granted && let Err(error) = self.definitions.engine.client.apply(&role, MANAGER).await {
            let xrd = object::name(&self.xrd);
            tracing::warn!(xrd, error = error.text(), "cannot take back the rights of a refused XRD");
        }
    }

    /// The ClusterRole as it is. One that cannot be read counts as absent: applying it reports missing rights.
    async fn granted(&self, role: &Object) -> Option<Object> {
        let target = ObjectRef::of(role).ok()?;
        self.definitions.engine.client.read(&target).await.ok().flatten()
    }

    /// Whether the operator may not watch `kind`, also not after this many attempts.
    async fn is_denied(&self, kind: &GroupVersionKind, attempts: usize) -> bool {
        let session = self.definitions.engine.client.session();
        let Ok(resource) = session.resource(kind).await else { return false };
        for attempt in 0..attempts {
            if attempt > 0 {
                tokio::time::sleep(PROPAGATION.0).await;
            }
            if access::denied(session, &resource, None, &["watch"])
                .await
                .is_none_or(|denied| denied.is_empty())
            {
                return false;
            }
        }
        true
    }
}

/// What to do where the operator may not grant itself its rights.
fn missing(role: &Object, why: &str) -> String {
    let name = object::name(role).unwrap_or_default();
    let rules = role.get("rules").unwrap_or(&Value::Null);
    format!(
        "the operator has no rights on this kind, and may not grant them itself: {why}. Create ClusterRole {name} with the label \
         rbac.crossplane.io/aggregate-to-crossplane: \"true\" and these rules: {rules}"
    )
}

/// The rights on the kind that `definition` has in `role`.
fn rules(definition: &Definition, role: Role) -> Option<[Value; 3]> {
    let (spec, group) = (&definition.spec, &definition.spec.group);
    let Names { plural, .. } = match role {
        Role::Composite => &spec.names,
        Role::Claim => spec.claim_names.as_ref()?,
    };
    Some([
        json!({"apiGroups": [group], "resources": [plural], "verbs": VERBS}),
        json!({"apiGroups": [group], "resources": [format!("{plural}/status")], "verbs": ["get", "update", "patch"]}),
        // With OwnerReferencesPermissionEnforcement, setting blockOwnerDeletion needs this right on the owner.
        json!({"apiGroups": [group], "resources": [format!("{plural}/finalizers")], "verbs": ["update"]}),
    ])
}

fn cluster_role(xrd: &Object, rules: impl IntoIterator<Item = Value>) -> Object {
    let name = object::name(xrd).unwrap_or_default();
    object::from_value(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {
            "name": format!("crossplane:composite:{name}:aggregate-to-crossplane"),
            "labels": {"rbac.crossplane.io/aggregate-to-crossplane": "true"},
            "ownerReferences": [object::controller_reference(xrd)],
        },
        "rules": rules.into_iter().collect::<Vec<_>>(),
    }))
}

#[cfg(test)]
mod tests;
