//! The status of a kind: the state of its operations, and the resource as it was last observed.

use jiff::Timestamp;
use operations::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A status with the state of operations. [`Tracked`] is one for every kind without special needs.
pub trait KindStatus: Default {
    /// The stored state; operations that an older operator left in flight are resumed.
    fn recorded(&self, now: Timestamp) -> Status;

    /// Sets the state; `answer`, a read of the resource, says what to show of it. Without it, what was shown stays if it is
    /// about the resource that the object is bound to.
    fn show(&mut self, status: Status, answer: Option<&Value>);
}

/// The shared contract and the conditions, and the resource as `O` shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "What is known about the resource.")]
pub struct Tracked<O> {
    /// The shared contract and the conditions.
    #[serde(flatten)]
    pub progress: Status,
    /// The resource as it was last seen.
    #[serde(flatten)]
    pub observed: O,
}

impl<O: Default + for<'a> From<&'a Value>> Tracked<O> {
    pub(super) fn showing(self, status: Status, answer: Option<&Value>) -> Self {
        let id = status.ocid();
        let read = answer.filter(|answer| answer.get("id").and_then(Value::as_str) == id);
        let observed = match read {
            Some(answer) => answer.into(),
            None if self.progress.ocid() == id => self.observed,
            None => O::default(),
        };
        Self { progress: status, observed }
    }
}

impl<O: Default + for<'a> From<&'a Value>> KindStatus for Tracked<O> {
    fn recorded(&self, _now: Timestamp) -> Status {
        self.progress.clone()
    }

    fn show(&mut self, status: Status, answer: Option<&Value>) {
        *self = std::mem::take(self).showing(status, answer);
    }
}
