//! `metadata.managedFields` of an object: which manager holds which fields right now.

use std::collections::BTreeSet;

use fields::{FieldPath, FieldSet, PathElement, Schema};
use manifest::secret;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::manager::{FieldManager, Operation};

/// The entries of an object's managedFields, in the API server's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManagedFields {
    pub(crate) entries: Vec<Entry>,
}

/// What one manager holds by one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub manager: FieldManager,
    pub operation: Operation,
    /// Empty for the object itself.
    pub subresource: String,
    pub api_version: String,
    /// As the API server wrote it.
    pub time: Option<String>,
    pub fields: FieldSet,
}

/// Why an object's managedFields cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ManagedFieldsError {
    /// The list or an entry does not have the shape the API defines.
    #[error("entry {index} of metadata.managedFields is malformed")]
    Entry {
        index: usize,
        #[source]
        source: serde_json::Error,
    },
    /// An entry's set of fields is not FieldsV1.
    #[error("the fields that {manager} holds cannot be read")]
    Fields {
        manager: FieldManager,
        #[source]
        source: fields::DecodeError,
    },
}

impl ManagedFields {
    /// Reads the entries of `object`; [`crate::Observed`] is the only caller.
    pub(crate) fn of(object: &Value) -> Result<Self, ManagedFieldsError> {
        let Some(list) = object.pointer("/metadata/managedFields").and_then(Value::as_array) else {
            return Ok(Self::default());
        };
        let mut entries = list
            .iter()
            .enumerate()
            .map(|(index, entry)| Entry::read(index, entry))
            .collect::<Result<Vec<_>, _>>()?;
        if secret::is_secret(object) {
            entries.iter_mut().for_each(Entry::fold_string_data);
        }
        Ok(Self { entries })
    }

    /// The entries, in the API server's order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Everything `manager` holds, by whichever operation.
    pub fn held_by(&self, manager: &FieldManager) -> FieldSet {
        let mut held = FieldSet::new();
        for entry in self.entries.iter().filter(|entry| entry.manager == *manager) {
            held.add_all(&entry.fields);
        }
        held
    }

    /// All managers that hold `path`, sorted by name.
    pub fn holders(&self, path: &FieldPath) -> BTreeSet<&FieldManager> {
        self.entries_with(path).into_iter().map(|place| &self.entries[place].manager).collect()
    }

    /// The places of the entries whose managers hold `path` by them.
    pub fn entries_with(&self, path: &FieldPath) -> Vec<usize> {
        let sets = self.entries.iter().map(|entry| &entry.fields);
        let holding = holding(sets, path).into_iter().enumerate().filter(|(_, holds)| *holds);
        holding.map(|(place, _)| place).collect()
    }

    /// The fields of `set` that no manager but `manager` holds. A manager that holds something in an item of a list does
    /// not hold the item: the API server removes it with all that is in it once its own holder no longer applies it.
    pub fn held_only_by(&self, manager: &FieldManager, set: &FieldSet) -> FieldSet {
        let is_sole = |path: &FieldPath| match path.elements().last() {
            Some(PathElement::Field(_)) | None => {
                self.holders(path).into_iter().all(|holder| holder == manager)
            }
            Some(_) => {
                let mut others = self.entries.iter().filter(|entry| entry.manager != *manager);
                !others.any(|entry| entry.fields.contains(path))
            }
        };
        set.paths().into_iter().filter(is_sole).collect()
    }

    /// What is known about `object`'s kind, with what its sets tell about how lists are keyed.
    pub(crate) fn schema(&self, object: &Value) -> Schema {
        self.entries.iter().fold(Schema::of(object), |schema, entry| schema.learning_from(&entry.fields))
    }
}

/// Whether `manager` holds something of `object` itself by an apply. The sets of fields are not read.
pub fn has_applied(object: &Map<String, Value>, manager: &FieldManager) -> bool {
    let entries = object.get("metadata").and_then(|metadata| metadata.get("managedFields"));
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| Wire::deserialize(entry).ok()).any(|wire| {
        wire.manager == manager.as_str() && wire.operation == Operation::Apply && wire.subresource.is_empty()
    })
}

