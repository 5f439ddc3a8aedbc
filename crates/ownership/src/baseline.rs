//! What was true right after our last apply: changes by other managers are detected by comparing with it.
//!
//! Kept in Terraform's private state under `ownership_baseline_v2`. The Go provider's `ownership_baseline` (field as
//! printed → first manager) is written too, so that one can swap back, and read where v2 is missing.

mod stored;

use std::collections::BTreeMap;

use fields::{FieldPath, FieldSet, IgnoreFields, Positions, Schema};
use manifest::secret::MaskKey;
use serde::Deserialize;
use serde_json::Value;

use crate::desired::Desired;
use crate::holders::Holders;
use crate::manager::FieldManager;
use crate::observed::Observed;
use crate::view::View;

/// Every field of the body as it was written then, with its holders and its value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    pub(crate) paths: FieldSet,
    /// One for each path, in order.
    pub(crate) fields: Vec<BaselineField>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BaselineField {
    pub(crate) managers: Vec<FieldManager>,
    pub(crate) value: Remembered,
    pub(crate) ignored: bool,
}

impl BaselineField {
    /// Whether the Go provider stored this. It applied with force, so it held whatever it wrote, but it stored at most
    /// one manager a field, and not always its own.
    pub(crate) fn is_former(&self) -> bool {
        matches!(self.value, Remembered::Text(_) | Remembered::Unknown)
    }
}

/// A value as it is remembered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Remembered {
    /// The value in the answer to the apply; of a Secret, its mask.
    Value(Value),
    /// The field was not in the answer.
    Absent,
    /// The text that the Go provider stored of the value.
    Text(String),
    /// The Go provider stored nothing of it, so changes cannot be detected.
    Unknown,
    /// A hash of the value in the answer, see [`crate::Record`].
    Hash(u64),
}

/// A baseline that cannot be read back.
#[derive(Debug, thiserror::Error)]
#[error("the stored ownership baseline is malformed")]
pub struct BaselineError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Baseline {
    /// What the API server's `answer` to an apply records. `key` masks the values of a Secret, here and in the other
    /// functions; it has to be kept as long as the baseline.
    pub fn record(answer: &Observed, desired: &Desired<'_>, key: &MaskKey) -> Self {
        let schema = answer.schema();
        let (written, answered) = (View::of(desired.written, key), View::of(answer.object(), key));
        let paths = written.fields(schema);
        let values = written.column(&paths, schema).zip(answered.column(&paths, schema));
        let holders = Holders::of(answer.managed(), &paths);
        let is_ignored = desired.ignored(schema);
        let fields =
            paths.paths().into_iter().zip(values).enumerate().map(|(index, (path, (written, value)))| {
                let is_kept = is_kept(written.as_deref(), value.as_deref());
                let managers = holders.at(index).filter(|_| is_kept).cloned().collect();
                let value = value.map_or(Remembered::Absent, |value| Remembered::Value(value.into_owned()));
                let ignored = is_ignored(&path);
                (path, BaselineField { managers, value, ignored })
            });
        let mut fields: BTreeMap<_, _> = fields.collect();
        for path in desired.removed().paths() {
            let (managers, value) = (vec![desired.manager.clone()], Remembered::Absent);
            fields.entry(path).or_insert(BaselineField { managers, value, ignored: false });
        }
        let (paths, fields) = fields.into_iter().unzip();
        Self { paths, fields }
    }

    /// The fields that `manager` has taken away.
    pub fn removed_by(&self, manager: &FieldManager) -> FieldSet {
        let removed =
            |field: &BaselineField| field.value == Remembered::Absent && field.managers == [manager.clone()];
        self.iter().filter(|(_, field)| removed(field)).map(|(path, _)| path).collect()
    }

