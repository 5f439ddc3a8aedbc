//! Who holds each of many fields, in the order of their paths.

use std::collections::BTreeMap;

use fields::FieldSet;

use crate::columns;
use crate::managed::ManagedFields;
use crate::manager::FieldManager;

/// For every manager of an object, by name, which of the fields it holds.
pub(crate) struct Holders<'m> {
    columns: BTreeMap<&'m FieldManager, Vec<bool>>,
}

impl<'m> Holders<'m> {
    pub(crate) fn of(managed: &'m ManagedFields, universe: &FieldSet) -> Self {
        let entries = managed.entries();
        let held = columns::held(universe, entries.iter().map(|entry| &entry.fields));
        let mut columns: BTreeMap<_, Vec<bool>> = BTreeMap::new();
        for (entry, held) in entries.iter().zip(held) {
            columns
                .entry(&entry.manager)
                .and_modify(|known| known.iter_mut().zip(&held).for_each(|(known, held)| *known |= held))
                .or_insert(held);
        }
        Self { columns }
    }

    pub(crate) fn is_held_by(&self, manager: &FieldManager, index: usize) -> bool {
        self.columns.get(manager).is_some_and(|held| held[index])
    }

    /// All managers that hold the field at `index`, sorted by name.
    pub(crate) fn at(&self, index: usize) -> impl Iterator<Item = &'m FieldManager> {
        self.columns.iter().filter(move |(_, held)| held[index]).map(|(manager, _)| *manager)
    }
}
