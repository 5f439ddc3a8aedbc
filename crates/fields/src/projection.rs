//! What of an object lies in a set: the part of it that somebody holds.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::set::Entry;
use crate::{FieldPath, FieldSet, KeyField, ListKind, PathElement, Schema, Shape, items};

#[cfg(test)]
mod tests;

/// The values of `object` at the leaves of `set`. What the object lacks is left out.
///
/// List items that share a name cannot be told apart; their value is the list of them.
pub fn leaf_values(object: &Value, set: &FieldSet, schema: &Schema) -> BTreeMap<FieldPath, Value> {
    let mut leaves = Vec::with_capacity(set.len());
    collect_leaves(object, set, schema.root(), &mut Vec::new(), &mut leaves);
    leaves.into_iter().collect()
}

/// `object` cut down to what lies in `set`; lists keep the order of their remaining items.
pub fn project(object: &Value, set: &FieldSet, schema: &Schema) -> Value {
    prune(object, set, schema.root()).unwrap_or_else(|| Value::Object(Map::new()))
}

fn collect_leaves(
    value: &Value,
    set: &FieldSet,
    shape: Shape<'_>,
    path: &mut Vec<PathElement>,
    leaves: &mut Vec<(FieldPath, Value)>,
) {
    for Match { entry, found } in matches(value, set, shape) {
        path.push(entry.element.clone());
        match found {
            Found::Several(items) => {
                let items = items.into_iter().map(|(_, item)| item.clone()).collect();
                leaves.push((path.as_slice().into(), Value::Array(items)));
            }
            Found::One(_, child) if entry.below.is_empty() => {
                leaves.push((path.as_slice().into(), child.clone()));
            }
            Found::One(_, child) => {
                collect_leaves(child, entry.below, shape.step(entry.element), path, leaves);
            }
        }
        path.pop();
    }
}

/// What of `value` lies in `set`, or nothing when none of it does.
fn prune(value: &Value, set: &FieldSet, shape: Shape<'_>) -> Option<Value> {
    let matches = matches(value, set, shape);
    let mut kept = Vec::with_capacity(matches.len());
    for Match { entry, found } in matches {
        match found {
            Found::Several(items) => {
                kept.extend(items.into_iter().map(|(index, item)| (entry, index, item.clone())));
            }
            Found::One(index, child) if entry.below.is_empty() => kept.push((entry, index, child.clone())),
            Found::One(index, child) => {
                let below = prune(child, entry.below, shape.step(entry.element));
                let itself = || entry.member.then(|| empty_like(child));
                kept.extend(below.or_else(itself).map(|child| (entry, index, child)));
            }
        }
    }
    if kept.is_empty() {
        return None;
    }
    if value.is_array() {
        kept.sort_by_key(|(_, index, _)| *index);
        return Some(kept.into_iter().map(|(_, _, item)| item).collect());
    }
    let field = |(entry, _, child): (Entry<'_>, _, _)| Some((entry.element.as_field()?.to_owned(), child));
    Some(Value::Object(kept.into_iter().filter_map(field).collect()))
}

fn empty_like(value: &Value) -> Value {
    match value {
        Value::Object(_) => Value::Object(Map::new()),
        Value::Array(_) => Value::Array(Vec::new()),
        scalar => scalar.clone(),
    }
}

struct Match<'s, 'v> {
    entry: Entry<'s>,
    found: Found<'v>,
}

/// The item or items that go by one name, with their positions; the position of a field means nothing.
enum Found<'v> {
    One(usize, &'v Value),
    Several(Vec<(usize, &'v Value)>),
}

/// The entries of `set` that `value` has something for.
fn matches<'s, 'v>(value: &'v Value, set: &'s FieldSet, shape: Shape<'_>) -> Vec<Match<'s, 'v>> {
    match value {
        Value::Object(fields) => {
            let found = |entry: Entry<'s>| {
                let child = fields.get(entry.element.as_field()?)?;
                Some(Match { entry, found: Found::One(0, child) })
            };
            set.entries().filter_map(found).collect()
        }
        Value::Array(list) => item_matches(list, set, shape),
        _ => Vec::new(),
    }
}

fn item_matches<'s, 'v>(list: &'v [Value], set: &'s FieldSet, shape: Shape<'_>) -> Vec<Match<'s, 'v>> {
    let keys;
    let kind = match shape.list_kind() {
        // The set was made by a server that knows the list better than we do.
        ListKind::Atomic if set.entries().any(|entry| matches!(entry.element, PathElement::Key(_))) => {
            keys = keys_of(set);
            ListKind::Keyed(&keys)
        }
        ListKind::Atomic if set.entries().any(|entry| matches!(entry.element, PathElement::Value(_))) => {
            ListKind::Set
        }
        known => known,
    };
    let mut matches: BTreeMap<&PathElement, Match<'s, 'v>> = BTreeMap::new();
    for (index, item) in list.iter().enumerate() {
        let Some(entry) = entry_of(&items::name(item, index, kind), index, kind, set) else { continue };
        let one = Match { entry, found: Found::One(index, item) };
        matches.entry(entry.element).and_modify(|known| known.found.push(index, item)).or_insert(one);
    }
    matches.into_values().collect()
}

impl<'v> Found<'v> {
    fn push(&mut self, index: usize, item: &'v Value) {
        match self {
            Self::One(first, earlier) => *self = Self::Several(vec![(*first, earlier), (index, item)]),
            Self::Several(items) => items.push((index, item)),
        }
    }
}

/// The entry for the item called `name` at `index`. A set may name any item by its position.
fn entry_of<'s>(
    name: &PathElement,
    index: usize,
    kind: ListKind<'_>,
    set: &'s FieldSet,
) -> Option<Entry<'s>> {
    let guess = || set.entries().find(|entry| items::may_name(name, entry.element));
    set.entry(name)
        .or_else(|| if items::is_partial(name, kind) { guess() } else { None })
        .or_else(|| set.entry(&PathElement::Index(index)))
}

/// The merge-key fields that the names in `set` are made of.
fn keys_of(set: &FieldSet) -> Vec<KeyField> {
    let mut keys = Vec::new();
    for entry in set.entries() {
        if let PathElement::Key(key) = entry.element {
            KeyField::note(&mut keys, key);
        }
    }
    keys
}
