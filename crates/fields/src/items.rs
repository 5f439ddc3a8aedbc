//! How the items of a list are named: by merge key, by value, or by position.

use std::cmp::Ordering;

use serde_json::Value;

use crate::{KeyField, ListKind, PathElement, order};

/// The name of a list item, read off the item itself.
///
/// Merge-key fields that the item does not say take their default and are left out without one, as structured-merge-diff
/// does. An item that the list's kind cannot name goes by its position.
#[derive(Clone, Copy)]
pub(crate) enum Name<'v> {
    Key(&'v [KeyField], &'v Value),
    Value(&'v Value),
    Index(usize),
}

impl<'v> Name<'v> {
    /// The name of `item`, which stands at `index` of a list of this kind.
    pub(crate) fn of(item: &'v Value, index: usize, kind: ListKind<'v>) -> Self {
        match (kind, item) {
            (ListKind::Keyed(fields), Value::Object(_)) => {
                let name = Self::Key(fields, item);
                if name.key_fields().next().is_some() { name } else { Self::Index(index) }
            }
            (ListKind::Set, Value::Bool(_) | Value::Number(_) | Value::String(_)) => Self::Value(item),
            _ => Self::Index(index),
        }
    }

    /// The name as an element of a path.
    pub(crate) fn to_element(self) -> PathElement {
        match self {
            Self::Key(..) => {
                PathElement::key(self.key_fields().map(|(field, value)| (field.name.clone(), value.clone())))
            }
            Self::Value(value) => PathElement::value(value.clone()),
            Self::Index(index) => PathElement::Index(index),
        }
    }

    /// How the name compares with `element`, in the order of path elements.
    pub(crate) fn cmp_element(self, element: &PathElement) -> Ordering {
        match (self, element) {
            (Self::Key(..), PathElement::Key(key)) => {
                let own = self.key_fields().map(|(field, value)| (&*field.name, value));
                compare_keys(own, key.fields())
            }
            (Self::Value(value), PathElement::Value(other)) => order::compare(value, other.get()),
            (Self::Index(index), PathElement::Index(other)) => index.cmp(other),
            (_, PathElement::Field(_)) => Ordering::Greater,
            (Self::Key(..), _) | (_, PathElement::Index(_)) => Ordering::Less,
            (_, PathElement::Key(_)) | (Self::Index(_), _) => Ordering::Greater,
        }
    }

    /// How two names of one list compare, in the order of path elements.
    pub(crate) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Key(..), Self::Key(..)) => {
                let plain = |(field, value): (&'v KeyField, &'v Value)| (&*field.name, value);
                compare_keys(self.key_fields().map(plain), other.key_fields().map(plain))
            }
            (Self::Value(left), Self::Value(right)) => order::compare(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(&right),
            (Self::Key(..), _) | (_, Self::Index(_)) => Ordering::Less,
            (_, Self::Key(..)) | (Self::Index(_), _) => Ordering::Greater,
        }
    }

    /// Whether merge-key fields are left out whose defaults are unknown.
    pub(crate) fn is_partial(self) -> bool {
        matches!(self, Self::Key(fields, _) if self.key_fields().count() < fields.len())
    }

    /// Whether this partial name may mean what `element` names: it says nothing else about the fields it has.
    pub(crate) fn may_be(self, element: &PathElement) -> bool {
        let PathElement::Key(key) = element else { return false };
        self.is_partial()
            && self.key_fields().all(|(field, value)| {
                key.get(&field.name).is_some_and(|against| order::compare(value, against).is_eq())
            })
    }

    fn key_fields(self) -> impl Iterator<Item = (&'v KeyField, &'v Value)> {
        let (fields, item) = match self {
            Self::Key(fields, item) => (fields, item),
            Self::Value(item) => (&[][..], item),
            Self::Index(_) => (&[][..], &Value::Null),
        };
        fields.iter().filter_map(move |field| {
            item.get(&*field.name).or(field.default.as_ref()).map(|value| (field, value))
        })
    }
}

/// The items of a list that go by one name, in their order. There is more than one only in a list that is not valid.
pub(crate) struct Named<'v> {
    pub(crate) name: Name<'v>,
    pub(crate) items: Vec<&'v Value>,
}

/// The items of a list, sorted by their names.
pub(crate) fn by_name<'v>(list: &'v [Value], kind: ListKind<'v>) -> Vec<Named<'v>> {
    let names = list.iter().enumerate().map(|(index, item)| (Name::of(item, index, kind), item));
    let mut names: Vec<_> = names.collect();
    names.sort_by(|(left, _), (right, _)| left.compare(*right));
    let groups = names.chunk_by(|(left, _), (right, _)| left.compare(*right).is_eq());
    groups
        .map(|group| Named { name: group[0].0, items: group.iter().map(|(_, item)| *item).collect() })
        .collect()
}

/// The item that `element` names, with its position: the one of exactly that name, else one that may go by it.
pub(crate) fn find<'v>(
    list: &'v [Value],
    element: &PathElement,
    kind: ListKind<'_>,
) -> Option<(usize, &'v Value)> {
    if let PathElement::Index(index) = element {
        return list.get(*index).map(|item| (*index, item));
    }
    let find = |is_it: &dyn Fn(Name<'_>) -> bool| {
        list.iter().enumerate().find(|(index, item)| is_it(Name::of(item, *index, kind)))
    };
    find(&|name| name.cmp_element(element).is_eq()).or_else(|| find(&|name| name.may_be(element)))
}

fn compare_keys<'k>(
    left: impl Iterator<Item = (&'k str, &'k Value)>,
    right: impl Iterator<Item = (&'k str, &'k Value)>,
) -> Ordering {
    order::compare_all(left, right, |(name, value), (other, against)| {
        name.cmp(other).then_with(|| order::compare(value, against))
    })
}
