//! How structured-merge-diff orders and equates JSON values, which decides how FieldsV1 sorts list elements.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde_json::{Number, Value};

/// A value that is compared and hashed in this order.
#[derive(Clone, Debug)]
pub(crate) struct Ordered(pub(crate) Value);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

impl Hash for Ordered {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(&self.0, state);
    }
}

/// Numbers before strings, booleans, lists, objects and null; numbers by size, whatever they are written like.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => compare_all(left, right, compare),
        (Value::Object(left), Value::Object(right)) => {
            compare_all(left, right, |(name, value), (other, against)| {
                name.cmp(other).then_with(|| compare(value, against))
            })
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

/// Agrees with [`compare`]: what compares equal hashes equal.
fn hash<H: Hasher>(value: &Value, state: &mut H) {
    rank(value).hash(state);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(state),
        // Adding zero turns -0.0 into 0.0, which compare equal.
        Value::Number(number) => (as_float(number) + 0.0).to_bits().hash(state),
        Value::String(text) => text.hash(state),
        Value::Array(items) => items.iter().for_each(|item| hash(item, state)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            name.hash(state);
            hash(value, state);
        }),
    }
}

/// Lexically: the first difference decides, else the longer one comes later.
pub(crate) fn compare_all<T>(
    left: impl IntoIterator<Item = T>,
    right: impl IntoIterator<Item = T>,
    by: impl Fn(T, T) -> Ordering,
) -> Ordering {
    let mut right = right.into_iter();
    for item in left {
        match right.next().map(|other| by(item, other)) {
            None => return Ordering::Greater,
            Some(Ordering::Equal) => {}
            Some(different) => return different,
        }
    }
    if right.next().is_some() { Ordering::Less } else { Ordering::Equal }
}

/// A float, because that is what Go reads a number in a path element into.
fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    as_float(left).partial_cmp(&as_float(right)).expect("JSON has no NaN")
}

fn as_float(number: &Number) -> f64 {
    number.as_f64().expect("every number is one without arbitrary_precision")
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}