    /// Rebuilt from what the Go provider stored: the text of each field in its projection, and its first manager (or,
    /// from one of its older versions, all of them).
    pub fn from_former(
        written: &Value,
        projection: &BTreeMap<String, String>,
        managers: &BTreeMap<String, FormerManagers>,
        ignored: &IgnoreFields,
        key: &MaskKey,
    ) -> Self {
        let schema = Schema::of(written);
        let ignored = ignored.on(written, &schema);
        let view = View::of(written, key);
        let positions = Positions::of(&view.object, &schema);
        let paths = view.fields(&schema);
        let fields = paths.paths().into_iter().map(|path| {
            let printed = positions.print(&path);
            let value = projection.get(&printed);
            let value =
                value.map_or(Remembered::Unknown, |text| Remembered::Text(view.masked_text(&path, text)));
            let managers = managers.get(&printed).map(FormerManagers::list).unwrap_or_default();
            BaselineField { managers, value, ignored: ignored.contains(&path) }
        });
        let fields = fields.collect();
        Self { paths, fields }
    }

    /// The stored form, for the key `ownership_baseline_v2`.
    pub fn to_value(&self) -> Value {
        stored::write(self.iter(), None)
    }

    /// The stored form where `written`, the body that was applied, is stored as well: only what differs from it.
    pub fn to_value_beside(&self, written: &Value, key: &MaskKey) -> Value {
        let usual = self.fields.first().map(|field| field.managers.clone()).unwrap_or_default();
        let implied = Self::as_written(written, &usual, key);
        if implied.paths != self.paths {
            return self.to_value();
        }
        let others = self.iter().zip(implied.fields).filter(|((_, field), implied)| *field != implied);
        stored::write(others.map(|(kept, _)| kept), Some(usual))
    }

    /// Reads the stored form; `written` is the body that was applied, if it is stored beside it.
    pub fn from_value(value: &Value, written: Option<&Value>, key: &MaskKey) -> Result<Self, BaselineError> {
        let kept = stored::read(value).map_err(BaselineError)?;
        let mut fields = BTreeMap::new();
        if let Some(usual) = kept.usual {
            let written = written.ok_or_else(|| BaselineError("the body beside it is missing".into()))?;
            let implied = Self::as_written(written, &usual, key);
            fields.extend(implied.paths.paths().into_iter().zip(implied.fields));
        }
        fields.extend(kept.fields);
        let (paths, fields) = fields.into_iter().unzip();
        Ok(Self { paths, fields })
    }

    /// The baseline if the API server accepted the body as it is and `managers` hold all of it.
    fn as_written(written: &Value, managers: &[FieldManager], key: &MaskKey) -> Self {
        let (schema, view) = (Schema::of(written), View::of(written, key));
        let paths = view.fields(&schema);
        let fields = view.column(&paths, &schema).map(|value| {
            let value = value.map_or(Remembered::Absent, |value| Remembered::Value(value.into_owned()));
            BaselineField { managers: managers.to_vec(), value, ignored: false }
        });
        let fields = fields.collect();
        Self { paths, fields }
    }

    /// What the Go provider stores under `ownership_baseline`: its printed paths with their first manager, less the
    /// ignored fields.
    pub fn to_former(&self, written: &Value) -> BTreeMap<String, String> {
        let positions = Positions::of(written, &Schema::of(written));
        let kept = self.iter().filter(|(_, field)| !field.ignored);
        kept.filter_map(|(path, field)| {
            Some((positions.print(&path), field.managers.first()?.as_str().to_owned()))
        })
        .collect()
    }

    fn iter(&self) -> impl Iterator<Item = (FieldPath, &BaselineField)> {
        self.paths.paths().into_iter().zip(&self.fields)
    }
}

/// Whether the API server has kept a written value. A webhook that drops a field leaves it in our entry of managedFields;
/// what is empty may be left out of an answer.
pub(crate) fn is_kept(written: Option<&Value>, answered: Option<&Value>) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Bool(is_set) => !is_set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    };
    answered.is_some() || written.is_none_or(is_empty)
}

/// The managers of a field as versions of the Go provider stored them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum FormerManagers {
    First(FieldManager),
    All(Vec<FieldManager>),
}

impl FormerManagers {
    fn list(&self) -> Vec<FieldManager> {
        match self {
            Self::First(manager) => vec![manager.clone()],
            Self::All(managers) => managers.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
