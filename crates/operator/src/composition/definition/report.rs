//! What an XRD says about itself: conditions and the kinds whose controllers run.

use composition::condition::{Condition, Conditions};
use composition::object;
use composition::run::{ConditionStatus, Object};
use jiff::Timestamp;
use manifest::GroupVersionKind;
use serde_json::json;

use super::role::Role;

/// The XRD's status as it is to be, from which it is seen whether a write is owed.
pub(super) struct Report {
    conditions: Conditions,
    generation: Option<i64>,
    xrd: Object,
    now: Timestamp,
}

impl Report {
    /// What `xrd` says so far.
    pub(super) fn on(xrd: &Object, now: Timestamp) -> Self {
        let (conditions, generation) = (Conditions::of(xrd), object::generation(xrd));
        Self { conditions, generation, xrd: xrd.clone(), now }
    }

    /// Its objects are watched, as `kind`.
    pub(super) fn watching(&mut self, role: Role, kind: &GroupVersionKind) {
        let words = role.words();
        self.set(words.condition, ConditionStatus::True, words.watching, "");
        object::nested_mut(&mut self.xrd, &["status", "controllers"]).insert(
            words.controller.to_owned(),
            json!({"apiVersion": kind.api_version().to_string(), "kind": kind.kind()}),
        );
    }

    /// Its objects are being deleted, and then their kind.
    pub(super) fn terminating(&mut self, role: Role) {
        let words = role.words();
        self.set(words.condition, ConditionStatus::False, words.terminating, "");
    }

    /// It cannot be watched, and is not because of an earlier one either.
    pub(super) fn failed(&mut self, role: Role, reason: &str, why: &str) {
        let condition = role.words().condition;
        if !self.conditions.get(condition).is_some_and(Condition::is_true) {
            self.set(condition, ConditionStatus::False, reason, why);
        }
    }

    fn set(&mut self, kind: &str, status: ConditionStatus, reason: &str, message: &str) {
        let condition = Condition::new(kind, status, reason, self.now);
        self.conditions.set(condition.message(message).generation(self.generation));
    }

    /// The XRD with its new status, if there is something new in it.
    pub(super) fn news(self, xrd: &Object) -> Option<Object> {
        let mut reported = self.xrd;
        object::nested_mut(&mut reported, &["status"])
            .insert("conditions".to_owned(), self.conditions.to_value());
        (reported.get("status") != xrd.get("status")).then_some(reported)
    }
}

/// Whether the API server says of a CRD that its kind is served.
pub(super) fn is_established(crd: &Object) -> bool {
    Conditions::of(crd).get("Established").is_some_and(Condition::is_true)
}

/// The generation the XRD was last watched at.
pub(super) fn watched_generation(xrd: &Object, role: Role) -> Option<i64> {
    Conditions::of(xrd).get(role.words().condition)?.observed_generation
}
