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
        Ok(Self { entries })
    }

    /// The entries, in the API server's order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Everything `manager` holds, however it wrote it.
    pub fn held_by(&self, manager: &FieldManager) -> FieldSet {
        let ours = self.entries.iter().filter(|entry| entry.manager == *manager);
        ours.fold(FieldSet::new(), |held, entry| held.union(&entry.fields))
    }

    /// Everybody who holds `path`, sorted by name.
    pub fn holders(&self, path: &FieldPath) -> BTreeSet<&FieldManager> {
        self.entries.iter().filter(|entry| holds(&entry.fields, path)).map(|entry| &entry.manager).collect()
    }

    /// What is known about `object`'s kind, with what its sets tell about how lists are keyed.
    pub fn schema(&self, object: &Value) -> Schema {
        self.entries.iter().fold(Schema::of(object), |schema, entry| schema.learning_from(&entry.fields))
    }

    /// The entries as the API server takes them, for a patch.
    pub(crate) fn to_value(entries: &[Entry]) -> Value {
        // The API server takes an empty list for "leave as it is"; one empty entry clears the field.
        if entries.is_empty() {
            return serde_json::json!([{}]);
        }
        entries.iter().map(Entry::write).collect()
    }
}

/// Whether a manager with this set decides the value at `path`: it holds the field itself, something below it, or,
/// as an indivisible whole, something above it. A map that a manager merely created (`.`) says nothing about its keys.
pub(crate) fn holds(set: &FieldSet, path: &FieldPath) -> bool {
    let mut set = set;
    let mut found = false;
    for element in path.elements() {
        match set.entry(element) {
            None => return false,
            Some(entry) if entry.member && entry.below.is_empty() => return true,
            Some(entry) => set = entry.below,
        }
        found = true;
    }
    found
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

    fn write(&self) -> Value {
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
