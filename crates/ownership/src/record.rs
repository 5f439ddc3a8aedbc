//! What we held of an object after an apply, without a single value: for clients that have no state to keep a baseline in.
//!
//! Of each field it has the managers, and keyed hashes of the value that was written and the one that came of it. It counts
//! only while our entry in managedFields is the one that the apply left: other managers take fields out of that entry, but
//! another apply by our manager replaces it.

mod stored;

use fields::{FieldPath, FieldSet, Schema, Shape};
use manifest::secret::MaskKey;
use serde_json::Value;

use crate::baseline::{Baseline, BaselineField, Remembered};
use crate::desired::Desired;
use crate::manager::{FieldManager, Operation};
use crate::observed::Observed;
use crate::view::View;

/// The record of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub(crate) key: MaskKey,
    /// Its values are hashes.
    pub(crate) baseline: Baseline,
    /// For each path of the baseline, in order, a hash of what was written there.
    pub(crate) written: Vec<u64>,
    uid: String,
    entry: Entry,
}

/// What tells our entry in managedFields from those of other applies.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    manager: FieldManager,
    api_version: String,
    time: String,
}

/// A field that has not stayed as the apply left it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedSince {
    pub path: FieldPath,
    pub held_then: Vec<FieldManager>,
    pub held_now: Vec<FieldManager>,
    pub is_value_changed: bool,
    /// When the managers that hold it now last set any of their fields, as the API server wrote it.
    pub set_at: Option<String>,
}

impl Record {
    /// What `answer`, the object after an apply, records; `None` if we hold nothing of it. The key has to be kept with it.
    pub fn new(answer: &Observed, desired: &Desired<'_>, key: &MaskKey) -> Option<Self> {
        let entry = Entry::of(answer, desired.manager)?;
        let schema = answer.schema();
        let Baseline { paths, mut fields } = Baseline::record(answer, desired, key);
        let view = View::of(desired.written, key);
        let written = view.column(&paths, schema);
        let hash = |path: &FieldPath, value: &Value| hash(key, path, value, shape_at(schema, path));
        let all = paths.paths();
        let written =
            all.iter().zip(written).map(|(path, value)| value.map_or(0, |value| hash(path, &value)));
        let written = written.collect();
        for (path, field) in all.iter().zip(&mut fields) {
            if let Remembered::Value(value) = &field.value {
                field.value = Remembered::Hash(hash(path, value));
            }
        }
        let uid = uid(answer).to_owned();
        Some(Self { key: key.clone(), baseline: Baseline { paths, fields }, written, uid, entry })
    }

    /// Whose apply it was.
    pub fn manager(&self) -> &FieldManager {
        &self.entry.manager
    }

    /// Whether `live` is the same object, and our entry in it is still the one that was recorded, less what other managers
    /// have taken out of it.
    pub fn is_current(&self, live: &Observed) -> bool {
        let manager = self.manager();
        let is_ours = |field: &&BaselineField| field.managers.contains(manager);
        let held = self.baseline.paths.paths().into_iter().zip(&self.baseline.fields);
        let held: FieldSet = held.filter(|(_, field)| is_ours(field)).map(|(path, _)| path).collect();
        let mut entries = live.managed().entries().iter();
        let entry = entries.find(|entry| entry.is_of(manager, Operation::Apply, ""));
        let is_left = entry.is_none_or(|entry| {
            let now = entry.fields.clone().leaves().difference(&fields::identity());
            Entry::of(live, manager).as_ref() == Some(&self.entry) && now.difference(&held).is_empty()
        });
        uid(live) == self.uid && is_left
    }

    /// The fields that are no longer as the apply left them.
    pub fn changes_since(&self, live: &Observed) -> Vec<ChangedSince> {
        let schema = live.schema();
        let view = View::of(live.object(), &self.key);
        let values = view.column(&self.baseline.paths, schema);
        let paths = self.baseline.paths.paths();
        let fields = paths.into_iter().zip(&self.baseline.fields).zip(values);
        let changed = fields.filter_map(|((path, field), value)| {
            let held_now: Vec<FieldManager> = live.managed().holders(&path).into_iter().cloned().collect();
            let is_same = match (&field.value, &value) {
                (Remembered::Hash(then), Some(value)) => {
                    *then == hash(&self.key, &path, value, shape_at(schema, &path))
                }
                (Remembered::Absent, None) => true,
                _ => false,
            };
            if is_same && held_now == field.managers {
                return None;
            }
            let others = live.managed().entries().iter().filter(|entry| {
                entry.manager != *self.manager()
                    && held_now.contains(&entry.manager)
                    && entry.fields.touches(&path)
            });
            let set_at = others.filter_map(|entry| entry.time.clone()).max();
            let held_then = field.managers.clone();
            Some(ChangedSince { path, held_then, held_now, is_value_changed: !is_same, set_at })
        });
        changed.collect()
    }

    /// When the apply was, as the API server wrote it.
    pub fn applied_at(&self) -> &str {
        &self.entry.time
    }

    /// The stored form, without the key.
    pub fn to_value(&self) -> Value {
        stored::write(self)
    }

    /// Reads the stored form; `key` is the one it was recorded with.
    pub fn from_value(value: &Value, key: &MaskKey) -> Option<Self> {
        stored::read(value, key)
    }
}

impl Entry {
    fn of(object: &Observed, manager: &FieldManager) -> Option<Self> {
        let mut entries = object.managed().entries().iter();
        let entry = entries.find(|entry| entry.is_of(manager, Operation::Apply, ""))?;
        let (api_version, time) = (entry.api_version.clone(), entry.time.clone().unwrap_or_default());
        Some(Self { manager: manager.clone(), api_version, time })
    }
}

/// A keyed hash of a value: the same for values that mean the same to Kubernetes, and another one at another path.
pub(crate) fn hash(key: &MaskKey, path: &FieldPath, value: &Value, shape: Shape<'_>) -> u64 {
    let value = fields::canonical(value, shape);
    // 40 bits are enough to tell two values of one field apart.
    key.digest(&format!("{path}\0{value}")) >> 24
}

fn shape_at<'s>(schema: &'s Schema, path: &FieldPath) -> Shape<'s> {
    path.elements().iter().fold(schema.root(), Shape::step)
}

fn uid(object: &Observed) -> &str {
    object.object()["metadata"]["uid"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
