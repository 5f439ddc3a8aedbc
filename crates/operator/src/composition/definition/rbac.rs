//! Rights on the kinds of an XRD, for the operator and for users, in ClusterRoles with the names that Crossplane uses.
//!
//! These kinds are not known when the operator is installed. One role is aggregated to the operator's, as are those with which
//! users grant access to the kinds they compose; the others are aggregated to `crossplane-admin`, `-edit`, `-view` and `-browse`. A
//! kind is granted when its CRD is established and controlled by the XRD: an XRD must not be a way to rights on a kind that
//! others have defined.

use std::time::Duration;

use composition::definition::{Definition, Names};
use composition::intent::Applied;
use composition::object;
use composition::protocol::Object;
use manifest::{GroupVersionKind, ObjectRef};
use serde_json::{Value, json};

use super::{Reconcile, Role};
use crate::composition::access;
use crate::runtime::client::ApiError;
use crate::runtime::events::EventType;

const MANAGER: &str = "apiextensions.crossplane.io/definition";
/// Everything the controllers do with XRs and claims.
const VERBS: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
/// How often, and how many times, to check whether a grant has taken effect. Watches that start before it fail, and wait
/// longer than this for their next attempt.
const PROPAGATION: (Duration, usize) = (Duration::from_millis(50), 40);

impl Reconcile<'_> {
    /// Grants the kinds that `definition` has in `roles` to the operator and to users, and no others; what is missing, if it
    /// may not grant and an administrator has not done so either.
    pub(super) async fn grant(&mut self, definition: &Definition, roles: &[Role]) -> Option<String> {
        let missing = self.grant_to_operator(definition, roles).await;
        for audience in Audience::ALL {
            let rules = roles.iter().filter_map(|role| audience.rule(definition, *role));
            let role = cluster_role(&self.xrd, audience.suffix(), audience.labels(), rules);
            if !self.is_granted(&role).await
                && let Err(error) = self.write_role(role.clone()).await
            {
                let name = object::name(&role).unwrap_or_default();
                let why = format!(
                    "cannot write ClusterRole {name}, so users have no rights by it: {}",
                    error.text()
                );
                self.event(Role::Composite, EventType::Warning, "ApplyClusterRoles", why);
            }
        }
        missing
    }

    async fn grant_to_operator(&mut self, definition: &Definition, roles: &[Role]) -> Option<String> {
        let rules = roles.iter().filter_map(|role| rules(definition, *role)).flatten();
        let role = operator_role(&self.xrd, rules);
        if self.is_granted(&role).await {
            return None;
        }
        let applied = self.write_role(role.clone()).await;
        // What was just granted takes a moment to take effect.
        let attempts = if applied.is_ok() { PROPAGATION.1 } else { 1 };
        let mut denied = false;
        for kind in roles.iter().filter_map(|role| role.objects(definition)) {
            denied |= self.is_denied(kind, attempts).await;
        }
        match applied {
            Err(error) if denied => Some(missing(&role, &error.text())),
            _ => None,
        }
    }

    /// Whether a ClusterRole is as it should be.
    async fn is_granted(&mut self, role: &Object) -> bool {
        if self.memory.granted.contains(role) {
            return true;
        }
        let is_found =
            self.granted(role).await.is_some_and(|live| Applied::found(role, &live, MANAGER).is_some());
        if is_found {
            self.remember(role.clone());
        }
        is_found
    }

    async fn write_role(&mut self, role: Object) -> Result<(), ApiError> {
        self.definitions.engine.client.apply(&role, MANAGER).await?;
        self.remember(role);
        Ok(())
    }

    fn remember(&mut self, role: Object) {
        self.memory.granted.retain(|known| object::name(known) != object::name(&role));
        self.memory.granted.push(role);
    }

    /// Takes back what the operator and users were granted for an XRD that is refused, or whose kinds are no longer its own.
    pub(super) async fn revoke(&mut self) {
        let of_users = Audience::ALL.map(|it| cluster_role(&self.xrd, it.suffix(), it.labels(), []));
        for role in [operator_role(&self.xrd, [])].into_iter().chain(of_users) {
            let is_granted = self.granted(&role).await.is_some_and(|live| {
                let has_rules = object::list(&live, &["rules"]).next().is_some();
                has_rules && object::is_controlled_by(&live, &self.xrd)
            });
            if is_granted && let Err(error) = self.write_role(role).await {
                let xrd = object::name(&self.xrd);
                tracing::warn!(xrd, error = error.text(), "cannot take back the rights of a refused XRD");
            }
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

/// Users that an XRD grants its kinds to.
#[derive(Clone, Copy)]
enum Audience {
    Edit,
    View,
    /// Of XRs only.
    Browse,
}

impl Audience {
    const ALL: [Self; 3] = [Self::Edit, Self::View, Self::Browse];

    const fn suffix(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::View => "view",
            Self::Browse => "browse",
        }
    }

    /// What the role is aggregated to. Administrators may do no more than editors.
    const fn labels(self) -> &'static [&'static str] {
        match self {
            Self::Edit => &["admin", "ns-admin", "edit", "ns-edit"],
            Self::View => &["view", "ns-view"],
            Self::Browse => &["browse"],
        }
    }

    fn rule(self, definition: &Definition, role: Role) -> Option<Value> {
        let spec = &definition.spec;
        let Names { plural, .. } = match (self, role) {
            (_, Role::Composite) => &spec.names,
            (Self::Edit | Self::View, Role::Claim) => spec.claim_names.as_ref()?,
            (Self::Browse, Role::Claim) => return None,
        };
        let verbs: &[&str] = match self {
            Self::Edit => &["*"],
            Self::View | Self::Browse => &["get", "list", "watch"],
        };
        let resources = [plural.clone(), format!("{plural}/status")];
        Some(json!({"apiGroups": [spec.group], "resources": resources, "verbs": verbs}))
    }
}

fn operator_role(xrd: &Object, rules: impl IntoIterator<Item = Value>) -> Object {
    cluster_role(xrd, "crossplane", &["crossplane"], rules)
}

fn cluster_role(
    xrd: &Object,
    suffix: &str,
    aggregated_to: &[&str],
    rules: impl IntoIterator<Item = Value>,
) -> Object {
    let name = object::name(xrd).unwrap_or_default();
    let label = |to: &&str| (format!("rbac.crossplane.io/aggregate-to-{to}"), Value::from("true"));
    object::from_value(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {
            "name": format!("crossplane:composite:{name}:aggregate-to-{suffix}"),
            "labels": aggregated_to.iter().map(label).collect::<Object>(),
            "ownerReferences": [object::controller_reference(xrd)],
        },
        "rules": rules.into_iter().collect::<Vec<_>>(),
    }))
}

#[cfg(test)]
mod tests;
