//! Changing who holds a field without touching its value: JSON patches of managedFields and nothing else.
//!
//! When a manager is the only one that holds a field and applies without it, the API server removes the value
//! (decisions, seed 001, 7). So a release takes the path out of managedFields first. Every patch tests the
//! resourceVersion it was made for; a conflict means: read again and make a new one.

use fields::FieldSet;
use serde_json::{Value, json};

use crate::managed::{Entry, ManagedFields, ManagedFieldsError};
use crate::manager::{FieldManager, Operation};

/// Takes those of `paths` (with everything below them) that nobody but `manager` holds out of its entries.
///
/// Nothing when there is nothing to release.
pub fn release(
    object: &Value,
    manager: &FieldManager,
    paths: &FieldSet,
) -> Result<Option<Value>, ManagedFieldsError> {
    let managed = ManagedFields::of(object)?;
    let sole: FieldSet = paths
        .paths()
        .into_iter()
        .filter(|path| managed.holders(path).into_iter().all(|holder| holder == manager))
        .collect();
    let entries = managed.entries().iter().map(|entry| {
        let mut entry = entry.clone();
        if entry.manager == *manager {
            entry.fields = entry.fields.recursive_difference(&sole);
        }
        entry
    });
    Ok(patch(object, &managed, entries.collect()))
}

/// Lets go of everything `manager` holds, by apply and by update: what a destroyed patch leaves behind is its values.
pub fn release_all(object: &Value, manager: &FieldManager) -> Result<Option<Value>, ManagedFieldsError> {
    let managed = ManagedFields::of(object)?;
    let others = managed.entries().iter().filter(|entry| entry.manager != *manager).cloned().collect();
    Ok(patch(object, &managed, others))
}

/// Merges what the managers `from` hold of the object itself into what `to` holds by apply.
///
/// Without this, a key that is later dropped from the written body would stay, held by the former tool (decisions,
/// Terraform, 7). Entries of subresources stay with their managers.
pub fn hand_over(
    object: &Value,
    from: &[FieldManager],
    to: &FieldManager,
) -> Result<Option<Value>, ManagedFieldsError> {
    let managed = ManagedFields::of(object)?;
    let (given, mut kept): (Vec<Entry>, Vec<Entry>) = managed.entries().iter().cloned().partition(|entry| {
        entry.subresource.is_empty() && entry.manager != *to && from.contains(&entry.manager)
    });
    let Some(first) = given.first() else { return Ok(None) };
    let fields = given.iter().fold(FieldSet::new(), |all, entry| all.union(&entry.fields));
    let applied = |entry: &&mut Entry| {
        entry.manager == *to && entry.operation == Operation::Apply && entry.subresource.is_empty()
    };
    match kept.iter_mut().find(applied) {
        Some(ours) => ours.fields = ours.fields.union(&fields),
        None => {
            kept.push(Entry { manager: to.clone(), operation: Operation::Apply, fields, ..first.clone() });
        }
    }
    Ok(patch(object, &managed, kept))
}

/// The JSON patch from what is to `entries`, less those that no longer hold anything.
fn patch(object: &Value, before: &ManagedFields, mut entries: Vec<Entry>) -> Option<Value> {
    if entries == before.entries() {
        return None;
    }
    entries.retain(|entry| !entry.fields.is_empty());
    Some(json!([
        { "op": "test", "path": "/metadata/resourceVersion", "value": object.pointer("/metadata/resourceVersion") },
        { "op": "replace", "path": "/metadata/managedFields", "value": ManagedFields::to_value(&entries) },
    ]))
}

#[cfg(test)]
mod tests;
