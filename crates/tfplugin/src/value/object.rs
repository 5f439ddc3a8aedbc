//! The attributes of an object or the entries of a map.

use std::collections::BTreeMap;
use std::fmt;

use super::Value;

/// Values by name; an absent one reads as null.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object(BTreeMap<String, Value>);

static NULL: Value = Value::Null;

impl Object {
    pub fn new() -> Self {
        Self::default()
    }

    /// Null if absent.
    pub fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&NULL)
    }

    /// `None` if absent.
    pub fn find(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The value called `name` if it is a known string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).as_str()
    }

    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }

    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// The value called `name`, which is null until it is set again; `None` if absent.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.get_mut(name).map(std::mem::take)
    }

    /// Sets a value whose name is probably there.
    pub(super) fn set_known(&mut self, name: &str, value: Value) {
        match self.0.get_mut(name) {
            Some(place) => *place = value,
            None => self.set(name, value),
        }
    }

    /// Replaces the value called `name`, if there is one.
    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(Value) -> Value) {
        if let Some(value) = self.0.get_mut(name) {
            *value = change(std::mem::take(value));
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        self.0.iter_mut().map(|(name, value)| (name.as_str(), value))
    }

    pub fn is_wholly_known(&self) -> bool {
        self.0.values().all(Value::is_wholly_known)
    }
}

/// Shows names and structure, no content.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0).finish()
    }
}

impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(entries: I) -> Self {
        Self(entries.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl<N: Into<String>, V: Into<Value>, const SIZE: usize> From<[(N, V); SIZE]> for Object {
    fn from(entries: [(N, V); SIZE]) -> Self {
        entries.into_iter().collect()
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = std::collections::btree_map::IntoIter<String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
