//! Status conditions of XRs and claims: how a new one replaces an old one, and which types belong to the engine.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object;
use crate::protocol::{ConditionStatus, Object};

/// Believed to be ready to handle work.
pub const READY: &str = "Ready";
/// In step with what is desired.
pub const SYNCED: &str = "Synced";
/// The roll-up over a whole tree: is anything broken?
pub const HEALTHY: &str = "Healthy";
/// Whether watch events reach the XR, or the circuit breaker holds them back.
pub const RESPONSIVE: &str = "Responsive";
/// Belongs to managed resources; functions may not set it either.
pub const UP_TO_DATE: &str = "UpToDate";

/// Whether a condition type belongs to the engine, so that no function may set it.
pub fn is_system(kind: &str) -> bool {
    matches!(kind, READY | SYNCED | HEALTHY | RESPONSIVE | UP_TO_DATE)
}

/// One condition as it stands in `status.conditions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub kind: String,
    pub status: ConditionStatus,
    /// Machine-readable reason in PascalCase.
    pub reason: String,
    /// Left out if empty.
    pub message: String,
    /// When the status last changed.
    pub last_transition_time: Timestamp,
    /// The generation of the object the condition speaks about.
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// A condition as of `now`, in whole seconds as Kubernetes keeps them.
    pub fn new(kind: &str, status: ConditionStatus, reason: &str, now: Timestamp) -> Self {
        Self {
            kind: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: String::new(),
            last_transition_time: Timestamp::from_second(now.as_second()).unwrap_or(now),
            observed_generation: None,
        }
    }

    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    #[must_use]
    pub fn generation(mut self, generation: Option<i64>) -> Self {
        self.observed_generation = generation.filter(|generation| *generation != 0);
        self
    }

    pub fn is_true(&self) -> bool {
        self.status == ConditionStatus::True
    }

    /// Whether both differ in their transition time at most; the generation counts only if both have one.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let generation = match (self.observed_generation, other.observed_generation) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => true,
        };
        let text = (&self.kind, self.status, &self.reason, &self.message);
        generation && text == (&other.kind, other.status, &other.reason, &other.message)
    }

    fn to_value(&self) -> Value {
        let mut value = json!({
            "type": self.kind,
            "status": self.status.as_str(),
            "reason": self.reason,
            "lastTransitionTime": self.last_transition_time.to_string(),
        });
        let object = value.as_object_mut().expect("the literal is an object");
        if !self.message.is_empty() {
            object.insert("message".to_owned(), self.message.clone().into());
        }
        if let Some(generation) = self.observed_generation {
            object.insert("observedGeneration".to_owned(), generation.into());
        }
        value
    }

    fn from_value(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = text("type");
        (!kind.is_empty()).then(|| Self {
            kind: kind.to_owned(),
            status: ConditionStatus::parse(text("status")),
            reason: text("reason").to_owned(),
            message: text("message").to_owned(),
            last_transition_time: text("lastTransitionTime").parse().unwrap_or(Timestamp::UNIX_EPOCH),
            observed_generation: value
                .get("observedGeneration")
                .and_then(Value::as_i64)
                .filter(|seen| *seen != 0),
        })
    }
}

/// The conditions of one object: at most one of each type, in the order in which the types first appeared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions(Vec<Condition>);

impl Conditions {
    /// The conditions in the status of `object`.
    pub fn of(object: &Object) -> Self {
        let mut conditions = Self::default();
        for condition in object::list(object, &["status", "conditions"]).filter_map(Condition::from_value) {
            // The API server keeps the list a map by type; only a file can have a duplicate.
            if conditions.get(&condition.kind).is_none() {
                conditions.0.push(condition);
            }
        }
        conditions
    }

    /// The condition of this type.
    pub fn get(&self, kind: &str) -> Option<&Condition> {
        self.0.iter().find(|condition| condition.kind == kind)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Condition> {
        self.0.iter()
    }

    /// Sets a condition; an equivalent one stays untouched.
    ///
    /// The transition time moves with the status only, which is the Kubernetes convention; Crossplane moves it with
    /// reason and message too.
    pub fn set(&mut self, condition: Condition) {
        let Some(existing) = self.0.iter_mut().find(|existing| existing.kind == condition.kind) else {
            self.0.push(condition);
            return;
        };
        if existing.is_equivalent(&condition) {
            return;
        }
        let since = if existing.status == condition.status {
            existing.last_transition_time
        } else {
            condition.last_transition_time
        };
        *existing = Condition { last_transition_time: since, ..condition };
    }

    pub(crate) fn set_transition_time(&mut self, kind: &str, since: Timestamp) {
        if let Some(condition) = self.0.iter_mut().find(|condition| condition.kind == kind) {
            condition.last_transition_time = since;
        }
    }

    pub fn remove(&mut self, kind: &str) {
        self.0.retain(|condition| condition.kind != kind);
    }

    /// The list as it goes into `status.conditions`.
    pub fn to_value(&self) -> Value {
        self.0.iter().map(Condition::to_value).collect()
    }
}

impl FromIterator<Condition> for Conditions {
    fn from_iter<T: IntoIterator<Item = Condition>>(iter: T) -> Self {
        let mut conditions = Self::default();
        for condition in iter {
            conditions.set(condition);
        }
        conditions
    }
}

#[cfg(test)]
mod tests;
