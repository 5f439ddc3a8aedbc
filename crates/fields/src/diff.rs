//! What differs between two states of an object, compared as Kubernetes would.

use std::fmt;

use serde_json::Value;

use crate::equality::{equal_or_nothing, equal_pairwise, something};
use crate::items::{self, Name, Named};
use crate::merge::merge;
use crate::{FieldPath, ListKind, PathElement, Schema, Shape};

#[cfg(test)]
mod tests;

/// A field that differs, at the highest place where everything below does.
#[derive(Clone, PartialEq)]
pub struct Change {
    /// The field.
    pub path: FieldPath,
    /// What it was; nothing if it was not there.
    pub old: Option<Value>,
    /// What it is; nothing if it is not there any more.
    pub new: Option<Value>,
}

/// Leaves the values out: they may be those of a Secret.
impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (&self.old, &self.new) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        };
        write!(f, "Change({} {what})", self.path)
    }
}

/// What differs between `old` and `new`, in the order of paths.
pub fn diff(old: &Value, new: &Value, schema: &Schema) -> Vec<Change> {
    let mut changes = Vec::new();
    if old != new {
        compare(Some(old), Some(new), schema.root(), &mut Vec::new(), &mut changes);
    }
    changes
}

/// A step on the way to what is compared; most ways lead to no change, so they are not made into paths.
#[derive(Clone, Copy)]
enum Step<'v> {
    Field(&'v str),
    Item(Name<'v>),
}

fn compare<'v>(
    old: Option<&'v Value>,
    new: Option<&'v Value>,
    shape: Shape<'v>,
    way: &mut Vec<Step<'v>>,
    changes: &mut Vec<Change>,
) {
    let (old, new) = (something(old, shape), something(new, shape));
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) if !shape.is_atomic() => {
            for (old, new) in merge(old, new, |(left, _), (right, _)| left.cmp(right)) {
                let Some((name, _)) = old.or(new) else { continue };
                way.push(Step::Field(name));
                let value = |(_, value)| value;
                compare(old.map(value), new.map(value), shape.field(name), way, changes);
                way.pop();
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if shape.list_kind() != ListKind::Atomic => {
            let kind = shape.list_kind();
            let (old, new) = (items::by_name(old, kind), items::by_name(new, kind));
            for (old, new) in merge(old, new, |left, right| left.name.compare(right.name)) {
                let Some(name) = old.as_ref().or(new.as_ref()).map(|named| named.name) else { continue };
                way.push(Step::Item(name));
                let items = |named: Option<Named<'v>>| named.map_or_else(Vec::new, |named| named.items);
                compare_items(&items(old), &items(new), shape.element(), way, changes);
                way.pop();
            }
        }
        _ if equal_or_nothing(old, new, shape) => {}
        _ => changes.push(Change { path: path_of(way), old: old.cloned(), new: new.cloned() }),
    }
}

/// Compares what goes by one name. Several items of one name are compared as a whole.
fn compare_items<'v>(
    old: &[&'v Value],
    new: &[&'v Value],
    shape: Shape<'v>,
    way: &mut Vec<Step<'v>>,
    changes: &mut Vec<Change>,
) {
    if old.len() <= 1 && new.len() <= 1 {
        return compare(old.first().copied(), new.first().copied(), shape, way, changes);
    }
    if !equal_pairwise(old.iter().copied(), new.iter().copied(), shape) {
        let together = |items: &[&Value]| match items {
            [] => None,
            [item] => Some((*item).clone()),
            several => Some(several.iter().copied().cloned().collect()),
        };
        changes.push(Change { path: path_of(way), old: together(old), new: together(new) });
    }
}

fn path_of(way: &[Step<'_>]) -> FieldPath {
    let element = |step: &Step<'_>| match step {
        Step::Field(name) => PathElement::field(name),
        Step::Item(name) => name.to_element(),
    };
    way.iter().map(element).collect()
}
