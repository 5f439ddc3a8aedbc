//! Whether an object meets a wait.

#[cfg(test)]
mod tests;

use std::fmt;

use fields::jsonpath::{EvalError, JsonPath, go_text, prune};
use manifest::{GoDuration, GroupVersionKind};
use serde_json::Value;

use crate::health::Health;
use crate::known_conditions::{Conditions, why_never};
use crate::object::{Object, because};
use crate::terminal;

/// The status that a wait for a condition asks for unless it names another.
pub(crate) const TRUE: &str = "True";

/// What to wait for, for how long, and which part of the object that yields. Made by
/// [`WrittenWait::parse`](crate::WrittenWait::parse).
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    pub mode: Mode,
    /// How long to wait in all, including for the object to appear.
    pub timeout: GoDuration,
    pub cut: Cut,
    /// Which conditions the CRD of the kind allows; `None` if that has not been looked up.
    pub conditions: Option<Conditions>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// The object is ready, see [`Health`].
    Rollout,
    /// The path selects something that is not empty.
    Field(Path),
    /// Each path selects a value that reads like the given text.
    FieldValue(Vec<(Path, String)>),
    /// The condition of this type has this status.
    Condition { kind: String, status: String },
}

/// A path as it was written, and what it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub(crate) text: String,
    pub(crate) path: JsonPath,
}

/// From where the value of a waited field keeps its structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// From below `status`, as in `k8sconnect_object.status`: `{loadBalancer = {…}}`.
    Status,
    /// From the root of the object, as in `k8sconnect_wait.result`: `{status = {loadBalancer = {…}}}`.
    Root,
}

/// Whether an object meets a wait.
#[derive(Clone, PartialEq)]
pub enum Check<T = Option<Value>> {
    /// With what the wait yields: the value of a field, nothing for other modes.
    Met(T),
    /// Not yet, for this reason.
    NotYet(String),
    /// Waiting longer is pointless, for this reason.
    Never(String),
}

/// Leaves out the value, which may come from a Secret.
impl<T> fmt::Debug for Check<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Met(_) => f.debug_tuple("Met").finish_non_exhaustive(),
            Self::NotYet(why) => f.debug_tuple("NotYet").field(why).finish(),
            Self::Never(why) => f.debug_tuple("Never").field(why).finish(),
        }
    }
}

impl Wait {
    /// Whether the object as it is now meets the wait. A status about an earlier generation does not.
    pub fn check(&self, object: &Value) -> Check {
        if let Some(why) = terminal::deletion(object.into()) {
            return Check::Never(why);
        }
        let not_yet = match self.look(object) {
            Ok(value) => return Check::Met(value.map(|value| self.cut.apply(value))),
            Err(why) => why,
        };
        let end = terminal::end(object.into()).filter(|_| self.mode.reads_status());
        match end.or_else(|| self.cannot_come(object.into())) {
            Some(why) => Check::Never(why),
            None => Check::NotYet(not_yet),
        }
    }

    /// The same for an object of this kind that does not exist yet.
    pub fn check_absent(&self, kind: &GroupVersionKind) -> Check {
        match self.never_has(kind.group(), kind.kind()) {
            Some(why) => Check::Never(why),
            None => Check::NotYet("it does not exist".to_owned()),
        }
    }

    /// That the object will never have the condition that is waited for. One that it has, from whichever controller, may
    /// change.
    fn cannot_come(&self, object: Object<'_>) -> Option<String> {
        let Mode::Condition { kind: wanted, .. } = &self.mode else { return None };
        let (group, kind) = object.group_kind();
        match object.condition(wanted) {
            Some(_) => None,
            None => terminal::opposite(object, wanted).or_else(|| self.never_has(group, kind)),
        }
    }

    fn never_has(&self, group: &str, kind: &str) -> Option<String> {
        let Mode::Condition { kind: wanted, .. } = &self.mode else { return None };
        why_never(group, kind, self.conditions.as_ref().unwrap_or(&Conditions::Unknown), wanted)
    }

    /// Whether the CRD of the kind is known to declare `status.conditions`.
    fn expects_conditions(&self) -> bool {
        self.conditions.as_ref().is_some_and(Conditions::are_declared)
    }

    /// The field that is waited for as the object has it now, whatever its generation: what a refresh reports.
    pub fn tracked(&self, object: &Value) -> Option<Value> {
        match &self.mode {
            Mode::Field(path) => path.select(object).ok().map(|value| self.cut.apply(value)),
            Mode::Rollout | Mode::FieldValue(_) | Mode::Condition { .. } => None,
        }
    }

