//! Changing who holds a field without touching its value: JSON patches of managedFields and nothing else.
//!
//! When a manager is the only one that holds a field and applies without it, the API server removes the value. So a
//! release takes the path out of managedFields first. Every patch tests the resourceVersion it was made for; after a
//! conflict, read the object again and make a new patch.

use fields::{FieldPath, FieldSet};
use serde_json::{Value, json};

use crate::managed::{Entry, ManagedFields, ManagedFieldsError};
use crate::manager::{FieldManager, Operation};

/// Takes what `manager` holds at or below `paths`, and nobody else does, out of its entries.
///
/// What others hold as well needs no release: applying without it leaves the value to them. Nothing when there is
/// nothing to release.
pub fn release(
    object: &Value,
    manager: &FieldManager,
    paths: &FieldSet,
) -> Result<Option<Value>, ManagedFieldsError> {
    let managed = ManagedFields::of(object)?;
    let held = managed.held_by(manager);
    let asked = held.difference(&held.recursive_difference(paths));
    let is_sole = |path: &FieldPath| managed.holders(path).into_iter().all(|holder| holder == manager);
    let sole: FieldSet = asked.paths().into_iter().filter(is_sole).collect();
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
/// Without this, a key that is later dropped from the written body would stay, held by the former tool. Entries of
/// subresources stay with their managers.
pub fn hand_over(
    object: &Value,
    from: &[FieldManager],
    to: &FieldManager,
) -> Result<Option<Value>, ManagedFieldsError> {
    hand_over_part(object, to, "", |entry| {
        let is_given = entry.subresource.is_empty() && entry.manager != *to && from.contains(&entry.manager);
        if is_given { entry.fields.clone() } else { FieldSet::new() }
    })
}

/// Moves `part` of every entry into what `to` holds of `subresource` by apply.
///
/// An apply has one entry, in one version of the API. What was held in another version is taken over as far as the
/// object has it under the same name in this one.
pub fn hand_over_part(
    object: &Value,
    to: &FieldManager,
    subresource: &str,
    part: impl Fn(&Entry) -> FieldSet,
) -> Result<Option<Value>, ManagedFieldsError> {
    let managed = ManagedFields::of(object)?;
    let parts: Vec<FieldSet> = managed.entries().iter().map(part).collect();
    let Some(first) = parts.iter().position(|part| !part.is_empty()) else { return Ok(None) };
    let mut entries = managed.entries().to_vec();
    for (entry, part) in entries.iter_mut().zip(&parts) {
        entry.fields = entry.fields.difference(part);
    }
    let index = entries
        .iter()
        .position(|entry| entry.is_of(to, Operation::Apply, subresource))
        .unwrap_or_else(|| {
            let first = &managed.entries()[first];
            let api_version = object["apiVersion"].as_str().unwrap_or(&first.api_version).to_owned();
            let (manager, operation, fields) = (to.clone(), Operation::Apply, FieldSet::new());
            let (subresource, time) = (subresource.to_owned(), first.time.clone());
            entries.push(Entry { manager, operation, subresource, api_version, time, fields });
            entries.len() - 1
        });
    let schema = managed.schema(object);
    let ours = &mut entries[index];
    for (given, part) in managed.entries().iter().zip(parts) {
        let part = if given.api_version == ours.api_version {
            part
        } else {
            let exists = |path: &FieldPath| fields::value_at(object, path, &schema).is_some();
            part.paths().into_iter().filter(exists).collect()
        };
        ours.fields = ours.fields.union(&part);
    }
    Ok(patch(object, &managed, entries))
}

/// The JSON patch from what is to `entries`, less those that no longer hold anything.
fn patch(object: &Value, before: &ManagedFields, mut entries: Vec<Entry>) -> Option<Value> {
    if entries == before.entries() {
        return None;
    }
    entries.retain(|entry| !entry.fields.is_empty());
    Some(json!([
        { "op": "test", "path": "/metadata/resourceVersion", "value": object.pointer("/metadata/resourceVersion") },
        { "op": "replace", "path": "/metadata/managedFields", "value": to_value(object, before, &entries) },
    ]))
}

/// The entries as the API server takes them; those that have not changed word for word as they stand in `object`.
fn to_value(object: &Value, before: &ManagedFields, entries: &[Entry]) -> Value {
    // The API server takes an empty list for "leave as it is"; one empty entry clears the field.
    if entries.is_empty() {
        return json!([{}]);
    }
    let listed = &object["metadata"]["managedFields"];
    let write = |entry: &Entry| match before.entries().iter().position(|known| known == entry) {
        Some(index) => listed[index].clone(),
        None => entry.write(),
    };
    entries.iter().map(write).collect()
}

#[cfg(test)]
mod tests;
