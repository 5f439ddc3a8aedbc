//! Where a field is: the way from the object's root to it, in the elements the API server uses.
//!
//! A list element is named by its merge key or, in a set, by its value, because its position changes when another
//! manager adds one. A position is an element only of lists that have no better name for what they hold.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::order::Ordered;

mod notation;
mod wire;

pub use notation::Notation;
pub use wire::ElementError;

/// The way to a field, from the object's root. Cloning is cheap; the order is that of structured-merge-diff.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Arc<[PathElement]>);

impl FieldPath {
    /// The object itself.
    pub fn root() -> Self {
        Self(Arc::new([]))
    }

    /// A path through nested fields; dots in a name are part of it.
    pub fn of_fields<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        names.into_iter().map(PathElement::field).collect()
    }

    /// Its elements, from the root.
    pub fn elements(&self) -> &[PathElement] {
        &self.0
    }

    /// Whether it is the object itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path to `element` below this one.
    #[must_use]
    pub fn child(&self, element: PathElement) -> Self {
        self.0.iter().cloned().chain([element]).collect()
    }

    /// The path one element shorter; nothing above the root.
    pub fn parent(&self) -> Option<Self> {
        self.0.split_last().map(|(_, above)| above.into())
    }

    /// Whether this is `prefix` or a path below it.
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }
}

/// The object itself.
impl Default for FieldPath {
    fn default() -> Self {
        Self::root()
    }
}

impl FromIterator<PathElement> for FieldPath {
    fn from_iter<I: IntoIterator<Item = PathElement>>(elements: I) -> Self {
        Self(elements.into_iter().collect())
    }
}

impl From<&[PathElement]> for FieldPath {
    fn from(elements: &[PathElement]) -> Self {
        Self(elements.into())
    }
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathElement {
    /// A field of an object or a key of a map (`f:`).
    Field(Arc<str>),
    /// The element of a keyed list whose merge-key fields have these values (`k:`).
    Key(ListKey),
    /// The element of a set list that equals this value (`v:`).
    Value(SetValue),
    /// The element at this position of any other list (`i:`).
    Index(usize),
}

impl PathElement {
    /// The field called `name`.
    pub fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// The keyed-list element with these merge-key fields.
    pub fn key<N: Into<Arc<str>>>(fields: impl IntoIterator<Item = (N, Value)>) -> Self {
        Self::Key(ListKey::new(fields))
    }

    /// The set element that equals `value`.
    pub fn value(value: Value) -> Self {
        Self::Value(SetValue::new(value))
    }

    /// The name, if this is a field.
    pub fn as_field(&self) -> Option<&str> {
        if let Self::Field(name) = self { Some(name) } else { None }
    }
}

/// The merge-key fields that name an element of a keyed list, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListKey(Arc<[(Arc<str>, Ordered)]>);

impl ListKey {
    /// A key of these fields.
    pub fn new<N: Into<Arc<str>>>(fields: impl IntoIterator<Item = (N, Value)>) -> Self {
        let mut fields: Vec<_> =
            fields.into_iter().map(|(name, value)| (name.into(), Ordered(narrow(value)))).collect();
        fields.sort_by(|(left, _): &(Arc<str>, Ordered), (right, _)| left.cmp(right));
        Self(fields.into())
    }

    /// The fields with their values, sorted by name.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, &value.0))
    }

    /// The names of its fields, sorted.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.0.iter().map(|(name, _)| Arc::clone(name)).collect()
    }

    /// The part of it that has the fields `names`, if it has them all.
    pub(crate) fn part(&self, names: &[Arc<str>]) -> Option<Self> {
        let field = |name: &Arc<str>| Some((Arc::clone(name), Ordered(self.get(name)?.clone())));
        names.iter().map(field).collect::<Option<Vec<_>>>().map(|fields| Self(fields.into()))
    }

    /// The value of the merge-key field `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields().find(|(field, _)| *field == name).map(|(_, value)| value)
    }
}

/// The value that names an element of a set list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetValue(Arc<Ordered>);

impl SetValue {
    /// The element that equals `value`.
    pub fn new(value: Value) -> Self {
        Self(Arc::new(Ordered(narrow(value))))
    }

    /// The value itself.
    pub fn get(&self) -> &Value {
        &self.0.0
    }
}

/// Integers that a float cannot hold become the float Go would read, so that equal elements also print alike.
fn narrow(mut value: Value) -> Value {
    const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
    match &mut value {
        Value::Number(number) if number.as_i64().is_none_or(|integer| integer.unsigned_abs() > EXACT) => {
            number.as_f64().map_or(value, Value::from)
        }
        Value::Array(items) => items.drain(..).map(narrow).collect(),
        Value::Object(fields) => {
            std::mem::take(fields).into_iter().map(|(name, field)| (name, narrow(field))).collect()
        }
        _ => value,
    }
}

/// Paths of one walk share the elements above them, so most comparisons end at the pointer.
impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |element: &Self| match element {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        };
        match (self, other) {
            (Self::Field(left), Self::Field(right)) if Arc::ptr_eq(left, right) => Ordering::Equal,
            (Self::Key(left), Self::Key(right)) if Arc::ptr_eq(&left.0, &right.0) => Ordering::Equal,
            (Self::Value(left), Self::Value(right)) if Arc::ptr_eq(&left.0, &right.0) => Ordering::Equal,
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => left.cmp(right),
            (Self::Value(left), Self::Value(right)) => left.cmp(right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The keyed form people read when there is no written body to count positions in:
/// `spec.template.spec.containers[name=web].image`, `metadata.finalizers[=kubernetes]`.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, element) in self.0.iter().enumerate() {
            if position > 0 && matches!(element, PathElement::Field(_)) {
                f.write_str(".")?;
            }
            element.fmt(f)?;
        }
        Ok(())
    }
}

/// A field's bare name; `[name=web]`, `[=value]` or `[0]` for a list element.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => f.write_str(name),
            Self::Key(key) => {
                for (position, (name, value)) in key.fields().enumerate() {
                    write!(f, "{}{name}={}", if position == 0 { "[" } else { "," }, Plain(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", Plain(value.get())),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Strings without quotes, everything else as JSON.
struct Plain<'a>(&'a Value);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::String(text) => f.write_str(text),
            other => other.fmt(f),
        }
    }
}
