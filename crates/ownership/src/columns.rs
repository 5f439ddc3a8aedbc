//! Facts about many fields side by side, in the order of their paths.
//!
//! Everything an analysis asks about a field comes from trees in the same order, so each tree is walked once, in step
//! with the fields, and the price of a field does not grow with their number.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::slice;

use fields::{Entry, FieldSet, PathElement};

/// For every path of `universe`, in order, its place among the paths of `known`.
pub(crate) fn places(universe: &FieldSet, known: &FieldSet) -> Vec<Option<usize>> {
    let mut column = Vec::new();
    pick(universe, known, &mut 0, &mut column);
    column
}

/// For each of the `sets` of an object's managers, and for every path of `universe`, in order, whether the manager
/// decides its value (see `managed::holding`).
pub(crate) fn held<'s>(universe: &FieldSet, sets: impl Iterator<Item = &'s FieldSet>) -> Vec<Vec<bool>> {
    let sets: Vec<_> = sets.map(|set| (set, false)).collect();
    let mut columns = vec![Vec::new(); sets.len()];
    ask(universe, &sets, &mut columns);
    columns
}

/// `next` is the place of the next path of `known`.
fn pick(universe: &FieldSet, known: &FieldSet, next: &mut usize, column: &mut Vec<Option<usize>>) {
    let mut known = known.entries().iter().peekable();
    for asked in universe.entries() {
        while let Some(passed) = known.next_if(|entry| entry.element < asked.element) {
            *next += count(passed);
        }
        let found = known.next_if(|entry| entry.element == asked.element);
        let is_known = found.is_some_and(|entry| entry.member);
        if asked.member {
            column.push(is_known.then_some(*next));
        }
        *next += usize::from(is_known);
        match found {
            Some(found) => pick(&asked.below, &found.below, next, column),
            None => column.extend((0..asked.below.len()).map(|_| None)),
        }
    }
    *next += known.map(count).sum::<usize>();
}

/// The number of paths at and below an element.
fn count(entry: &Entry) -> usize {
    usize::from(entry.member) + entry.below.len()
}

/// Each set comes with whether its manager holds something above as an indivisible whole.
fn ask(universe: &FieldSet, sets: &[(&FieldSet, bool)], columns: &mut [Vec<bool>]) {
    const NOTHING: &FieldSet = &FieldSet::new();
    let mut entries: Vec<_> = sets.iter().map(|(set, _)| set.entries().iter().peekable()).collect();
    let mut found = vec![None; sets.len()];
    for asked in universe.entries() {
        for (found, entries) in found.iter_mut().zip(&mut entries) {
            *found = advance(entries, &asked.element);
        }
        let is_whole = found.iter().flatten().all(|entry| entry.below.is_empty());
        let whole = |above: bool, found: Option<&Entry>| above || (is_whole && found.is_some());
        if asked.member {
            for ((column, found), (_, above)) in columns.iter_mut().zip(&found).zip(sets) {
                column.push(*above || found.is_some());
            }
        }
        if !asked.below.is_empty() {
            let below = found.iter().zip(sets).map(|(found, (_, above))| {
                (found.map_or(NOTHING, |entry| &entry.below), whole(*above, *found))
            });
            ask(&asked.below, &below.collect::<Vec<_>>(), columns);
        }
    }
}

/// The entry of `element`; those before it are passed over.
fn advance<'a>(entries: &mut Peekable<slice::Iter<'a, Entry>>, element: &PathElement) -> Option<&'a Entry> {
    loop {
        match entries.peek()?.element.cmp(element) {
            Ordering::Less => entries.next(),
            Ordering::Equal => return entries.next(),
            Ordering::Greater => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use fields::FieldPath;
    use proptest::prelude::*;

    use super::*;
    use crate::managed::holding;

    fn paths() -> impl Strategy<Value = FieldSet> {
        let path = proptest::collection::vec(prop_oneof![Just("a"), Just("b"), Just("c")], 1..4);
        proptest::collection::vec(path, 0..12)
            .prop_map(|paths| paths.into_iter().map(FieldPath::of_fields).collect())
    }

    proptest! {
        #[test]
        fn walking_in_step_agrees_with_asking_path_by_path(
            universe in paths(),
            sets in proptest::collection::vec(paths(), 0..4),
        ) {
            let mut expected: Vec<Vec<bool>> = sets.iter().map(|_| Vec::new()).collect();
            for path in universe.paths() {
                for (column, holds) in expected.iter_mut().zip(holding(sets.iter(), &path)) {
                    column.push(holds);
                }
            }
            prop_assert_eq!(held(&universe, sets.iter()), expected);
        }

        #[test]
        fn places_agree_with_looking_up(universe in paths(), known in paths()) {
            let all = known.paths();
            let place = |path: &FieldPath| all.iter().position(|known| known == path);
            let expected: Vec<_> = universe.paths().iter().map(place).collect();
            prop_assert_eq!(places(&universe, &known), expected);
        }
    }
}
