//! Whether an object is what a wait waits for.

#[cfg(test)]
mod tests;

use std::fmt;

use fields::jsonpath::{EvalError, JsonPath, go_text, prune};
use manifest::GoDuration;
use serde_json::Value;

use crate::ended;
use crate::object::Object;
use crate::rollout;
use crate::tracked::Tracked;

/// What to wait for, for how long, and which part of the object that yields. Made by
/// [`WrittenWait::parse`](crate::WrittenWait::parse).
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// What to wait for.
    pub mode: Mode,
    /// How long to wait in all, looking for the object included.
    pub timeout: GoDuration,
    /// From where the value of a field keeps its structure.
    pub cut: Cut,
}

/// What to wait for.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// The object has reached what its spec asks for.
    Rollout,
    /// The path selects something that is not empty.
    Field(Path),
    /// Each path selects a value that reads like the given text.
    FieldValue(Vec<(Path, String)>),
    /// The condition of this type is True.
    Condition(String),
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

/// Where a wait stands with an object.
#[derive(Clone, PartialEq)]
pub enum Check<T = Option<Value>> {
    /// It is over, and this is what it yields: the value of a field, nothing for other modes.
    Met(T),
    /// It goes on, because of this.
    NotYet(String),
    /// It will never be over, because of this.
    Never(String),
}

/// Leaves out what was waited for, which may be what a Secret holds.
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
    /// Where the wait stands, given the object as it is now.
    pub fn check(&self, object: &Value) -> Check {
        if let Some(why) = ended::deleted(Object(object)) {
            return Check::Never(why);
        }
        let not_yet = match self.mode.look(object) {
            Ok(Seen::Nothing) => return Check::Met(None),
            Ok(Seen::Value(value)) => return Check::Met(Some(self.cut.apply(value))),
            Err(why) => why,
        };
        match ended::ended(Object(object)).filter(|_| self.mode.reads_status()) {
            Some(why) => Check::Never(why),
            None => Check::NotYet(not_yet),
        }
    }

    /// The tracked value as the object has it now. Unlike [`check`](Self::check), this does not mind a deletion.
    pub fn tracked(&self, object: &Value) -> Tracked {
        match &self.mode {
            Mode::Field(path) => match path.select(object) {
                Ok(value) => Tracked::Present(self.cut.apply(value)),
                Err(_) => Tracked::Absent,
            },
            Mode::Rollout | Mode::FieldValue(_) | Mode::Condition(_) => Tracked::Not,
        }
    }
}

/// What a mode found when it was met.
enum Seen {
    Nothing,
    Value(Value),
}

impl Mode {
    /// Looks whether the object is as waited for, or says what is missing.
    fn look(&self, object: &Value) -> Result<Seen, String> {
        match self {
            Self::Rollout => rollout::check(Object(object)).map(|()| Seen::Nothing),
            Self::Field(path) => path.select(object).map(Seen::Value),
            Self::FieldValue(expected) => expected
                .iter()
                .try_for_each(|(path, text)| path.compare(object, text))
                .map(|()| Seen::Nothing),
            Self::Condition(kind) => condition(Object(object), kind).map(|()| Seen::Nothing),
        }
    }

    /// Whether the wait depends on the object's status alone, so that a status that is final decides it.
    fn reads_status(&self) -> bool {
        match self {
            Self::Rollout | Self::Condition(_) => true,
            Self::Field(path) => path.is_below_status(),
            Self::FieldValue(expected) => expected.iter().all(|(path, _)| path.is_below_status()),
        }
    }
}

impl Path {
    /// The path as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether all the path can select is below `status`.
    pub(crate) fn is_below_status(&self) -> bool {
        self.path.root_field() == Some("status")
    }

    /// The object cut down to what the path selects, or why that is nothing yet. The first selected value decides
    /// (an empty text, list or map counts as not there, 0 and false count as there).
    pub(crate) fn select(&self, object: &Value) -> Result<Value, String> {
        let missing = |error| self.missing(&error);
        let first = self.path.find(object).map_err(missing)?.into_iter().next();
        let is_there = match first.as_deref() {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(list)) => !list.is_empty(),
            Some(Value::Object(map)) => !map.is_empty(),
            Some(Value::Bool(_) | Value::Number(_)) => true,
        };
        let places = self.path.find_places(object).map_err(missing)?;
        let cut = prune(object, &places).filter(|_| is_there);
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
        } else if Object(object).is_secret() {
            Err(format!("field {:?} has another value", self.text))
        } else {
            Err(format!("field {:?} is {current:?}, not {expected:?}", self.text))
        }
    }

    fn missing(&self, error: &EvalError) -> String {
        match error {
            // Its text shows what is at the place, which may be confidential.
            EvalError::NotFilterable(_) => format!("field {:?} filters something that is no list", self.text),
            error => format!("field {:?} is not there: {error}", self.text),
        }
    }
}

impl Cut {
    /// The value with the structure that is kept of an object pruned from its root.
    fn apply(self, pruned: Value) -> Value {
        match (self, pruned) {
            (Self::Status, Value::Object(mut root)) => root.remove("status").unwrap_or(Value::Null),
            (_, pruned) => pruned,
        }
    }
}

fn condition(object: Object<'_>, kind: &str) -> Result<(), String> {
    match object.condition(kind) {
        Some(condition) if condition.is_true() => Ok(()),
        Some(condition) => {
            let reason =
                if condition.reason.is_empty() { String::new() } else { format!(" ({})", condition.reason) };
            Err(format!("condition {kind:?} is {}{reason}", condition.status))
        }
        None => Err(format!("there is no condition {kind:?} yet")),
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
            Self::Condition(kind) => write!(f, "condition {kind:?}"),
        }
    }
}
