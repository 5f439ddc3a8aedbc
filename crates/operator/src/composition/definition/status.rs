//! The status of an XRD: its conditions, and the kinds whose controllers run.

use composition::condition::{Condition, Conditions};
use composition::object;
use composition::protocol::{ConditionStatus, Object};
use jiff::Timestamp;
use manifest::GroupVersionKind;
use serde_json::json;

use super::role::Role;
use crate::aside;

/// The status as it should be.
pub(super) struct Status {
    conditions: Conditions,
    generation: Option<i64>,
    xrd: Object,
    now: Timestamp,
}

impl Status {
    /// Starts from what `xrd` has.
    pub(super) fn of(xrd: &Object, now: Timestamp) -> Self {
        let (conditions, generation) = (Conditions::of(xrd), object::generation(xrd));
        Self { conditions, generation, xrd: xrd.clone(), now }
    }

    /// A controller runs for objects of `kind`.
    pub(super) fn watching(&mut self, role: Role, kind: &GroupVersionKind) {
        let words = role.words();
        self.conditions.remove(aside::CONDITION);
        self.set(words.condition, ConditionStatus::True, words.watching, "");
        object::nested_mut(&mut self.xrd, &["status", "controllers"]).insert(
            words.controller.to_owned(),
            json!({"apiVersion": kind.api_version().to_string(), "kind": kind.kind()}),
        );
    }

    pub(super) fn terminating(&mut self, role: Role) {
        let words = role.words();
        self.set(words.condition, ConditionStatus::False, words.terminating, "");
    }

    /// No controller can run, unless one already does for an earlier version.
    pub(super) fn failed(&mut self, role: Role, reason: &str, why: &str) {
        let condition = role.words().condition;
        if !self.conditions.get(condition).is_some_and(Condition::is_true) {
            self.set(condition, ConditionStatus::False, reason, why);
        }
    }

    /// The kind is no longer this XRD's, or never was: no controller runs for it.
    pub(super) fn lost(&mut self, role: Role, reason: &str, why: &str) {
        let words = role.words();
        self.set(words.condition, ConditionStatus::False, reason, why);
        if object::nested(&self.xrd, &["status", "controllers", words.controller]).is_some() {
            object::nested_mut(&mut self.xrd, &["status", "controllers"]).remove(words.controller);
        }
    }

    /// Whether a controller runs for the XRs.
    pub(super) fn is_established(&self) -> bool {
        self.conditions.get(Role::Composite.words().condition).is_some_and(Condition::is_true)
    }

    fn set(&mut self, kind: &str, status: ConditionStatus, reason: &str, message: &str) {
        let condition = Condition::new(kind, status, reason, self.now);
        self.conditions.set(condition.message(message).generation(self.generation));
    }

    /// The XRD with this status, if it differs.
    pub(super) fn changed(self, xrd: &Object) -> Option<Object> {
        let mut changed = self.xrd;
        object::nested_mut(&mut changed, &["status"])
            .insert("conditions".to_owned(), self.conditions.to_value());
        (changed.get("status") != xrd.get("status")).then_some(changed)
    }
}

/// Whether the API server serves the kind of a CRD.
pub(super) fn is_established(crd: &Object) -> bool {
    readiness::condition(crd, "Established", "True").is_ok()
}

/// Whether objects of `role` can exist, as the shard says that establishes the XRD.
pub(super) fn is_served(xrd: &Object, role: Role) -> bool {
    Conditions::of(xrd).get(role.words().condition).is_some_and(Condition::is_true)
}

/// The generation for which a controller was last started.
pub(super) fn watched_generation(xrd: &Object, role: Role) -> Option<i64> {
    Conditions::of(xrd).get(role.words().condition)?.observed_generation
}
