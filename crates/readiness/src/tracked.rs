//! What Terraform plans and keeps of a wait.
//!
//! Null means that no value is tracked, and dependents go on with null. Unknown means that a value is tracked and not
//! there yet, and dependents are held back. A state cannot hold unknown values, so a value that is not there yet is
//! null in the state, and the plan says unknown again until the wait has succeeded.

#[cfg(test)]
mod tests;

use std::fmt;

use diag::Severity;
use serde_json::Value;

use crate::check::{Check, Mode, Wait};
use crate::known_conditions::Conditions;

/// What a plan says about the tracked value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planned {
    Null,
    Unknown,
    /// The value that the state has.
    Prior,
}

impl Planned {
    /// `has_value`: the state holds a value. `changes`: the object is created or changed, or the wait is another one.
    /// `owed`: an earlier wait did not finish. Unknown where nothing else changes makes the plan an update in place, and
    /// that runs the wait again.
    pub fn new(wait: Option<&Wait>, has_value: bool, changes: bool, owed: bool) -> Self {
        match wait.map(|wait| &wait.mode) {
            _ if owed => Self::Unknown,
            Some(Mode::Field(_)) if has_value && !changes => Self::Prior,
            Some(Mode::Field(_)) => Self::Unknown,
            Some(Mode::Rollout | Mode::FieldValue(_) | Mode::Condition { .. }) | None => Self::Null,
        }
    }
}

/// During which operation a wait ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum During {
    Create,
    Update,
}

impl During {
    /// How to report a wait that did not finish. An error after a create would taint the object, and the next apply would
    /// destroy it; after an update the new state is saved, and dependents are held back.
    pub const fn unfinished(self) -> Severity {
        match self {
            Self::Create => Severity::Warning,
            Self::Update => Severity::Error,
        }
    }
}

/// What is kept of a wait.
#[derive(Clone, PartialEq)]
pub struct Kept {
    /// The value in the state; `None` is null.
    pub value: Option<Value>,
    /// Whether the wait has to run again, which is kept next to the state.
    pub owed: bool,
}

impl Kept {
    /// After a wait that was met (see [`Check::Met`]).
    pub fn met(value: Option<Value>) -> Self {
        Self { value, owed: false }
    }

    /// After a wait that timed out, can never be met, was cancelled, or could not read the object.
    pub fn unmet() -> Self {
        Self { value: None, owed: true }
    }

    /// After a refresh: the value is what the object has now, and a wait that is owed stays owed until the object meets it.
    pub fn refreshed(wait: &Wait, object: &Value, owed: bool) -> Self {
        // Whether the kind publishes conditions is not looked up here. An empty status does not settle what is owed; the
        // next apply does.
        let strict = Wait { conditions: Some(Conditions::Any), ..wait.clone() };
        let owed = owed && !matches!(strict.check(object), Check::Met(_));
        Self { value: wait.tracked(object), owed }
    }
}

/// Leaves out the value, which may come from a Secret.
impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("owed", &self.owed).finish_non_exhaustive()
    }
}
