//! What becomes of a waited value: in a plan, after an apply, at a refresh.
//!
//! Null means that a value is not tracked, and dependents go on with null. Unknown means that it is tracked and not
//! there yet, and dependents are held back. Terraform allows nothing unknown in a state, so what is not there yet is
//! null in the state, and the plan says unknown again until the wait has succeeded.

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use crate::check::{Check, Mode, Wait};
use crate::hidden::Hidden;

/// The state of a waited value.
#[derive(Clone, PartialEq)]
pub enum Tracked {
    /// Nothing is tracked: there is no wait, or it is for something else than a field.
    Not,
    /// A field is tracked and the object does not have it.
    Absent,
    /// A field is tracked, and this is its value.
    Present(Value),
}

/// What a plan says about a value.
#[derive(Clone, PartialEq)]
pub enum Planned {
    /// There is none, and there will be none.
    Null,
    /// There will be one; which, shows at apply.
    Unknown,
    /// This one.
    Value(Value),
}

impl Tracked {
    /// What a state says: `value` is what it holds, null counting as no value.
    pub fn in_state(wait: Option<&Wait>, value: Option<Value>) -> Self {
        match (wait.map(|wait| &wait.mode), value) {
            (Some(Mode::Field(_)), Some(value)) if !value.is_null() => Self::Present(value),
            (Some(Mode::Field(_)), _) => Self::Absent,
            (Some(Mode::Rollout | Mode::FieldValue(_) | Mode::Condition(_)) | None, _) => Self::Not,
        }
    }

    /// What a state can hold of it.
    pub fn into_state(self) -> Option<Value> {
        match self {
            Self::Not | Self::Absent => None,
            Self::Present(value) => Some(value),
        }
    }
}

/// All that decides what a plan says about a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Situation {
    /// The value as the state has it.
    pub tracked: Tracked,
    /// Whether something changes: the object is created or changed, or the wait is another one.
    pub changes: bool,
    /// Whether a wait is owed, because an earlier one did not finish.
    pub owed: bool,
}

impl Situation {
    /// What to plan for the value. Unknown where nothing changes makes the plan an update in place, and that runs the
    /// wait again.
    pub fn planned(self) -> Planned {
        match self.tracked {
            _ if self.owed => Planned::Unknown,
            Tracked::Not => Planned::Null,
            Tracked::Absent => Planned::Unknown,
            Tracked::Present(_) if self.changes => Planned::Unknown,
            Tracked::Present(value) => Planned::Value(value),
        }
    }
}

/// During which operation a wait ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum During {
    /// The object was created. An error would taint it, and the next apply would destroy it.
    Create,
    /// The object existed before.
    Update,
}

/// How to tell that a wait did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// There is nothing to tell.
    Nothing,
    /// As a warning with the full diagnosis; the object is kept.
    Warning,
    /// As an error with the full diagnosis; the object's new state is saved, and dependents are held back.
    Error,
}

/// What is kept after an apply.
#[derive(Clone, PartialEq)]
pub struct Applied {
    /// The value in the state; none is null.
    pub value: Option<Value>,
    /// Whether the wait is still owed, to be kept next to the state.
    pub owed: bool,
    /// How to tell it.
    pub report: Report,
}

impl Applied {
    /// What is kept when there was nothing to wait for.
    pub fn without_wait() -> Self {
        Self::finished(None)
    }

    /// What is kept when the wait was met with `value` (see [`Check::Met`]).
    pub fn finished(value: Option<Value>) -> Self {
        Self { value, owed: false, report: Report::Nothing }
    }

    /// What is kept when the wait did not finish: it timed out, can never finish, was cancelled, or the object could not
    /// be read or its value not be converted.
    pub fn unfinished(during: During) -> Self {
        let report = match during {
            During::Create => Report::Warning,
            During::Update => Report::Error,
        };
        Self { value: None, owed: true, report }
    }
}

/// What a refresh finds.
#[derive(Clone, PartialEq)]
pub struct Refreshed {
    /// The value in the state; none is null.
    pub value: Option<Value>,
    /// Whether the wait is still owed: no longer if the object has become what was waited for since.
    pub owed: bool,
}

impl Refreshed {
    /// What a refresh makes of the object as it is now. A value that has appeared is filled in, one that has vanished is
    /// gone, one that has changed has changed outside Terraform.
    pub fn new(wait: &Wait, object: &Value, owed: bool) -> Self {
        let owed = owed && !matches!(wait.check(object), Check::Met(_));
        Self { value: wait.tracked(object).into_state(), owed }
    }
}

impl fmt::Debug for Tracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Not => f.write_str("Not"),
            Self::Absent => f.write_str("Absent"),
            Self::Present(value) => f.debug_tuple("Present").field(&Hidden(Some(value))).finish(),
        }
    }
}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Unknown => f.write_str("Unknown"),
            Self::Value(value) => f.debug_tuple("Value").field(&Hidden(Some(value))).finish(),
        }
    }
}

impl fmt::Debug for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, owed, report } = self;
        let mut shown = f.debug_struct("Applied");
        shown.field("value", &Hidden(value.as_ref())).field("owed", owed).field("report", report).finish()
    }
}

impl fmt::Debug for Refreshed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, owed } = self;
        f.debug_struct("Refreshed").field("value", &Hidden(value.as_ref())).field("owed", owed).finish()
    }
}
