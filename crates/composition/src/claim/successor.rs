//! The namespaced XR that takes the place of a claim and its XR: what it is, what stands against it, and how composed resources
//! are handed over to it.
//!
//! A composed resource keeps its name and its key, and the new XR refers to it, so nothing is created anew. What changes is its
//! owner, the labels that name the XR and the claim, and the name of the manager that holds its fields.

use std::collections::BTreeMap;

use manifest::{GroupVersionKind, Namespace, ObjectRef};
use ownership::{Entry, FieldManager, Handover, Observed, Operation};
use serde_json::{Value, json};

use super::propagated;
use crate::composite::{Composite, Layout};
use crate::composition::Composition;
use crate::naming::{
    ANNOTATION_RESOURCE_NAME, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE, composed_manager,
};
use crate::object;
use crate::protocol::Object;

/// The annotation on an XR with the uid of the claim that it has replaced.
pub const ANNOTATION_REPLACES: &str = "plimsoll.dev/replaces-claim";
/// The annotation by which an engine leaves an object alone.
pub const ANNOTATION_PAUSED: &str = "crossplane.io/paused";

/// The fields of a claim that are for the engine.
const ENGINE_FIELDS: [&str; 9] = [
    "compositeDeletePolicy",
    "compositionRef",
    "compositionRevisionRef",
    "compositionRevisionSelector",
    "compositionSelector",
    "compositionUpdatePolicy",
    "publishConnectionDetailsTo",
    "resourceRef",
    "writeConnectionSecretToRef",
];

/// The XR that replaces `claim`, without what it is composed of.
pub fn successor(claim: &Object, kind: &GroupVersionKind, name: &str, composition: &str) -> Object {
    let mut spec = object::map(claim, &["spec"]).cloned().unwrap_or_default();
    let policy = spec.get("compositionUpdatePolicy").cloned();
    spec.retain(|key, _| !ENGINE_FIELDS.contains(&key.as_str()));
    let mut engine = json!({"compositionRef": {"name": composition}});
    if let Some(policy) = policy {
        engine["compositionUpdatePolicy"] = policy;
    }
    spec.insert("crossplane".to_owned(), engine);
    let mut annotations = propagated(claim, "annotations");
    annotations.remove(ANNOTATION_PAUSED);
    annotations.insert(ANNOTATION_REPLACES.to_owned(), object::uid(claim).unwrap_or_default().into());
    let mut metadata = json!({
        "name": name, "namespace": object::namespace(claim).unwrap_or_default(), "annotations": annotations,
    });
    let labels = propagated(claim, "labels");
    if !labels.is_empty() {
        metadata["labels"] = labels.into();
    }
    object::object(json!({
        "apiVersion": kind.api_version().to_string(), "kind": kind.kind(), "metadata": metadata, "spec": spec,
    }))
}

/// Why a composed resource cannot be handed over, or would be lost after it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    #[error("{0} is in no namespace, and a namespaced XR composes only in its own")]
    ClusterScoped(ObjectRef),
    #[error("{child} is not in namespace {namespace}, and a namespaced XR composes only in its own")]
    OtherNamespace { child: ObjectRef, namespace: Namespace },
    #[error("{0} does not exist. Wait until its XR is ready")]
    Missing(ObjectRef),
    #[error("{0} is being deleted. Wait until it is gone and its XR is ready")]
    Going(ObjectRef),
    #[error("{0} is not controlled by the XR of the claim")]
    NotControlled(ObjectRef),
    #[error("{0} has no annotation {ANNOTATION_RESOURCE_NAME}")]
    NoKey(ObjectRef),
    /// The keys of resources may be others, and what no key names is deleted.
    #[error("the pipelines of Composition {old} and Composition {new} differ at step {step:?}")]
    OtherPipeline { old: String, new: String, step: String },
}

