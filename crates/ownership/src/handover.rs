//! Changing who holds a field without touching its value: JSON patches of managedFields and nothing else.
//!
//! When the only manager that holds a field applies without it, the API server removes the value. So a release takes
//! the path out of managedFields first. Every patch tests the resourceVersion it was made for; after a conflict, read
//! the object again and make a new patch.

use fields::{FieldPath, FieldSet};
use serde_json::{Value, json};

use crate::managed::{Entry, ManagedFields};
use crate::manager::{FieldManager, Operation};
use crate::observed::Observed;

/// Changes of an object's managedFields, one after the other.
pub struct Handover<'o> {
    observed: &'o Observed,
    managed: ManagedFields,
}

impl<'o> Handover<'o> {
    pub fn of(observed: &'o Observed) -> Self {
        Self { observed, managed: observed.managed().clone() }
    }

    /// The managers after the changes so far.
    pub fn managed(&self) -> &ManagedFields {
        &self.managed
    }

    /// The object as it is after the changes so far.
    pub fn observed(self) -> Observed {
        self.observed.held_as(self.managed)
    }

    /// Takes what `manager` holds at or below `paths`, and no other manager does, out of its entries.
    ///
    /// What others hold as well needs no release: applying without it leaves the value to them.
    #[must_use]
    pub fn release(mut self, manager: &FieldManager, paths: &FieldSet) -> Self {
        let held = self.managed.held_by(manager);
        let asked = held.difference(&held.recursive_difference(paths));
        let sole = self.managed.held_only_by(manager, &asked);
        for entry in self.managed.entries.iter_mut().filter(|entry| entry.manager == *manager) {
            entry.fields = entry.fields.recursive_difference(&sole);
        }
        self
    }

    /// Takes away everything `manager` holds, by apply and by update: a destroyed patch leaves its values behind.
    #[must_use]
    pub fn release_all(mut self, manager: &FieldManager) -> Self {
        self.managed.entries.retain(|entry| entry.manager != *manager);
        self
    }

    /// Moves `part` of every entry into what `to` holds of `subresource` by apply; empty is the object itself.
    ///
    /// Without this, a key that is later dropped from the written body would stay, held by the former tool.
    ///
    /// An apply has one entry, in one version of the API. What was held in another version is taken over as far as the
    /// object has it under the same name in this one.
    #[must_use]
    pub fn hand_over(
        mut self,
        to: &FieldManager,
        subresource: &str,
        part: impl Fn(&Entry) -> Option<FieldSet>,
    ) -> Self {
        let (object, schema) = (self.observed.object(), self.observed.schema());
        let is_ours = |entry: &Entry| entry.is_of(to, Operation::Apply, subresource);
        let entries = &mut self.managed.entries;
        let parts =
            entries.iter().map(|entry| part(entry).filter(|part| !part.is_empty() && !is_ours(entry)));
        let parts: Vec<Option<FieldSet>> = parts.collect();
        let Some(first) = parts.iter().position(Option::is_some) else { return self };
        let position = entries.iter().position(is_ours).unwrap_or_else(|| {
            let first = &entries[first];
            let api_version = object["apiVersion"].as_str().unwrap_or(&first.api_version).to_owned();
            let (manager, operation, fields) = (to.clone(), Operation::Apply, FieldSet::new());
            let (subresource, time) = (subresource.to_owned(), first.time.clone());
            entries.push(Entry { manager, operation, subresource, api_version, time, fields });
            entries.len() - 1
        });
        let version = entries[position].api_version.clone();
        let mut taken = FieldSet::new();
        for (entry, part) in entries.iter_mut().zip(&parts) {
            let Some(part) = part else { continue };
            entry.fields = entry.fields.difference(part);
            if entry.api_version == version {
                taken.add_all(part);
            } else {
                let exists = |path: &FieldPath| fields::value_at(object, path, schema).is_some();
                taken.add_all(&part.paths().into_iter().filter(exists).collect());
            }
        }
        entries[position].fields.add_all(&taken);
        self
    }

    /// The JSON patch that makes the changes; none if there are none.
    pub fn patch(mut self) -> Option<Vec<Value>> {
        let (object, before) = (self.observed.object(), self.observed.managed().entries());
        let holds = |entry: &&Entry| !entry.fields.is_empty();
        self.managed.entries.retain(|entry| holds(&entry));
        if self.managed.entries.iter().eq(before.iter().filter(holds)) {
            return None;
        }
        let version = object.pointer("/metadata/resourceVersion");
        Some(vec![
            json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version }),
            json!({ "op": "replace", "path": "/metadata/managedFields", "value": self.to_value() }),
        ])
    }

    /// The entries as the API server takes them; those that have not changed word for word as they are in the object.
    fn to_value(&self) -> Value {
        // The API server ignores an empty list; one empty entry clears the field.
        if self.managed.entries.is_empty() {
            return json!([{}]);
        }
        let listed = &self.observed.object()["metadata"]["managedFields"];
        let before = self.observed.managed().entries();
        let write = |entry: &Entry| match before.iter().position(|known| known == entry) {
            Some(index) => listed[index].clone(),
            None => entry.write(),
        };
        self.managed.entries.iter().map(write).collect()
    }
}

#[cfg(test)]
mod tests;
