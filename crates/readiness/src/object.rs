//! What readiness reads from an object of any kind. Absent and malformed fields count as not set.

use std::fmt;

use serde_json::{Map, Value};

/// An object as the API server returned it.
#[derive(Clone, Copy)]
pub struct Object<'o>(Option<&'o Map<String, Value>>);

impl<'o> From<&'o Value> for Object<'o> {
    fn from(object: &'o Value) -> Self {
        Self(object.as_object())
    }
}

impl<'o> From<&'o Map<String, Value>> for Object<'o> {
    fn from(object: &'o Map<String, Value>) -> Self {
        Self(Some(object))
    }
}

/// An entry of `status.conditions`.
pub(crate) struct Condition<'o> {
    pub(crate) kind: &'o str,
    pub(crate) status: &'o str,
    pub(crate) reason: &'o str,
    pub(crate) message: &'o str,
    observed_generation: Option<i64>,
}

impl Condition<'_> {
    pub(crate) fn is_true(&self) -> bool {
        self.has_status("True")
    }

    /// kubectl compares without case.
    pub(crate) fn has_status(&self, status: &str) -> bool {
        self.status.eq_ignore_ascii_case(status)
    }
}

/// `Ready is False (Creating): soon`
impl fmt::Display for Condition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}{}", self.kind, self.status, because(self.reason, self.message))
    }
}

impl<'o> Object<'o> {
    /// The API group, empty for the core group, and the kind. A kind alone says little: there is more than one `Job`.
    pub(crate) fn group_kind(self) -> (&'o str, &'o str) {
        let group = self.text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        (group, self.text("/kind"))
    }

    pub(crate) fn get(self, pointer: &str) -> Option<&'o Value> {
        let path = pointer.strip_prefix('/')?;
        let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
        self.0?.get(first)?.pointer(rest)
    }

    pub(crate) fn text(self, pointer: &str) -> &'o str {
        self.get(pointer).and_then(Value::as_str).unwrap_or("")
    }

    pub(crate) fn int(self, pointer: &str) -> Option<i64> {
        self.get(pointer).and_then(Value::as_i64)
    }

    /// The API server omits counters that are 0.
    pub(crate) fn count(self, pointer: &str) -> i64 {
        self.int(pointer).unwrap_or(0)
    }

    pub(crate) fn list(self, pointer: &str) -> &'o [Value] {
        self.get(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The desired replicas, which default to one.
    pub(crate) fn replicas(self) -> i64 {
        self.int("/spec/replicas").unwrap_or(1)
    }

    pub(crate) fn conditions(self) -> impl Iterator<Item = Condition<'o>> {
        self.list("/status/conditions").iter().map(|condition| {
            let condition = Object::from(condition);
            Condition {
                kind: condition.text("/type"),
                status: condition.text("/status"),
                reason: condition.text("/reason"),
                message: condition.text("/message"),
                observed_generation: condition.int("/observedGeneration"),
            }
        })
    }

    /// The condition of this type. kubectl compares types without case and skips entries without a status.
    pub(crate) fn condition(self, kind: &str) -> Option<Condition<'o>> {
        self.conditions()
            .find(|condition| condition.kind.eq_ignore_ascii_case(kind) && !condition.status.is_empty())
    }

    /// That the status is about an earlier spec, if it says which generation it is about.
    pub(crate) fn stale_status(self) -> Option<String> {
        self.stale(self.int("/status/observedGeneration"))
    }

    /// That a condition is about an earlier spec: by its own `observedGeneration`, else by that of the status. A condition
    /// that neither dates counts as current, as in kubectl.
    pub(crate) fn stale_condition(self, condition: &Condition<'_>) -> Option<String> {
        self.stale(condition.observed_generation.or(self.int("/status/observedGeneration")))
    }

    fn stale(self, observed: Option<i64>) -> Option<String> {
        let (observed, generation) = (observed?, self.int("/metadata/generation")?);
        (observed < generation)
            .then(|| format!("the controller has observed generation {observed} of {generation}"))
    }

    pub(crate) fn is_secret(self) -> bool {
        self.group_kind() == ("", "Secret")
    }
}

/// ` (reason): message`, without the parts that are empty.
pub fn because(reason: &str, message: &str) -> String {
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    let message = if message.is_empty() { String::new() } else { format!(": {message}") };
    reason + &message
}