/// What stands against handing over what `xr` is composed of. `composed` is what of it exists; some of it may be handed over to
/// `successor` already.
pub fn obstacles(
    xr: &Object,
    successor: Option<&Object>,
    namespace: &Namespace,
    composed: &BTreeMap<ObjectRef, Object>,
) -> Vec<Obstacle> {
    let is_owner = |child: &Object, owner: &Object| object::is_controlled_by(child, owner);
    let check = |reference: ObjectRef| {
        let child = match (&reference.namespace, composed.get(&reference)) {
            (None, _) => return Some(Obstacle::ClusterScoped(reference)),
            (Some(other), _) if other != namespace => {
                return Some(Obstacle::OtherNamespace { child: reference, namespace: namespace.clone() });
            }
            (_, None) => return Some(Obstacle::Missing(reference)),
            (_, Some(child)) => child,
        };
        if object::is_being_deleted(child) {
            Some(Obstacle::Going(reference))
        } else if !is_owner(child, xr) && !successor.is_some_and(|successor| is_owner(child, successor)) {
            Some(Obstacle::NotControlled(reference))
        } else {
            let has_key = object::annotation(child, ANNOTATION_RESOURCE_NAME).is_some();
            (!has_key).then_some(Obstacle::NoKey(reference))
        }
    };
    Composite::new(xr, Layout::Legacy).resource_refs().into_iter().filter_map(check).collect()
}

/// Whether two Compositions run the same pipeline, so that they compose resources of the same keys.
pub fn other_pipeline(old: &Composition, new: &Composition) -> Option<Obstacle> {
    let steps = |composition: &Composition| -> Vec<Value> {
        object::list(&composition.object, &["spec", "pipeline"]).cloned().collect()
    };
    let (ours, theirs) = (steps(old), steps(new));
    let length = ours.len().max(theirs.len());
    let differs = (0..length).find(|step| ours.get(*step) != theirs.get(*step))?;
    let step = theirs.get(differs).or_else(|| ours.get(differs))?;
    let name = |composition: &Composition| object::name(&composition.object).unwrap_or_default().to_owned();
    let step = step["step"].as_str().unwrap_or_default().to_owned();
    Some(Obstacle::OtherPipeline { old: name(old), new: name(new), step })
}

/// The JSON patch after which `to` controls `child` instead of `from`; none if it already does.
///
/// The API server refuses it if the object has changed since; read the object again then.
pub fn change_owner(child: &Object, from: &Object, to: &Object) -> Option<Value> {
    if object::is_controlled_by(child, to) || !object::is_controlled_by(child, from) {
        return None;
    }
    let mut owners: Vec<Value> = object::list(child, &["metadata", "ownerReferences"]).cloned().collect();
    for owner in owners.iter_mut().filter(|owner| owner["uid"].as_str() == object::uid(from)) {
        *owner = object::controller_reference(to);
    }
    let mut labels = object::map(child, &["metadata", "labels"]).cloned().unwrap_or_default();
    labels.retain(|key, _| key != LABEL_CLAIM_NAME && key != LABEL_CLAIM_NAMESPACE);
    labels.insert(LABEL_COMPOSITE.to_owned(), object::name(to).unwrap_or_default().into());
    Some(json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": object::resource_version(child)},
        {"op": "replace", "path": "/metadata/ownerReferences", "value": owners},
        {"op": "add", "path": "/metadata/labels", "value": labels},
    ]))
}

