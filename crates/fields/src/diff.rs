//! What differs between two states of an object, compared as Kubernetes would.
//!
//! Quantities and numbers are compared by value, sets and keyed lists in any order, and null, an empty list or an empty
//! map is the same as nothing: the API server drops these on the way.

use std::collections::BTreeSet;

use serde_json::{Number, Value};

use crate::{FieldPath, ListKind, PathElement, Quantity, Schema, Shape, items};

#[cfg(test)]
mod tests;

/// A field that differs, at the highest place where everything below does.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The field.
    pub path: FieldPath,
    /// What it was; nothing if it was not there.
    pub old: Option<Value>,
    /// What it is; nothing if it is not there any more.
    pub new: Option<Value>,
}

/// What differs between `old` and `new`, in the order of paths.
pub fn diff(old: &Value, new: &Value, schema: &Schema) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(Some(old), Some(new), schema.root(), &mut Vec::new(), &mut changes);
    changes
}

/// Whether two values of one place mean the same.
pub fn equal(left: &Value, right: &Value, shape: Shape<'_>) -> bool {
    equal_or_nothing(Some(left), Some(right), shape)
}

fn compare(
    old: Option<&Value>,
    new: Option<&Value>,
    shape: Shape<'_>,
    path: &mut Vec<PathElement>,
    changes: &mut Vec<Change>,
) {
    let (old, new) = (something(old, shape), something(new, shape));
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) if !shape.is_atomic() => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                path.push(PathElement::field(name));
                compare(old.get(name), new.get(name), shape.field(name), path, changes);
                path.pop();
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if shape.list_kind() != ListKind::Atomic => {
            let kind = shape.list_kind();
            let (old, new) = (items::by_name(old, kind), items::by_name(new, kind));
            let names: BTreeSet<&PathElement> = old.keys().chain(new.keys()).collect();
            for name in names {
                path.push(name.clone());
                compare_items(old.get(name), new.get(name), shape.element(), path, changes);
                path.pop();
            }
        }
        _ if equal_or_nothing(old, new, shape) => {}
        _ => changes.push(Change { path: path.as_slice().into(), old: old.cloned(), new: new.cloned() }),
    }
}

/// Compares what goes by one name. Several items of one name are compared as a whole.
fn compare_items(
    old: Option<&Vec<&Value>>,
    new: Option<&Vec<&Value>>,
    shape: Shape<'_>,
    path: &mut Vec<PathElement>,
    changes: &mut Vec<Change>,
) {
    let (old, new) = (old.map_or(&[][..], Vec::as_slice), new.map_or(&[][..], Vec::as_slice));
    if old.len() <= 1 && new.len() <= 1 {
        return compare(old.first().copied(), new.first().copied(), shape, path, changes);
    }
    if !equal_pairwise(old.iter().copied(), new.iter().copied(), shape) {
        let together = |items: &[&Value]| match items {
            [] => None,
            [item] => Some((*item).clone()),
            several => Some(several.iter().copied().cloned().collect()),
        };
        changes.push(Change { path: path.as_slice().into(), old: together(old), new: together(new) });
    }
}

/// The value, unless it is one the server does not keep.
fn something<'v>(value: Option<&'v Value>, shape: Shape<'_>) -> Option<&'v Value> {
    value.filter(|value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        // An object of a type, such as `emptyDir: {}`, says something by being there.
        Value::Object(fields) => !fields.is_empty() || !shape.is_map(),
        _ => true,
    })
}

fn equal_or_nothing(left: Option<&Value>, right: Option<&Value>, shape: Shape<'_>) -> bool {
    match (something(left, shape), something(right, shape)) {
        (None, None) => true,
        (Some(left), Some(right)) => same(left, right, shape),
        _ => false,
    }
}

fn same(left: &Value, right: &Value, shape: Shape<'_>) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            names.into_iter().all(|name| equal_or_nothing(left.get(name), right.get(name), shape.field(name)))
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
        && left.iter().zip(&right).all(|((name, items), (other, against))| {
            name == other && equal_pairwise(items.iter().copied(), against.iter().copied(), shape.element())
        })
}

fn equal_pairwise<'v>(
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
