//! Which revision owns which condition of an XR, kept in its status from one reconcile to the next.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::composite::Composite;
use crate::condition::{Condition, Conditions, is_system};
use crate::object;
use crate::protocol::{FunctionCondition, Object, Target};

/// The conditions functions own on an XR, and which of them its claim shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ConditionOwners {
    /// The types functions have set, with the revision that set them last.
    owned: BTreeMap<String, String>,
    /// The types set in this reconcile.
    seen: Vec<String>,
    /// The types the claim shows.
    pub(super) on_claim: Vec<String>,
    /// The types the claim used to show and has to remove.
    retired: Vec<String>,
}

impl ConditionOwners {
    pub(super) fn of(xr: Composite<'_>) -> Self {
        let text = |value: &Value, key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let entry = |entry: &Value| Some((text(entry, "type")?, text(entry, "revision")?));
        Self {
            owned: object::list(xr.object, &["status", "crossplane", "conditionTypes"])
                .filter_map(entry)
                .collect(),
            seen: Vec::new(),
            on_claim: xr.claim_condition_types(),
            retired: retired(xr.object),
        }
    }

    /// Takes ownership of types the claim shows and no revision owns: Crossplane set them before we took over.
    pub(super) fn adopt(&mut self, revision: &str) {
        for kind in &self.on_claim {
            self.owned.entry(kind.clone()).or_insert_with(|| revision.to_owned());
        }
    }

    /// The conditions that are ours to write: the engine's and the functions'. Those of other managers stay theirs.
    pub(super) fn ours(&self, conditions: &Conditions) -> Conditions {
        let ours =
            |condition: &&Condition| is_system(&condition.kind) || self.owned.contains_key(&condition.kind);
        conditions.iter().filter(ours).cloned().collect()
    }

    pub(super) fn returned(&mut self, condition: &FunctionCondition, revision: &str) {
        let kind = &condition.kind;
        self.owned.insert(kind.clone(), revision.to_owned());
        self.seen.push(kind.clone());
        match condition.target {
            Target::CompositeAndClaim => self.show_on_claim(kind),
            Target::Composite => self.hide_from_claim(kind),
        }
    }

    /// Types that a failed reconcile has not set.
    pub(super) fn unseen(&self) -> Vec<String> {
        self.owned.keys().filter(|kind| !self.seen.contains(kind)).cloned().collect()
    }

    /// Removes and returns the types another revision has set and this one, in a complete reconcile, has not.
    pub(super) fn remove_stale(&mut self, revision: &str) -> Vec<String> {
        let stale = |kind: &String, by: &String| by != revision && !self.seen.contains(kind);
        let left: Vec<String> =
            self.owned.iter().filter(|(kind, by)| stale(kind, by)).map(|(kind, _)| kind.clone()).collect();
        for kind in &left {
            self.owned.remove(kind);
            self.hide_from_claim(kind);
        }
        left
    }

    fn show_on_claim(&mut self, kind: &str) {
        if !self.on_claim.iter().any(|shown| shown == kind) {
            self.on_claim.push(kind.to_owned());
        }
        self.retired.retain(|retired| retired != kind);
    }

    fn hide_from_claim(&mut self, kind: &str) {
        let before = self.on_claim.len();
        self.on_claim.retain(|shown| shown != kind);
        if self.on_claim.len() < before && !self.retired.iter().any(|retired| retired == kind) {
            self.retired.push(kind.to_owned());
        }
    }

    pub(super) fn to_value(&self) -> Object {
        let mut value = Object::new();
        if !self.owned.is_empty() {
            let entry = |(kind, revision)| json!({"type": kind, "revision": revision});
            value.insert("conditionTypes".to_owned(), self.owned.iter().map(entry).collect());
        }
        if !self.retired.is_empty() {
            value.insert("retiredConditionTypes".to_owned(), json!(self.retired));
        }
        value
    }
}

/// The condition types the claim of `xr` used to show and has to remove.
pub(crate) fn retired(xr: &Object) -> Vec<String> {
    object::texts(xr, &["status", "crossplane", "retiredConditionTypes"])
}