/// The JSON patch after which the manager of `to` holds what the manager of `from` applied and what `mover` has changed; none
/// if it already does. No value changes.
///
/// The API server refuses it if the object has changed since; read the object again then.
pub fn change_manager(child: &Object, from: &Object, to: &Object, mover: &str) -> Option<Value> {
    let live = Observed::new(Value::Object(child.clone())).ok()?;
    let manager = |xr: &Object| {
        let kind = GroupVersionKind::of(xr).ok()?;
        Some(FieldManager::new(composed_manager(object::name(xr)?, &kind)))
    };
    let (from, to, mover) = (manager(from)?, manager(to)?, FieldManager::new(mover));
    let part = |entry: &Entry| {
        let is_moved = entry.is_of(&from, Operation::Apply, "") || entry.is_of(&mover, Operation::Update, "");
        is_moved.then(|| entry.fields.clone())
    };
    Handover::of(&live).hand_over(&to, "", part).patch().map(Value::Array)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::object;

    fn claim() -> Object {
        object(json!({
            "apiVersion": "e.org/v1", "kind": "Web",
            "metadata": {
                "name": "shop", "namespace": "team", "uid": "claim",
                "labels": {"app": "shop", "app.kubernetes.io/name": "x"},
                "annotations": {
                    "kubectl.kubernetes.io/last-applied-configuration": "{}", "crossplane.io/paused": "true", "note": "n",
                },
            },
            "spec": {
                "image": "nginx", "compositionRef": {"name": "webs"}, "compositionUpdatePolicy": "Manual",
                "resourceRef": {"apiVersion": "e.org/v1", "kind": "XWeb", "name": "shop-abcde"},
                "writeConnectionSecretToRef": {"name": "conn"},
            },
        }))
    }

    fn xr(name: &str, namespace: Option<&str>, uid: &str) -> Object {
        let mut xr =
            json!({"apiVersion": "e.org/v1", "kind": "XWeb", "metadata": {"name": name, "uid": uid}});
        if let Some(namespace) = namespace {
            xr["kind"] = "WebApp".into();
            xr["metadata"]["namespace"] = namespace.into();
        }
        object(xr)
    }

    fn child(owner: &Object, labels: &Value, managed: &Value) -> Object {
        object(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"},
            "metadata": {
                "name": "shop-abcde-1", "namespace": "team", "resourceVersion": "7", "uid": "child", "labels": labels,
                "annotations": {"crossplane.io/composition-resource-name": "map"},
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "o"}, object::controller_reference(owner),
                ],
                "managedFields": managed,
            },
        }))
    }

    #[test]
    fn a_successor_has_what_the_user_wrote_and_no_field_of_the_engine() {
        let kind = "e.org/v2/WebApp".parse().unwrap();
        let made = successor(&claim(), &kind, "shop", "web-apps");
        let expected = json!({
            "apiVersion": "e.org/v2", "kind": "WebApp",
            "metadata": {
                "name": "shop", "namespace": "team", "labels": {"app": "shop"},
                "annotations": {"note": "n", "plimsoll.dev/replaces-claim": "claim"},
            },
            "spec": {
                "image": "nginx",
                "crossplane": {"compositionRef": {"name": "web-apps"}, "compositionUpdatePolicy": "Manual"},
            },
        });
        assert_eq!(Value::Object(made), expected);
    }

    #[test]
    fn what_a_namespaced_xr_could_not_compose_stands_against_it() {
        let mut old = xr("shop-abcde", None, "old");
        let reference = |namespace: Option<&str>, name: &str| {
            let mut reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name});
            if let Some(namespace) = namespace {
                reference["namespace"] = namespace.into();
            }
            reference
        };
        old.insert(
            "spec".to_owned(),
            json!({"resourceRefs": [
                reference(Some("team"), "fine"), reference(None, "bucket"), reference(Some("other"), "elsewhere"),
                reference(Some("team"), "gone"), reference(Some("team"), "foreign"), reference(Some("team"), "nameless"),
                reference(Some("team"), "going"),
            ]}),
        );
        let mut composed = BTreeMap::new();
        for (name, owner) in [("fine", "old"), ("foreign", "other"), ("nameless", "old"), ("going", "old")] {
            let mut child = child(&xr("shop-abcde", None, owner), &json!({}), &json!([]));
            child["metadata"]["name"] = name.into();
            match name {
                "nameless" => child["metadata"]["annotations"] = json!({}),
                "going" => child["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into(),
                _ => {}
            }
            composed.insert(ObjectRef::of(&child).unwrap(), child);
        }
        let (namespace, new) = (Namespace::new("team").unwrap(), xr("shop", Some("team"), "other"));
        let found = obstacles(&old, None, &namespace, &composed);
        let kinds: Vec<&str> = found
            .iter()
            .map(|found| match found {
                Obstacle::ClusterScoped(_) => "scope",
                Obstacle::OtherNamespace { .. } => "namespace",
                Obstacle::Missing(_) => "missing",
                Obstacle::NotControlled(_) => "foreign",
                Obstacle::NoKey(_) => "key",
                Obstacle::Going(_) => "going",
                Obstacle::OtherPipeline { .. } => "pipeline",
            })
            .collect();
        assert_eq!(kinds, ["scope", "namespace", "missing", "foreign", "key", "going"]);
        let resumed = obstacles(&old, Some(&new), &namespace, &composed);
        assert!(!resumed.iter().any(|found| matches!(found, Obstacle::NotControlled(_))), "{resumed:?}");
    }

    #[test]
    fn another_pipeline_is_found_at_its_first_step() {
        let composition = |name: &str, steps: &[(&str, &str)]| {
            let step =
                |(step, function): &(&str, &str)| json!({"step": step, "functionRef": {"name": function}});
            Composition::read(&object(json!({
                "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": name},
                "spec": {
                    "compositeTypeRef": {"apiVersion": "e/v1", "kind": "X"},
                    "pipeline": steps.iter().map(step).collect::<Vec<_>>(),
                },
            })))
            .unwrap()
        };
        let old = composition("old", &[("a", "f"), ("b", "g")]);
        let check = |steps: &[(&str, &str)], expected: Option<&str>| {
            let found = other_pipeline(&old, &composition("new", steps));
            let step = found.map(|found| match found {
                Obstacle::OtherPipeline { step, .. } => step,
                other => panic!("{other}"),
            });
            assert_eq!(step.as_deref(), expected);
        };
        check(&[("a", "f"), ("b", "g")], None);
        check(&[("a", "f"), ("b", "h")], Some("b"));
        check(&[("a", "f")], Some("b"));
        check(&[("a", "f"), ("b", "g"), ("c", "h")], Some("c"));
    }

    #[test]
    fn a_child_changes_its_owner_and_the_labels_that_name_it_once() {
        let (old, new) = (xr("shop-abcde", None, "old"), xr("shop", Some("team"), "new"));
        let labels = json!({
            "crossplane.io/composite": "shop-abcde", "crossplane.io/claim-name": "shop",
            "crossplane.io/claim-namespace": "team", "app": "web",
        });
        let before = child(&old, &labels, &json!([]));
        let patch = change_owner(&before, &old, &new).unwrap();
        assert_eq!(patch[0], json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"}));
        let owners = &patch[1]["value"];
        assert_eq!(
            (&owners[0]["uid"], &owners[1]["uid"], &owners[1]["kind"]),
            (&json!("o"), &json!("new"), &json!("WebApp"))
        );
        assert_eq!(patch[2]["value"], json!({"crossplane.io/composite": "shop", "app": "web"}));
        assert_eq!(change_owner(&child(&new, &labels, &json!([])), &old, &new), None, "it is done already");
        let other = xr("other", None, "other");
        assert_eq!(change_owner(&child(&other, &labels, &json!([])), &old, &new), None, "it is another's");
    }

    #[test]
    fn the_new_manager_holds_what_the_old_one_applied_and_the_mover_changed() {
        let (old, new) = (xr("shop-abcde", None, "old"), xr("shop", Some("team"), "new"));
        let manager =
            |xr: &Object| composed_manager(object::name(xr).unwrap(), &GroupVersionKind::of(xr).unwrap());
        let entry = |manager: &str, operation: &str, fields: Value| json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
        let label = json!({"f:metadata": {"f:labels": {"f:crossplane.io/composite": {}}}});
        let data = json!({"f:data": {"f:a": {}}});
        let person = entry("kubectl", "Update", json!({"f:data": {"f:b": {}}}));
        let managed = json!([entry(&manager(&old), "Apply", data), entry("mover", "Update", label), person]);
        let patch = change_manager(&child(&new, &json!({}), &managed), &old, &new, "mover").unwrap();
        let both =
            json!({"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:crossplane.io/composite": {}}}});
        assert_eq!(patch[1]["value"], json!([person, entry(&manager(&new), "Apply", both)]));
        let done = json!([entry(&manager(&new), "Apply", json!({"f:data": {"f:a": {}}}))]);
        assert_eq!(change_manager(&child(&new, &json!({}), &done), &old, &new, "mover"), None);
    }
}
