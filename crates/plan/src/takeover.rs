//! What a plan shows of a take-over from `kubectl apply`, which takes two writes: one of managedFields, and the apply.
//!
//! A dry run cannot make the second write on top of the first. So the plan asks for a forced apply, removes what the
//! apply would drop once it holds it, and asks again for that object: defaults and webhooks are part of the second answer.

use fields::FieldSet;
use manifest::server_metadata;
use ownership::{Desired, Observed, client_side_appliers, dropped_by_takeover};
use serde_json::{Map, Value, json};

/// The fields of metadata that a user decides.
const OWN_METADATA: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// The JSON patch whose dry run yields the object as the apply leaves it; `answer` is that of a forced dry run.
pub fn takeover_patch(desired: &Desired<'_>, live: &Observed, answer: &Observed) -> Vec<Value> {
    let schema = answer.schema();
    let dropped =
        dropped_by_takeover(live, answer, &fields::written(desired.written, schema), desired.manager);
    let everything: FieldSet = fields::written(answer.object(), schema).leaves();
    let after = fields::project(answer.object(), &everything.difference(&dropped), schema);
    let version = &live.object()["metadata"]["resourceVersion"];
    let mut patch = vec![json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version })];
    let is_sent = |name: &&String| !["apiVersion", "kind", "metadata", "status"].contains(&name.as_str());
    let empty = Map::new();
    let fields_of = |value: &'_ Value| value.as_object().cloned().unwrap_or_else(|| empty.clone());
    let (before, now) = (fields_of(live.object()), fields_of(&after));
    let names: std::collections::BTreeSet<&String> =
        before.keys().chain(now.keys()).filter(is_sent).collect();
    for name in names {
        patch.extend(operation(
            &format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            before.get(name),
            now.get(name),
        ));
    }
    for name in OWN_METADATA {
        let path = format!("/metadata/{name}");
        patch.extend(operation(&path, before["metadata"].get(name), now["metadata"].get(name)));
    }
    patch
}

fn operation(path: &str, before: Option<&Value>, now: Option<&Value>) -> Option<Value> {
    match (before, now) {
        (before, now) if before == now => None,
        (_, Some(now)) => Some(json!({ "op": "add", "path": path, "value": now })),
        (_, None) => Some(json!({ "op": "remove", "path": path })),
    }
}

/// The object after the take-over: the values of `patched`, the answer to that patch, held as after the apply.
pub fn after_takeover(live: &Observed, answer: &Observed, mut patched: Value) -> Value {
    let appliers = client_side_appliers(live);
    let listed = answer.object()["metadata"]["managedFields"].as_array().into_iter().flatten();
    let stays = |entry: &&Value| {
        let manager = entry["manager"].as_str().unwrap_or_default();
        let is_applier = appliers.iter().any(|applier| applier.as_str() == manager);
        !(is_applier && entry["operation"] == "Update" && entry["subresource"].is_null())
    };
    let entries: Vec<Value> = listed.filter(stays).cloned().collect();
    server_metadata::remove(patched.get_mut("metadata"), server_metadata::OWNERSHIP);
    patched["metadata"]["managedFields"] = entries.into();
    patched
}
