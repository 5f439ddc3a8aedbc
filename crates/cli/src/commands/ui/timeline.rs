//! What has changed in a tree since a page looks: old → new for every field, with the managers that hold it now.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use manifest::{ObjectRef, secret, server_metadata};
use ownership::Observed;
use serde_json::{Value, json};

use crate::support::informer::uid;
use crate::support::mask_key::MASK_KEY;
use crate::support::object_json;
use crate::support::owner_tree::reference_of;

/// Older changes are forgotten.
const MOST_CHANGES: usize = 300;

pub(super) struct Timeline {
    pub(super) since: Timestamp,
    /// By uid; nothing before the first record.
    last: Option<HashMap<String, Arc<Value>>>,
    /// Newest first.
    changes: VecDeque<Value>,
}

impl Timeline {
    pub(super) fn new(since: Timestamp) -> Self {
        Self { since, last: None, changes: VecDeque::new() }
    }

    /// Compares the members of the tree with those of the last time.
    pub(super) fn record(&mut self, members: impl Iterator<Item = Arc<Value>>, now: Timestamp) {
        let members: HashMap<String, Arc<Value>> = members.map(|object| (uid(&object), object)).collect();
        let Some(last) = self.last.replace(members) else { return };
        let members = self.last.iter().flatten();
        let mut found: Vec<(u64, ObjectRef, Value)> = Vec::new();
        for (uid, object) in members {
            let change = match last.get(uid) {
                None => Some(json!({ "what": "appeared" })),
                Some(old) if old["metadata"]["resourceVersion"] == object["metadata"]["resourceVersion"] => {
                    None
                }
                Some(old) => changed(old, object),
            };
            found.extend(
                reference_of(object).zip(change).map(|(target, change)| (version(object), target, change)),
            );
        }
        let current = self.last.as_ref();
        let is_gone = |uid: &String| current.is_some_and(|current| !current.contains_key(uid));
        for (_, object) in last.iter().filter(|(uid, _)| is_gone(uid)) {
            let gone = json!({ "what": "disappeared" });
            found.extend(reference_of(object).map(|target| (version(object), target, gone)));
        }
        // What is seen at the same time was written in this order.
        found.sort_by(|(left, one, _), (right, other, _)| (left, one).cmp(&(right, other)));
        for (_, target, mut change) in found {
            change["time"] = now.to_string().into();
            self.changes.push_front(object_json(&target, change));
        }
        self.changes.truncate(MOST_CHANGES);
    }

    pub(super) fn to_json(&self) -> Value {
        self.changes.iter().cloned().collect()
    }
}

/// When an object was last written, as a number that grows.
fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"]
        .as_str()
        .and_then(|version| version.parse().ok())
        .unwrap_or_default()
}

/// The fields that differ; nothing if only bookkeeping of the API server does.
fn changed(old: &Value, new: &Value) -> Option<Value> {
    let shown = |object: &Value| {
        let mut object = secret::masked(object, &MASK_KEY);
        server_metadata::remove(object.get_mut("metadata"), server_metadata::CHANGED_BY_WRITES);
        object
    };
    let observed = Observed::new(new.clone()).ok()?;
    let fields: Vec<Value> = fields::diff(&shown(old), &shown(new), observed.schema())
        .into_iter()
        .map(|change| {
            let managers = observed.managed().holders(&change.path);
            json!({ "field": change.path.to_string(), "old": change.old, "new": change.new, "managers": managers })
        })
        .collect();
    (!fields.is_empty()).then(|| json!({ "what": "changed", "fields": fields }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(uid: &str, version: u32, value: &str) -> Arc<Value> {
        Arc::new(json!({
            "apiVersion": "v1", "kind": "Secret", "data": { "password": value },
            "metadata": { "name": uid, "namespace": "shop", "uid": uid, "resourceVersion": version.to_string(),
                "managedFields": [{ "manager": "kubectl-edit", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                    "fieldsV1": "{\"f:data\":{\"f:password\":{}}}" }] },
        }))
    }

    #[test]
    fn changes_have_both_values_and_the_manager_and_no_secrets() {
        let mut timeline = Timeline::new(Timestamp::UNIX_EPOCH);
        let mut record = |objects: Vec<Arc<Value>>| {
            timeline.record(objects.into_iter(), Timestamp::UNIX_EPOCH);
            timeline.to_json()
        };
        assert_eq!(record(vec![secret("a", 1, "b25l"), secret("b", 1, "eA==")]), json!([]), "the beginning");
        assert_eq!(
            record(vec![secret("a", 2, "b25l"), secret("b", 1, "eA==")]),
            json!([]),
            "the same content"
        );
        let changes = record(vec![secret("a", 3, "dHdv"), secret("c", 1, "eA==")]);
        let words: Vec<&str> =
            changes.as_array().unwrap().iter().filter_map(|it| it["what"].as_str()).collect();
        assert_eq!(words, ["changed", "appeared", "disappeared"]);
        let field = &changes[0]["fields"][0];
        assert_eq!(
            (&field["field"], &field["managers"]),
            (&json!("data.password"), &json!(["kubectl-edit"]))
        );
        for value in [&field["old"], &field["new"]] {
            assert!(value.as_str().unwrap().starts_with("(sensitive hmac:"), "{changes}");
        }
        assert_ne!(field["old"], field["new"]);
    }
}
