//! The part of an object that a field set selects, for instance what a manager holds.

use std::array;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::items::Name;
use crate::set::Entry;
use crate::{FieldPath, FieldSet, KeyField, ListKey, ListKind, PathElement, Schema, Shape};

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

/// A value that [`leaf_columns`] found.
#[derive(Clone, Debug, PartialEq)]
pub enum Leaf<'v> {
    /// It stands in the object like this.
    One(&'v Value),
    /// Several list items go by the name; this is the list of them.
    Several(Box<Value>),
}

impl Deref for Leaf<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::One(value) => value,
            Self::Several(values) => values,
        }
    }
}

impl Leaf<'_> {
    /// The value for itself.
    pub fn into_owned(self) -> Value {
        match self {
            Self::One(value) => value.clone(),
            Self::Several(values) => *values,
        }
    }
}

/// For every path of `set`, in order, what [`leaf_values`] has at it of each of `objects`.
///
/// Nothing is copied and no path is made, and the set is walked once for all objects, so that large ones can be compared
/// at little cost.
pub fn leaf_columns<'v, const N: usize>(
    objects: [&'v Value; N],
    set: &FieldSet,
    schema: &Schema,
) -> Vec<[Option<Leaf<'v>>; N]> {
    let mut columns = Vec::with_capacity(set.len());
    fill_columns(objects.map(Some), set, schema.root(), &mut columns);
    columns
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
                collect_leaves(child, &entry.below, shape.step(&entry.element), path, leaves);
            }
        }
        path.pop();
    }
}

