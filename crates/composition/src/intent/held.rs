//! What managedFields say about an apply that nobody remembers.

use fields::{Schema, equal, identity, project, written};
use ownership::{Entry, FieldManager, ManagedFields, Operation};
use serde_json::Value;

use crate::run::Object;

/// Whether `live` is what applying `intent` as `manager` would leave: the manager holds exactly the fields of the intent,
/// and their values are the intent's.
///
/// Of custom kinds little is known beyond what managedFields themselves show. What cannot be told counts as a difference,
/// which costs an apply that changes nothing.
pub(super) fn is_as_asked(intent: &Object, live: &Object, manager: &str) -> bool {
    let (intent, live) = (Value::Object(intent.clone()), Value::Object(live.clone()));
    let manager = FieldManager::new(manager);
    let Ok(managed) = ManagedFields::of(&live) else { return false };
    let is_last_apply = |entry: &&Entry| {
        entry.is_of(&manager, Operation::Apply, "") && intent["apiVersion"] == *entry.api_version
    };
    let Some(Entry { fields: held, .. }) = managed.entries().iter().find(is_last_apply) else { return false };
    let schema = Schema::of(&intent).learning_from(held);
    written(&intent, &schema).difference(&identity()) == *held
        && equal(&project(&live, held, &schema), &project(&intent, held, &schema), schema.root())
}

#[cfg(test)]
mod tests;
