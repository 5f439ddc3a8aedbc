//! When two values mean the same to Kubernetes.
//!
//! Quantities and numbers are compared by value, sets and keyed lists in any order, and null, an empty list or an empty
//! map is the same as nothing: the API server drops these on the way.

use serde_json::{Number, Value};

use crate::merge::merge;
use crate::{ListKind, Quantity, Shape, items};

/// Whether two values of one place mean the same.
pub fn equal(left: &Value, right: &Value, shape: Shape<'_>) -> bool {
    equal_or_nothing(Some(left), Some(right), shape)
}

/// The value, unless it is one the server does not keep.
pub(crate) fn something<'v>(value: Option<&'v Value>, shape: Shape<'_>) -> Option<&'v Value> {
    value.filter(|value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        // An object of a type, such as `emptyDir: {}`, says something by being there.
        Value::Object(fields) => !fields.is_empty() || !shape.is_map(),
        _ => true,
    })
}

pub(crate) fn equal_or_nothing(left: Option<&Value>, right: Option<&Value>, shape: Shape<'_>) -> bool {
    match (something(left, shape), something(right, shape)) {
        (None, None) => true,
        (Some(left), Some(right)) => same(left, right, shape),
        _ => false,
    }
}

fn same(left: &Value, right: &Value, shape: Shape<'_>) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            merge(left, right, |(name, _), (other, _)| name.cmp(other)).all(|(left, right)| {
                let value = |(_, value)| value;
                let shape = left.or(right).map_or(shape, |(name, _)| shape.field(name));
                equal_or_nothing(left.map(value), right.map(value), shape)
            })
        }
        (Value::Array(left), Value::Array(right)) => equal_lists(left, right, shape),
        (Value::Number(left), Value::Number(right)) if equal_numbers(left, right) => true,
        _ if shape.is_quantity() => match (Quantity::from_value(left), Quantity::from_value(right)) {
            (Some(left), Some(right)) => left == right,
            _ => left == right,
        },
        (Value::Number(number), Value::String(text)) | (Value::String(text), Value::Number(number)) => {
            shape.is_int_or_string() && number.to_string() == *text
        }
        _ => left == right,
    }
}

fn equal_lists(left: &[Value], right: &[Value], shape: Shape<'_>) -> bool {
    let kind = shape.list_kind();
    if kind == ListKind::Atomic {
        return equal_pairwise(left.iter(), right.iter(), shape.element());
    }
    let (left, right) = (items::by_name(left, kind), items::by_name(right, kind));
    left.len() == right.len()
        && left.iter().zip(&right).all(|(left, right)| {
            let (items, against) = (left.items.iter().copied(), right.items.iter().copied());
            left.name.compare(right.name).is_eq() && equal_pairwise(items, against, shape.element())
        })
}

pub(crate) fn equal_pairwise<'v>(
    left: impl ExactSizeIterator<Item = &'v Value>,
    right: impl ExactSizeIterator<Item = &'v Value>,
    shape: Shape<'_>,
) -> bool {
    left.len() == right.len() && left.zip(right).all(|(left, right)| same(left, right, shape))
}

/// Integers exactly, and an integer equals the float of the same value.
fn equal_numbers(left: &Number, right: &Number) -> bool {
    left == right || ((left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64())
}
