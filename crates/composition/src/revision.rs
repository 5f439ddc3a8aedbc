//! Revisions of Compositions: when a new one is due, what it is called and what is in it.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::composition::Composition;
use crate::naming::hex;
use crate::object;
use crate::protocol::Object;

/// The label with the name of the Composition a revision is of.
pub const LABEL_COMPOSITION: &str = "crossplane.io/composition-name";
/// The label with the hash of the Composition a revision was made from.
pub const LABEL_HASH: &str = "crossplane.io/composition-hash";

/// What has to happen to the revisions of a Composition.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing: the newest one is as the Composition is.
    Nothing,
    /// An older one is as the Composition is: it gets this number, the highest, and is the newest again.
    Renumber {
        /// The revision's name.
        name: String,
        /// The number.
        number: i64,
    },
    /// This one has to be made.
    Create(Box<Object>),
}

/// Decides what has to happen, given the revisions that carry the Composition's name.
///
/// A revision is current if its hash is the Composition's or its content is: the hash depends
/// on how a Go library prints YAML, and content that is the same must not become a new revision when that changes.
pub fn next<'a>(composition: &Composition, revisions: impl IntoIterator<Item = &'a Composition>) -> Step {
    let uid = object::uid(&composition.object);
    let is_ours = |revision: &&Composition| match object::controller(&revision.object) {
        Some(controller) => Some(controller.uid.as_str()) == uid,
        // In a restored backup the owners' uids are lost; the label says which Composition it belongs to.
        None => true,
    };
    let ours: Vec<&Composition> = revisions.into_iter().filter(is_ours).collect();
    let newest = ours.iter().map(|revision| revision.spec.revision).max().unwrap_or(0);
    let label = label_hash(&composition.object);
    let is_current = |revision: &&&Composition| {
        object::label(&revision.object, LABEL_HASH) == Some(label.as_str())
            || same_content(&composition.object, &revision.object)
    };
    match ours.iter().filter(is_current).max_by_key(|revision| revision.spec.revision) {
        None => Step::Create(Box::new(new(&composition.object, newest + 1))),
        Some(current) if current.spec.revision == newest => Step::Nothing,
        Some(current) => Step::Renumber {
            name: object::name(&current.object).unwrap_or_default().to_owned(),
            number: newest + 1,
        },
    }
}

/// The names of revisions with the Composition's name but no owner, to be adopted.
pub fn unowned(revisions: &[Composition]) -> Vec<&str> {
    let orphans = revisions.iter().filter(|revision| object::controller(&revision.object).is_none());
    orphans.filter_map(|revision| object::name(&revision.object)).collect()
}

/// The first revision of a Composition that is only rendered, assumed to be valid.
pub(crate) fn rendered(composition: &Composition) -> Composition {
    let mut object = new(&composition.object, 1);
    let valid =
        json!([{"type": crate::function::VALID_PIPELINE, "status": "True", "reason": "ValidPipeline"}]);
    object.insert("status".to_owned(), json!({"conditions": valid}));
    let mut spec = composition.spec.clone();
    spec.revision = 1;
    Composition { object, spec }
}

fn new(composition: &Object, number: i64) -> Object {
    let name = object::name(composition).unwrap_or_default();
    let hash = hash(composition);
    let mut labels = json!({LABEL_COMPOSITION: name, LABEL_HASH: label_hash(composition)});
    for (key, value) in map(composition, "labels").into_iter().flatten() {
        labels[key] = value.clone();
    }
    let mut metadata = json!({
        "name": format!("{name}-{}", &hash[..7]),
        "labels": labels,
        "ownerReferences": [object::controller_reference(composition)],
    });
    if let Some(annotations) = map(composition, "annotations").filter(|annotations| !annotations.is_empty()) {
        metadata["annotations"] = annotations.clone().into();
    }
    let mut spec = spec(composition);
    spec.insert("revision".to_owned(), number.into());
    object::object(json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositionRevision",
        "metadata": metadata, "spec": spec,
    }))
}

/// A hash over labels, annotations and spec, the same as Crossplane's.
pub fn hash(composition: &Object) -> String {
    let mut sha = Sha256::new();
    for part in ["labels", "annotations"] {
        let value = map(composition, part).map_or(Value::Null, |part| Value::Object(part.clone()));
        sha.update(manifest::to_yaml(&value));
    }
    sha.update(manifest::to_yaml(&Value::Object(spec(composition))));
    hex(&sha.finalize())
}

/// The hash as far as it fits into a label.
fn label_hash(composition: &Object) -> String {
    let mut hash = hash(composition);
    hash.truncate(63);
    hash
}

/// Whether a revision holds just what the Composition does.
fn same_content(composition: &Object, revision: &Object) -> bool {
    let mut revised = spec(revision);
    revised.remove("revision");
    let mut labels = map(revision, "labels").cloned().unwrap_or_default();
    let wanted = map(composition, "labels").cloned().unwrap_or_default();
    labels.retain(|key, _| wanted.contains_key(key) || (key != LABEL_COMPOSITION && key != LABEL_HASH));
    let annotations = |object| map(object, "annotations").cloned().unwrap_or_default();
    revised == spec(composition) && labels == wanted && annotations(revision) == annotations(composition)
}

/// The spec as Crossplane's Go types hold it: without empty lists and maps.
fn spec(object: &Object) -> Object {
    let mut spec = object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    spec.retain(|_, value| !value.is_null());
    let steps = spec.get_mut("pipeline").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten().filter_map(Value::as_object_mut) {
        step.retain(|key, value| !(value.is_null() || key == "credentials" && is_empty(value)));
        if let Some(requirements) = step.get_mut("requirements").and_then(Value::as_object_mut) {
            requirements.retain(|_, value| !is_empty(value));
            let resources = requirements.get_mut("requiredResources").and_then(Value::as_array_mut);
            for resource in resources.into_iter().flatten().filter_map(Value::as_object_mut) {
                resource.retain(|key, value| !(value.is_null() || key == "matchLabels" && is_empty(value)));
            }
        }
    }
    spec
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}

fn map<'a>(object: &'a Object, key: &str) -> Option<&'a Object> {
    object::map(object, &["metadata", key])
}

#[cfg(test)]
mod tests;
