//! How a baseline is stored: small, because Terraform writes every state anew after each resource.
//!
//! Fields are a tree as in managedFields, `f:data` above `f:level`. A field is a list of its value, its holders (a
//! position in `by`), what kind of value it is, and whether it is ignored; defaults at the end are left out.
//!
//! ```text
//! {"by": [["k8sconnect"], ["hpa", "k8sconnect"]], "fields": {"f:spec": {"f:paused": [false], "f:replicas": [3, 1]}}}
//! ```
//!
//! Where the body is stored as well, `"rest": true` means that all other fields have the value written there and are
//! held by the first of `by`.

use std::collections::BTreeMap;

use fields::FieldPath;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{BaselineField, Remembered};
use crate::field_tree;
use crate::manager::FieldManager;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    by: Vec<Vec<FieldManager>>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    fields: Map<String, Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rest: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Value,
    Absent,
    Text,
    Unknown,
}

/// The stored form of `fields`; `usual` hold all other fields of the body.
pub(super) fn write<'b>(
    fields: impl Iterator<Item = (FieldPath, &'b BaselineField)>,
    usual: Option<Vec<FieldManager>>,
) -> Value {
    let mut stored = Stored { rest: usual.is_some(), by: usual.into_iter().collect(), ..Stored::default() };
    for (path, field) in fields {
        let known = stored.by.iter().position(|managers| *managers == field.managers);
        let by = known.unwrap_or_else(|| {
            stored.by.push(field.managers.clone());
            stored.by.len() - 1
        });
        field_tree::insert(&mut stored.fields, path.elements(), entry(field, by));
    }
    serde_json::to_value(stored).expect("a baseline has only string keys")
}

pub(super) struct Kept {
    pub(super) fields: BTreeMap<FieldPath, BaselineField>,
    /// The holders of the fields that only the body has; none if it is not stored.
    pub(super) usual: Option<Vec<FieldManager>>,
}

pub(super) fn read(value: &Value) -> Result<Kept, Failure> {
    let stored = Stored::deserialize(value)?;
    let fields = field_tree::collect(&stored.fields, &|entry| match entry {
        Value::Array(parts) => remembered(parts, &stored.by),
        other => Err(format!("{other} says nothing about a field").into()),
    })?;
    let usual = stored.rest.then(|| stored.by.first().cloned().ok_or("holders that are not listed"));
    Ok(Kept { fields, usual: usual.transpose()? })
}

fn entry(field: &BaselineField, by: usize) -> Value {
    let (kind, value) = match &field.value {
        Remembered::Value(value) => (Kind::Value, value.clone()),
        Remembered::Absent => (Kind::Absent, Value::Null),
        Remembered::Text(text) => (Kind::Text, Value::String(text.clone())),
        Remembered::Unknown => (Kind::Unknown, Value::Null),
        Remembered::Hash(_) => unreachable!("only records have hashes, in a form of their own"),
    };
    let mut parts = vec![value, json!(by), json!(kind), json!(field.ignored)];
    let usual = [None, Some(json!(0)), Some(json!(Kind::default())), Some(json!(false))];
    while parts.last() == usual[parts.len() - 1].as_ref() {
        parts.pop();
    }
    Value::Array(parts)
}

fn remembered(parts: &[Value], by: &[Vec<FieldManager>]) -> Result<BaselineField, Failure> {
    let part = |index: usize| parts.get(index);
    let value = part(0).cloned().unwrap_or_default();
    let position = part(1).map_or(Ok(0), usize::deserialize)?;
    let kind = part(2).map_or(Ok(Kind::default()), Kind::deserialize)?;
    let value = match kind {
        Kind::Value => Remembered::Value(value),
        Kind::Absent => Remembered::Absent,
        Kind::Text => Remembered::Text(String::deserialize(value)?),
        Kind::Unknown => Remembered::Unknown,
    };
    let managers = by.get(position).cloned().ok_or("holders that are not listed")?;
    Ok(BaselineField { managers, value, ignored: part(3).map_or(Ok(false), bool::deserialize)? })
}