/// Keeps only the entries of managers that `keeps` says, with their sets of fields as text, which takes a fraction of the
/// memory; [`crate::Observed`] reads both forms.
pub fn compact(object: &mut Map<String, Value>, keeps: impl Fn(&str) -> bool) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(entries) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) else { return };
    entries.retain(|entry| entry.get("manager").and_then(Value::as_str).is_some_and(&keeps));
    for fields in entries.iter_mut().filter_map(|entry| entry.get_mut("fieldsV1")) {
        if fields.is_object() {
            *fields = fields.to_string().into();
        }
    }
    if entries.is_empty() {
        metadata.remove("managedFields");
    }
}

/// When managers wrote the part of `object` that is behind `subresource`, as the API server wrote it.
pub fn write_times<'a>(object: &'a Map<String, Value>, subresource: &str) -> impl Iterator<Item = &'a str> {
    let entries = object.get("metadata").and_then(|metadata| metadata.get("managedFields")?.as_array());
    let is_it = move |entry: &&Value| {
        entry.get("subresource").and_then(Value::as_str).unwrap_or_default() == subresource
    };
    let entries = entries.into_iter().flatten().filter(is_it);
    entries.filter_map(|entry| entry.get("time")?.as_str())
}

/// For each of the sets of an object's managers, whether it decides the value at `path`: it has the field itself,
/// something below it, or, as an indivisible whole, something above it.
///
/// A map that a manager merely created says nothing about its keys, and it looks like a whole once all its keys have
/// been taken from that manager. It is one only where no manager holds anything below the field.
pub(crate) fn holding<'s>(sets: impl Iterator<Item = &'s FieldSet>, path: &FieldPath) -> Vec<bool> {
    let mut here: Vec<Option<&FieldSet>> = sets.map(|set| Some(set).filter(|_| !path.is_root())).collect();
    for element in path.elements() {
        let found: Vec<_> = here.iter().map(|set| set.and_then(|set| set.entry(element))).collect();
        let is_whole = found.iter().flatten().all(|entry| entry.below.is_empty());
        if is_whole {
            return found.iter().map(Option::is_some).collect();
        }
        here = found.into_iter().map(|entry| entry.map(|entry| &entry.below)).collect();
    }
    here.iter().map(Option::is_some).collect()
}

/// The wire form of an entry, without its set, which can be most of an object.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default)]
    manager: String,
    operation: Operation,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    subresource: String,
    #[serde(default)]
    api_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    /// Copies in memory leave it out.
    #[serde(default)]
    fields_type: String,
}

impl Entry {
    /// Whether this is what `manager` holds by `operation` on `subresource`, which is empty for the object itself.
    pub fn is_of(&self, manager: &FieldManager, operation: Operation, subresource: &str) -> bool {
        self.manager == *manager && self.operation == operation && self.subresource == subresource
    }

    fn read(index: usize, entry: &Value) -> Result<Self, ManagedFieldsError> {
        let wire = Wire::deserialize(entry).map_err(|source| ManagedFieldsError::Entry { index, source })?;
        let manager = FieldManager::new(wire.manager);
        let fields = match entry.get("fieldsV1") {
            None => Ok(FieldSet::new()),
            // Copies in memory keep it as text, which takes a fraction of the space.
            Some(Value::String(text)) => FieldSet::from_json(text),
            Some(fields) => FieldSet::from_value(fields),
        };
        let fields =
            fields.map_err(|source| ManagedFieldsError::Fields { manager: manager.clone(), source })?;
        Ok(Self {
            manager,
            operation: wire.operation,
            subresource: wire.subresource,
            api_version: wire.api_version,
            time: wire.time,
            fields,
        })
    }

    /// A Secret's `stringData` is stored in `data`, so a manager of one holds the other (see `manifest::secret`).
    fn fold_string_data(&mut self) {
        let string_data = FieldPath::of_fields(["stringData"]);
        let Some(keys) = self.fields.below(&string_data).cloned() else { return };
        self.fields = self.fields.recursive_difference(&FieldSet::from_iter([string_data]));
        for key in keys.paths() {
            self.fields.insert(&[PathElement::field("data")].iter().chain(key.elements()).cloned().collect());
        }
    }

    /// The entry as the API server takes it.
    pub(crate) fn write(&self) -> Value {
        let wire = Wire {
            manager: self.manager.as_str().to_owned(),
            operation: self.operation,
            subresource: self.subresource.clone(),
            api_version: self.api_version.clone(),
            time: self.time.clone(),
            fields_type: "FieldsV1".to_owned(),
        };
        let mut entry = serde_json::to_value(wire).expect("an entry has only string keys");
        entry["fieldsV1"] = self.fields.to_value();
        entry
    }
}

#[cfg(test)]
mod tests;