fn fill_columns<'v, const N: usize>(
    values: [Option<&'v Value>; N],
    set: &FieldSet,
    shape: Shape<'_>,
    columns: &mut Vec<[Option<Leaf<'v>>; N]>,
) {
    let of = |value| matches(value, set, shape);
    let mut matches = values.map(|value| value.map_or(Matches::None, of).peekable());
    for entry in set.entries() {
        let mut children = [None; N];
        let leaves = array::from_fn(|place| {
            // Matches come in the order of entries.
            match matches[place].next_if(|found| ptr::eq(found.entry, entry))?.found {
                Found::Several(items) => {
                    let items = items.into_iter().map(|(_, item)| item.clone()).collect();
                    Some(Leaf::Several(Box::new(items)))
                }
                Found::One(_, child) if entry.below.is_empty() => Some(Leaf::One(child)),
                Found::One(_, child) => {
                    children[place] = Some(child);
                    None
                }
            }
        });
        if entry.member {
            columns.push(leaves);
        }
        if !entry.below.is_empty() {
            fill_columns(children, &entry.below, shape.step(&entry.element), columns);
        }
    }
}

/// What of `value` lies in `set`, or nothing when none of it does.
fn prune(value: &Value, set: &FieldSet, shape: Shape<'_>) -> Option<Value> {
    let mut kept = Vec::with_capacity(set.entries().len());
    for Match { entry, found } in matches(value, set, shape) {
        match found {
            Found::Several(items) => {
                kept.extend(items.into_iter().map(|(index, item)| (entry, index, item.clone())));
            }
            Found::One(index, child) if entry.below.is_empty() => kept.push((entry, index, child.clone())),
            Found::One(index, child) => {
                let below = prune(child, &entry.below, shape.step(&entry.element));
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
    let field = |(entry, _, child): (&Entry, _, _)| Some((entry.element.as_field()?.to_owned(), child));
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
    entry: &'s Entry,
    found: Found<'v>,
}

/// The item or items that go by one name, with their positions; the position of a field means nothing.
enum Found<'v> {
    One(usize, &'v Value),
    Several(Vec<(usize, &'v Value)>),
}

/// The entries of `set` that `value` has something for, in order.
fn matches<'s, 'v>(value: &'v Value, set: &'s FieldSet, shape: Shape<'_>) -> Matches<'s, 'v> {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            Matches::Fields { entries: set.entries().iter(), fields: fields.peekable() }
        }
        Value::Array(list) => Matches::Items(item_matches(list, set, shape).into_iter()),
        _ => Matches::None,
    }
}

enum Matches<'s, 'v> {
    None,
    Fields { entries: std::slice::Iter<'s, Entry>, fields: Peekable<serde_json::map::Iter<'v>> },
    Items(std::vec::IntoIter<Match<'s, 'v>>),
}

impl<'s, 'v> Iterator for Matches<'s, 'v> {
    type Item = Match<'s, 'v>;

    fn next(&mut self) -> Option<Match<'s, 'v>> {
        match self {
            Self::None => None,
            // Both sides are in the order of names, so that one pass finds all.
            Self::Fields { entries, fields } => entries.find_map(|entry| {
                let name = entry.element.as_field()?;
                while fields.next_if(|(field, _)| field.as_str() < name).is_some() {}
                let (_, child) = fields.next_if(|(field, _)| field.as_str() == name)?;
                Some(Match { entry, found: Found::One(0, child) })
            }),
            Self::Items(items) => items.next(),
        }
    }
}

fn item_matches<'s, 'v>(list: &'v [Value], set: &'s FieldSet, shape: Shape<'_>) -> Vec<Match<'s, 'v>> {
    let keys;
    let kind = match shape.list_kind() {
        // The set was made by a server that knows the list better than we do.
        ListKind::Atomic
            if set.entries().iter().any(|entry| matches!(entry.element, PathElement::Key(_))) =>
        {
            keys = keys_of(set);
            ListKind::Keyed(&keys)
        }
        ListKind::Atomic
            if set.entries().iter().any(|entry| matches!(entry.element, PathElement::Value(_))) =>
        {
            ListKind::Set
        }
        known => known,
    };
    let mut found: Vec<Option<Found<'v>>> = set.entries().iter().map(|_| None).collect();
    let mut guesses = Guesses::default();
    for (index, item) in list.iter().enumerate() {
        let name = Name::of(item, index, kind);
        let Some(position) = position_of(name, index, set, &mut guesses) else { continue };
        let found = &mut found[position];
        *found = Some(match found.take() {
            Some(earlier) => earlier.and(index, item),
            None => Found::One(index, item),
        });
    }
    let matches =
        set.entries().iter().zip(found).filter_map(|(entry, found)| Some(Match { entry, found: found? }));
    matches.collect()
}

impl<'v> Found<'v> {
    fn and(self, index: usize, item: &'v Value) -> Self {
        let mut items = match self {
            Self::One(first, earlier) => vec![(first, earlier)],
            Self::Several(items) => items,
        };
        items.push((index, item));
        Self::Several(items)
    }
}

/// Which entry of `set` the item called `name` at `index` belongs to. A set may name any item by its position.
fn position_of(name: Name<'_>, index: usize, set: &FieldSet, guesses: &mut Guesses) -> Option<usize> {
    set.position(|element| name.cmp_element(element).reverse())
        .or_else(|| if name.is_partial() { guesses.position(name, set) } else { None })
        .or_else(|| set.position(|element| element.cmp(&PathElement::Index(index))))
}

/// What names may mean that leave merge-key fields out: for each choice of fields that they do have, the first entry
/// of a set with the same values of these. Made when the first such name is met, so that the next ones cost little.
#[derive(Default)]
struct Guesses(BTreeMap<Vec<Arc<str>>, BTreeMap<ListKey, usize>>);

impl Guesses {
    fn position(&mut self, name: Name<'_>, set: &FieldSet) -> Option<usize> {
        let PathElement::Key(partial) = name.to_element() else { return None };
        let first_of = |names: &[Arc<str>]| {
            let mut first = BTreeMap::new();
            for (position, entry) in set.entries().iter().enumerate() {
                if let PathElement::Key(key) = &entry.element
                    && let Some(part) = key.part(names)
                {
                    first.entry(part).or_insert(position);
                }
            }
            first
        };
        let names = partial.names();
        let first = self.0.entry(names.clone()).or_insert_with(|| first_of(&names));
        first.get(&partial).copied()
    }
}

/// The merge-key fields that the names in `set` are made of.
fn keys_of(set: &FieldSet) -> Vec<KeyField> {
    let mut keys = Vec::new();
    for entry in set.entries() {
        if let PathElement::Key(key) = &entry.element {
            KeyField::note(&mut keys, key);
        }
    }
    keys
}
