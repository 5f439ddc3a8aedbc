//! What managedFields say about an apply that nobody remembers.

use fields::{FieldSet, Schema, equal, identity, project, written};
use serde_json::Value;

use crate::object;
use crate::run::Object;
use crate::takeover::is_share_of;

/// Whether `live` is what applying `intent` as `manager` would leave: the manager holds exactly the fields of the intent,
/// and their values are the intent's.
///
/// Of custom kinds little is known beyond what managedFields themselves show. What cannot be told counts as a difference,
/// which costs an apply that changes nothing.
pub(super) fn is_as_asked(intent: &Object, live: &Object, manager: &str) -> bool {
    let Some(held) = held(intent, live, manager) else { return false };
    let (intent, live) = (Value::Object(intent.clone()), Value::Object(live.clone()));
    let schema = Schema::of(&intent).learning_from(&held);
    written(&intent, &schema).difference(&identity()) == held
        && equal(&project(&live, &held, &schema), &project(&intent, &held, &schema), schema.root())
}

/// What `manager` holds of `live` by an apply in the version of the intent.
fn held(intent: &Object, live: &Object, manager: &str) -> Option<FieldSet> {
    let entries = object::nested(live, &["metadata", "managedFields"])?.as_array()?;
    let is_meant = |entry: &&Value| {
        is_share_of(entry, manager, "Apply", "") && entry.get("apiVersion") == intent.get("apiVersion")
    };
    match entries.iter().find(is_meant)?.get("fieldsV1")? {
        // A copy may have it as text, which takes a fraction of the memory.
        Value::String(text) => FieldSet::from_json(text).ok(),
        fields => FieldSet::from_value(fields).ok(),
    }
}

#[cfg(test)]
mod tests;
