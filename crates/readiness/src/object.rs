//! What waits read from objects, whatever their kind: absent and malformed fields are simply not there.

use serde_json::Value;

/// An object as the API server returned it.
#[derive(Clone, Copy)]
pub(crate) struct Object<'o>(pub(crate) &'o Value);

/// An entry of `status.conditions`.
pub(crate) struct Condition<'o> {
    pub(crate) kind: &'o str,
    pub(crate) status: &'o str,
    pub(crate) reason: &'o str,
    pub(crate) message: &'o str,
    pub(crate) observed_generation: Option<i64>,
}

impl Condition<'_> {
    pub(crate) fn is_true(&self) -> bool {
        self.status == "True"
    }
}

impl<'o> Object<'o> {
    /// The API group, empty for the core group, and the kind. A kind alone says little: there is more than one `Job`.
    pub(crate) fn group_kind(self) -> (&'o str, &'o str) {
        let group = self.text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        (group, self.text("/kind"))
    }

    /// The text at a JSON pointer, or an empty one.
    pub(crate) fn text(self, pointer: &str) -> &'o str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or("")
    }

    /// The integer at a JSON pointer.
    pub(crate) fn int(self, pointer: &str) -> Option<i64> {
        self.0.pointer(pointer).and_then(Value::as_i64)
    }

    /// A counter at a JSON pointer; the API server leaves counters out that are 0.
    pub(crate) fn count(self, pointer: &str) -> i64 {
        self.int(pointer).unwrap_or(0)
    }

    /// The wanted replicas; a workload that does not say has one.
    pub(crate) fn replicas(self) -> i64 {
        self.int("/spec/replicas").unwrap_or(1)
    }

    /// The list at a JSON pointer, or an empty one.
    pub(crate) fn list(self, pointer: &str) -> &'o [Value] {
        self.0.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// All conditions, in their order.
    pub(crate) fn conditions(self) -> impl Iterator<Item = Condition<'o>> {
        self.list("/status/conditions").iter().map(|condition| {
            let condition = Object(condition);
            Condition {
                kind: condition.text("/type"),
                status: condition.text("/status"),
                reason: condition.text("/reason"),
                message: condition.text("/message"),
                observed_generation: condition.int("/observedGeneration"),
            }
        })
    }

    pub(crate) fn condition(self, kind: &str) -> Option<Condition<'o>> {
        self.conditions().find(|condition| condition.kind == kind)
    }

    /// Whether the controller has seen the current spec. Without a generation in metadata there is nothing to see.
    pub(crate) fn is_observed(self) -> bool {
        self.int("/status/observedGeneration") >= self.int("/metadata/generation")
    }

    /// Whether what the object holds is confidential.
    pub(crate) fn is_secret(self) -> bool {
        self.group_kind() == ("", "Secret")
    }
}
