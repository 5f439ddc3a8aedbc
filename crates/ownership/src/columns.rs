//! Facts about many fields side by side, in the order of their paths.
//!
//! Everything an analysis asks about a field comes from trees in the same order, so each tree is walked once, in step
//! with the fields, and the price of a field does not grow with their number.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::Peekable;

use fields::{Entry, FieldPath, FieldSet, PathElement};

/// For every path, in order, what `map` has at it.
pub(crate) fn align<'m, T>(paths: &[FieldPath], map: &'m BTreeMap<FieldPath, T>) -> Vec<Option<&'m T>> {
    let mut entries = map.iter().peekable();
    paths
        .iter()
        .map(|path| {
            while entries.next_if(|(key, _)| *key < path).is_some() {}
            entries.next_if(|(key, _)| *key == path).map(|(_, value)| value)
        })
        .collect()
}

/// For every path of `universe`, in order, whether a manager that holds `held` decides its value, where `all` is what
/// is held by anybody (see `managed::holds`).
pub(crate) fn held(universe: &FieldSet, held: &FieldSet, all: &FieldSet) -> Vec<bool> {
    let mut answers = Vec::with_capacity(universe.len());
    walk(universe, Some(held), Some(all), false, &mut answers);
    answers
}

/// `whole` is true below a field that is held as an indivisible whole.
fn walk(
    universe: &FieldSet,
    held: Option<&FieldSet>,
    all: Option<&FieldSet>,
    whole: bool,
    answers: &mut Vec<bool>,
) {
    let mut held = held.into_iter().flat_map(FieldSet::entries).peekable();
    let mut all = all.into_iter().flat_map(FieldSet::entries).peekable();
    for asked in universe.entries() {
        let (found, known) = (advance(&mut held, asked.element), advance(&mut all, asked.element));
        let is_whole = known.is_some_and(|entry| entry.below.is_empty());
        let whole = whole || (is_whole && found.is_some_and(|entry| entry.member));
        if asked.member {
            answers.push(whole || found.is_some());
        }
        walk(asked.below, found.map(|entry| entry.below), known.map(|entry| entry.below), whole, answers);
    }
}

/// The entry of `element`; those before it are passed over.
fn advance<'a>(
    entries: &mut Peekable<impl Iterator<Item = Entry<'a>>>,
    element: &PathElement,
) -> Option<Entry<'a>> {
    while entries.next_if(|entry| entry.element.cmp(element) == Ordering::Less).is_some() {}
    entries.next_if(|entry| entry.element == element)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::managed::holds;

    fn paths() -> impl Strategy<Value = FieldSet> {
        let path = proptest::collection::vec(prop_oneof![Just("a"), Just("b"), Just("c")], 1..4);
        proptest::collection::vec(path, 0..12)
            .prop_map(|paths| paths.into_iter().map(FieldPath::of_fields).collect())
    }

    proptest! {
        #[test]
        fn walking_in_step_agrees_with_asking_path_by_path(
            universe in paths(),
            managed in paths(),
            others in paths(),
        ) {
            let all = managed.union(&others);
            let expected: Vec<bool> =
                universe.paths().iter().map(|path| holds(&managed, &all, path)).collect();
            prop_assert_eq!(held(&universe, &managed, &all), expected);
        }

        #[test]
        fn aligning_agrees_with_looking_up(universe in paths(), known in paths()) {
            let map: BTreeMap<FieldPath, usize> = known.paths().into_iter().zip(0..).collect();
            let paths = universe.paths();
            let expected: Vec<Option<&usize>> = paths.iter().map(|path| map.get(path)).collect();
            prop_assert_eq!(align(&paths, &map), expected);
        }
    }
}