    /// What the wait yields, pruned from the root of the object, or what is missing.
    pub(crate) fn look(&self, object: &Value) -> Result<Option<Value>, String> {
        let current = |is_below_status: bool| {
            let stale = Object::from(object).stale_status().filter(|_| is_below_status);
            stale.map_or(Ok(()), Err)
        };
        match &self.mode {
            Mode::Rollout => match Health::of(object, self.expects_conditions()).trouble() {
                None => Ok(None),
                Some(why) => Err(why.to_owned()),
            },
            Mode::Field(path) => {
                let value = path.select(object)?;
                current(path.is_below_status())?;
                Ok(Some(value))
            }
            Mode::FieldValue(expected) => {
                expected.iter().try_for_each(|(path, text)| path.compare(object, text))?;
                current(expected.iter().any(|(path, _)| path.is_below_status()))?;
                Ok(None)
            }
            Mode::Condition { kind, status } => condition(object, kind, status).map(|()| None),
        }
    }
}

/// Whether the condition has this status, by kubectl's rules: types and statuses are compared without case, and a
/// condition about an earlier generation does not count.
pub fn condition<'o>(object: impl Into<Object<'o>>, kind: &str, status: &str) -> Result<(), String> {
    let object = object.into();
    let Some(condition) = object.condition(kind) else {
        return Err(format!("there is no condition {kind:?} yet"));
    };
    if !condition.has_status(status) {
        let why = because(condition.reason, condition.message);
        return Err(format!("condition {:?} is {}{why}", condition.kind, condition.status));
    }
    object.stale_condition(&condition).map_or(Ok(()), Err)
}

impl Mode {
    /// Whether the wait depends on the object's status alone, so that a final status decides it.
    fn reads_status(&self) -> bool {
        match self {
            Self::Rollout | Self::Condition { .. } => true,
            Self::Field(path) => path.is_below_status(),
            Self::FieldValue(expected) => expected.iter().all(|(path, _)| path.is_below_status()),
        }
    }
}

impl Path {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether all the path can select is below `status`.
    pub(crate) fn is_below_status(&self) -> bool {
        self.path.root_field() == Some("status")
    }

    /// The object pruned to what the path selects. The first selected value decides whether the field is set: an empty
    /// text, list or map is not, 0 and false are.
    pub(crate) fn select(&self, object: &Value) -> Result<Value, String> {
        let missing = |error| self.missing(&error);
        let first = self.path.find(object).map_err(missing)?.into_iter().next();
        let is_set = match first.as_deref() {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(list)) => !list.is_empty(),
            Some(Value::Object(map)) => !map.is_empty(),
            Some(Value::Bool(_) | Value::Number(_)) => true,
        };
        let places = self.path.find_places(object).map_err(missing)?;
        let cut = prune(object, &places).filter(|_| is_set);
        cut.ok_or_else(|| format!("field {:?} is empty", self.text))
    }

    /// What the path selects first, as Go prints it.
    pub(crate) fn first_text(&self, object: &Value) -> Result<String, String> {
        let found = self.path.find(object).map_err(|error| self.missing(&error))?;
        found.first().map(|value| go_text(value)).ok_or_else(|| format!("field {:?} is empty", self.text))
    }

    fn compare(&self, object: &Value, expected: &str) -> Result<(), String> {
        let current = self.first_text(object)?;
        if current == expected {
            Ok(())
        } else if Object::from(object).is_secret() {
            Err(format!("field {:?} has another value", self.text))
        } else {
            Err(format!("field {:?} is {current:?}, not {expected:?}", self.text))
        }
    }

    fn missing(&self, error: &EvalError) -> String {
        match error {
            // Its text shows the value, which may be confidential.
            EvalError::NotFilterable(_) => {
                format!("field {:?} filters a value that is not a list", self.text)
            }
            error => format!("field {:?} is not set: {error}", self.text),
        }
    }
}

impl Cut {
    fn apply(self, pruned: Value) -> Value {
        match (self, pruned) {
            (Self::Status, Value::Object(mut root)) => root.remove("status").unwrap_or(Value::Null),
            (_, pruned) => pruned,
        }
    }
}

/// What is waited for, as a phrase: `field "status.phase"`.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rollout => f.write_str("rollout"),
            Self::Field(path) => write!(f, "field {:?}", path.text),
            Self::FieldValue(expected) => {
                for (position, (path, text)) in expected.iter().enumerate() {
                    let comma = if position > 0 { ", " } else { "" };
                    write!(f, "{comma}field {:?} = {text:?}", path.text)?;
                }
                Ok(())
            }
            Self::Condition { kind, status } if status == TRUE => write!(f, "condition {kind:?}"),
            Self::Condition { kind, status } => write!(f, "condition {kind:?}={status}"),
        }
    }
}
