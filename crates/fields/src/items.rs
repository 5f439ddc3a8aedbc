//! How the items of a list are named: by merge key, by value, or by position.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::path::ListKey;
use crate::{KeyField, ListKind, PathElement};

/// The name of `item`, which stands at `index` of a list of this kind.
///
/// Merge-key fields that `item` does not say take their default and are left out without one, as
/// structured-merge-diff does. An item that the list's kind cannot name goes by its position.
pub(crate) fn name(item: &Value, index: usize, kind: ListKind<'_>) -> PathElement {
    match kind {
        ListKind::Atomic => PathElement::Index(index),
        ListKind::Set => match item {
            Value::Null | Value::Array(_) | Value::Object(_) => PathElement::Index(index),
            scalar => PathElement::value(scalar.clone()),
        },
        ListKind::Keyed(fields) => {
            let value_of = |field: &KeyField| item.get(&*field.name).or(field.default.as_ref()).cloned();
            let mut fields =
                fields.iter().filter_map(|field| Some((field.name.clone(), value_of(field)?))).peekable();
            if item.is_object() && fields.peek().is_some() {
                PathElement::Key(ListKey::new(fields))
            } else {
                PathElement::Index(index)
            }
        }
    }
}

/// The items of a list by their names, those of one name in their order.
pub(crate) fn by_name<'v>(list: &'v [Value], kind: ListKind<'_>) -> BTreeMap<PathElement, Vec<&'v Value>> {
    let mut named: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (index, item) in list.iter().enumerate() {
        named.entry(name(item, index, kind)).or_default().push(item);
    }
    named
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
    let find = |is_it: &dyn Fn(&PathElement) -> bool| {
        list.iter().enumerate().find(|(index, item)| is_it(&name(item, *index, kind)))
    };
    find(&|name| name == element).or_else(|| find(&|name| may_name(name, element)))
}

/// Whether `name` leaves merge-key fields out.
pub(crate) fn is_partial(name: &PathElement, kind: ListKind<'_>) -> bool {
    matches!((name, kind), (PathElement::Key(key), ListKind::Keyed(fields)) if key.fields().len() < fields.len())
}

/// Whether `partial`, the name of an item that leaves merge-key fields out whose defaults nobody knows, may name what
/// `full` names: it says nothing else about the fields it has.
pub(crate) fn may_name(partial: &PathElement, full: &PathElement) -> bool {
    match (partial, full) {
        (PathElement::Key(partial), PathElement::Key(full)) => {
            partial.fields().len() < full.fields().len()
                && partial.fields().all(|(name, value)| {
                    full.get(name).is_some_and(|against| crate::order::compare(value, against).is_eq())
                })
        }
        _ => false,
    }
}
