//! Whether this reconcile may speak for the resource: with the identity that it is bound to, and as the administrator
//! allows.

use super::{Action, Decision};
use crate::binding::{Binding, Match, Scope};
use crate::outcome::StallReason;

impl Decision<'_> {
    /// Stalls an object whose resource is bound to another region, tenancy or Secret. No call is made: whatever another
    /// identity answers, it says nothing about this resource.
    pub(super) fn check_identity(&mut self) -> Option<Action> {
        let (Some(identity), Some(binding)) = (&self.desired.identity, &self.status.status.binding) else {
            return None;
        };
        let Match::Other(why) = binding.compare(identity) else { return None };
        let name = self.desired.kind.name;
        let what = match self.status.ocid() {
            Some(id) => format!("{name} {id}"),
            None => format!("the {name} that was requested"),
        };
        let mut message = format!("{what} {why}; it is left alone until the credentials match it again");
        if self.desired.deleting {
            message = format!("{message}; {}", self.release_hint());
        }
        Some(self.stalled(StallReason::CredentialsChanged, &message))
    }

    /// Stalls an object that asks for what the administrator does not allow. What exists is left alone.
    pub(super) fn check_policy(&mut self) -> Option<Action> {
        let policy = &self.desired.policy;
        if let Some((parameter, id)) = policy.refuses(&self.desired.scope) {
            return Some(self.refuse_parent(&format!("{parameter} {id}")));
        }
        let adopted = self.desired.annotations.adopt.as_deref();
        if policy.no_adoption && adopted.is_some() && self.status.ocid() != adopted {
            let message = "adoption is disabled (--no-adopt); remove the annotation plimsoll.dev/adopt";
            return Some(self.stalled(StallReason::NotAllowed, message));
        }
        None
    }

    pub(super) fn refuse_parent(&mut self, parent: &str) -> Action {
        let message = format!(
            "this namespace may not use {parent}; ask an administrator to add it to the annotation \
             plimsoll.dev/oci-compartments of the Namespace"
        );
        self.stalled(StallReason::NotAllowed, &message)
    }

    /// Whether an answer of "not found" is about the place where the resource is.
    pub(super) fn may_conclude_absence(&self) -> bool {
        let Some(identity) = &self.desired.identity else { return true };
        let binding = self.status.status.binding.as_ref();
        binding.is_some_and(|binding| binding.compare(identity) == Match::Same)
    }

    /// Records where a create is sent, or where the resource was just seen.
    pub(super) fn record_binding(&mut self, scope: Scope) {
        self.status.status.binding = Some(Binding::new(self.desired.identity.as_ref(), scope));
    }

    /// The resource, or its work request, answered under this identity.
    pub(super) fn confirm_binding(&mut self, seen_in: &Scope) {
        let known = if seen_in.is_empty() { self.scope() } else { seen_in.clone() };
        self.record_binding(known);
    }

    /// The listing to search: where the create was sent or the resource was last seen, else where a create would go.
    pub(super) fn scope(&self) -> Scope {
        let recorded = self.status.status.binding.as_ref().map(|binding| &binding.scope);
        recorded.filter(|scope| !scope.is_empty()).unwrap_or(&self.desired.scope).clone()
    }

    pub(super) fn release_hint(&self) -> String {
        format!(
            "to delete the object regardless, annotate it with plimsoll.dev/release: {}",
            self.desired.uid
        )
    }
}
