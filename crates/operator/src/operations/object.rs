//! Objects that stand for a cloud resource, and their status: the state of operations, and the resource as it was last
//! observed.

use jiff::Timestamp;
use kube::core::DynamicObject;
use manifest::GroupVersionKind;
use operations::{LegacyWorkRequestIds, Status};
use oraclecloud::Kind;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::observed::{observed, text};
use crate::api::{VERSION, observed_name};

pub(crate) fn gvk(kind: Kind) -> GroupVersionKind {
    format!("{}/{VERSION}/{}", kind.group(), kind.name).parse().expect("a described kind has a valid name")
}

pub(super) fn spec(object: &DynamicObject) -> &Value {
    &object.data["spec"]
}

/// The stored state of operations. Those that an older operator left in flight, known only by their mirrored ids, are
/// resumed.
pub fn recorded(kind: Kind, object: &DynamicObject, now: Timestamp) -> Result<Status, serde_json::Error> {
    let Some(stored) = object.data.get("status").filter(|status| !status.is_null()) else {
        return Ok(Status::default());
    };
    let mut status = Status::deserialize(stored)?;
    if kind.legacy_work_request_ids {
        LegacyWorkRequestIds::deserialize(stored)?.resume(&mut status, now);
    }
    Ok(status)
}

/// Sets the state; `answer`, a read of the resource, says what to show of it. Without it, what was shown stays if it is
/// about the resource that the object is bound to.
pub(super) fn show(kind: Kind, object: &mut DynamicObject, status: &Status, answer: Option<&Value>) {
    let stored = object.data.get("status").unwrap_or(&Value::Null);
    let id = status.ocid();
    let shown = match answer.filter(|answer| answer.get(&kind.id_field).and_then(Value::as_str) == id) {
        Some(answer) => observed(kind, answer),
        None if text(&stored["status"], "ocid").as_deref() == id => kept(kind, stored),
        None => Map::new(),
    };
    let state = |value: Value| match value {
        Value::Object(fields) => fields,
        _ => unreachable!("a status is a JSON object"),
    };
    let mut fields = shown;
    fields.extend(state(json!(status)));
    if kind.legacy_work_request_ids {
        fields.extend(state(json!(LegacyWorkRequestIds::of(status))));
    }
    object.data["status"] = fields.into();
}

/// What a stored status shows of the resource.
fn kept(kind: Kind, stored: &Value) -> Map<String, Value> {
    let names = kind.status.keys().map(|name| observed_name(name));
    names.filter_map(|name| Some((name.to_owned(), stored.get(name)?.clone()))).collect()
}
