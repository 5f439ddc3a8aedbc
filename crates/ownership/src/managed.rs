//! `metadata.managedFields` of an object: which manager holds which fields right now.

use std::collections::BTreeSet;

use fields::{FieldPath, FieldSet, PathElement, Schema};
use manifest::secret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::manager::{FieldManager, Operation};

/// The entries of an object's managedFields, in the API server's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManagedFields {
    entries: Vec<Entry>,
    /// What is held by anybody, which tells fields that are held as a whole from maps that somebody merely created.
    all: FieldSet,
}

/// What one manager wrote in one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Who.
    pub manager: FieldManager,
    /// How.
    pub operation: Operation,
    /// Through which subresource; empty for the object itself.
    pub subresource: String,
    /// In which version of the API.
    pub api_version: String,
    /// When, as the API server wrote it.
    pub time: Option<String>,
    /// Which fields.
    pub fields: FieldSet,
}

/// Why an object's managedFields cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ManagedFieldsError {
    /// The list or an entry does not have the shape the API defines.
    #[error("entry {index} of metadata.managedFields is malformed")]
    Entry {
        /// Its position.
        index: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// An entry's set of fields is not FieldsV1.
    #[error("the fields that {manager} holds cannot be read")]
    Fields {
        /// Whose entry.
        manager: FieldManager,
        /// What is wrong with it.
        #[source]
        source: fields::DecodeError,
    },
}

impl ManagedFields {
    /// Reads the entries of `object`; an object without any has none.
    pub fn of(object: &Value) -> Result<Self, ManagedFieldsError> {
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
        let all = entries.iter().fold(FieldSet::new(), |all, entry| all.union(&entry.fields));
        Ok(Self { entries, all })
    }

    /// The entries, in the API server's order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What is held by anybody.
    pub(crate) fn all(&self) -> &FieldSet {
        &self.all
    }

    /// Everything `manager` holds, however it wrote it.
    pub fn held_by(&self, manager: &FieldManager) -> FieldSet {
        let ours = self.entries.iter().filter(|entry| entry.manager == *manager);
        ours.fold(FieldSet::new(), |held, entry| held.union(&entry.fields))
    }

    /// Everybody who holds `path`, sorted by name.
    pub fn holders(&self, path: &FieldPath) -> BTreeSet<&FieldManager> {
        let holding = self.entries.iter().filter(|entry| holds(&entry.fields, &self.all, path));
        holding.map(|entry| &entry.manager).collect()
    }

    /// What is known about `object`'s kind, with what its sets tell about how lists are keyed.
    pub fn schema(&self, object: &Value) -> Schema {
        self.entries.iter().fold(Schema::of(object), |schema, entry| schema.learning_from(&entry.fields))
    }
}

/// Whether a manager with this set decides the value at `path`: it holds the field itself, something below it, or,
/// as an indivisible whole, something above it.
///
/// A map that a manager merely created says nothing about its keys, and it looks like a whole once all its keys have
/// been taken from that manager. Only where nobody (`all`) holds anything below a field, it is one.
pub(crate) fn holds(set: &FieldSet, all: &FieldSet, path: &FieldPath) -> bool {
    let (mut set, mut all) = (set, all);
    for element in path.elements() {
        let (Some(entry), Some(known)) = (set.entry(element), all.entry(element)) else { return false };
        if entry.member && known.below.is_empty() {
            return true;
        }
        (set, all) = (entry.below, known.below);
    }
    !path.elements().is_empty()
}

/// The wire form of an entry.
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
    fields_type: String,
    #[serde(rename = "fieldsV1", default)]
    fields: Value,
}

impl Entry {
    fn read(index: usize, entry: &Value) -> Result<Self, ManagedFieldsError> {
        let wire = Wire::deserialize(entry).map_err(|source| ManagedFieldsError::Entry { index, source })?;
        let manager = FieldManager::new(wire.manager);
        let fields = if wire.fields.is_null() {
            FieldSet::new()
        } else {
            FieldSet::from_value(&wire.fields)
                .map_err(|source| ManagedFieldsError::Fields { manager: manager.clone(), source })?
        };
        Ok(Self {
            manager,
            operation: wire.operation,
            subresource: wire.subresource,
            api_version: wire.api_version,
            time: wire.time,
            fields,
        })
    }

    /// A Secret's `stringData` is stored in `data`, so whoever holds one holds the other (see `manifest::secret`).
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
            fields: self.fields.to_value(),
        };
        serde_json::to_value(wire).expect("an entry has only string keys")
    }
}

#[cfg(test)]
mod tests;
