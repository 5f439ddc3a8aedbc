//! What about an object makes another pass worth while, and what does not.

use std::collections::BTreeMap;

use serde_json::Value;

use super::pass::FINALIZER;

/// Where all our annotations begin.
const PREFIX: &str = "plimsoll.dev/";

/// What people change about an object. What passes write, its status and its finalizer, is not part of it: a write of
/// ours must not make the next pass come early, or no pause would ever last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    uid: String,
    generation: Option<i64>,
    is_deleting: bool,
    annotations: BTreeMap<String, String>,
}

impl Fingerprint {
    pub(super) fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let annotations = metadata["annotations"].as_object().into_iter().flatten();
        Self {
            uid: metadata["uid"].as_str().unwrap_or_default().to_owned(),
            generation: metadata["generation"].as_i64(),
            is_deleting: metadata["deletionTimestamp"].is_string(),
            annotations: annotations
                .filter(|(name, _)| name.starts_with(PREFIX))
                .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
                .collect(),
        }
    }

    pub(super) fn uid(&self) -> &str {
        &self.uid
    }
}

/// What is kept of an object between passes: its names, and what its fingerprint is made of. A pass reads the object
/// anew, so that thousands of them take little room, and no pass begins with an old one.
pub(super) fn keep_identity(object: &mut Value) {
    const KEPT: &[&str] = &[
        "annotations",
        "deletionTimestamp",
        "finalizers",
        "generation",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
    ];
    let Some(fields) = object.as_object_mut() else { return };
    fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.retain(|name, _| KEPT.contains(&name.as_str()));
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| name.starts_with(PREFIX));
    }
}

/// Whether our finalizer is on the object.
pub(super) fn is_held(object: &Value) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    finalizers.into_iter().any(|finalizer| finalizer == FINALIZER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_people_change_is_news_and_what_passes_write_is_not() {
        let base = json!({
            "metadata": {
                "name": "orders", "uid": "u1", "generation": 1, "resourceVersion": "1",
                "annotations": {"plimsoll.dev/paused": "true", "other": "x"},
            },
            "spec": {"displayName": "orders"},
        });
        let check = |change: Value, is_news: bool| {
            let mut changed = base.clone();
            merge(&mut changed, &change);
            assert_eq!(Fingerprint::of(&changed) != Fingerprint::of(&base), is_news, "{change}");
            let (whole, held) = (Fingerprint::of(&changed), is_held(&changed));
            keep_identity(&mut changed);
            assert_eq!((Fingerprint::of(&changed), is_held(&changed)), (whole, held), "{change}");
            assert_eq!(changed.get("spec").or(changed.get("status")), None);
        };
        check(json!({"status": {"status": {"message": "m"}}, "metadata": {"resourceVersion": "2"}}), false);
        check(json!({"metadata": {"finalizers": [FINALIZER], "managedFields": []}}), false);
        check(json!({"metadata": {"annotations": {"other": "y"}, "labels": {"a": "b"}}}), false);
        check(json!({"metadata": {"generation": 2}}), true);
        check(json!({"metadata": {"uid": "u2"}}), true);
        check(json!({"metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z"}}), true);
        check(json!({"metadata": {"annotations": {"plimsoll.dev/paused": "false"}}}), true);
        check(json!({"metadata": {"annotations": {"plimsoll.dev/reconcile-requested-at": "now"}}}), true);
    }

    fn merge(target: &mut Value, change: &Value) {
        match (target, change) {
            (Value::Object(target), Value::Object(change)) => {
                for (name, value) in change {
                    merge(target.entry(name.clone()).or_insert(Value::Null), value);
                }
            }
            (target, change) => *target = change.clone(),
        }
    }
}
