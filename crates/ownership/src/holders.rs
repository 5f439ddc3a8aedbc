//! Who holds each of many fields, in the order of their paths.

use std::collections::BTreeMap;

use fields::FieldSet;

use crate::columns;
use crate::managed::{Entry, ManagedFields};
use crate::manager::FieldManager;

/// For every manager of an object, by name, which of the fields it holds.
pub(crate) struct Holders<'m> {
    entries: Vec<(&'m Entry, Vec<bool>)>,
    columns: BTreeMap<&'m FieldManager, Vec<bool>>,
}

impl<'m> Holders<'m> {
    pub(crate) fn of(managed: &'m ManagedFields, universe: &FieldSet) -> Self {
        let entries = managed.entries();
        let held = columns::held(universe, entries.iter().map(|entry| &entry.fields));
        let mut columns: BTreeMap<_, Vec<bool>> = BTreeMap::new();
        let entries: Vec<_> = entries.iter().zip(held).collect();
        for (entry, held) in &entries {
            columns
                .entry(&entry.manager)
                .and_modify(|known| known.iter_mut().zip(held).for_each(|(known, held)| *known |= held))
                .or_insert_with(|| held.clone());
        }
        Self { entries, columns }
    }

    pub(crate) fn is_held_by(&self, manager: &FieldManager, index: usize) -> bool {
        self.columns.get(manager).is_some_and(|held| held[index])
    }

    /// When the managers of the field at `index`, apart from `us`, last set any of their fields.
    pub(crate) fn set_at(&self, index: usize, us: &FieldManager) -> Option<String> {
        let others = self.entries.iter().filter(|(entry, held)| held[index] && entry.manager != *us);
        // The API server writes all times in UTC, so they sort as texts.
        others.filter_map(|(entry, _)| entry.time.clone()).max()
    }

    /// All managers that hold the field at `index`, sorted by name.
    pub(crate) fn at(&self, index: usize) -> impl Iterator<Item = &'m FieldManager> {
        self.columns.iter().filter(move |(_, held)| held[index]).map(|(manager, _)| *manager)
    }
}
