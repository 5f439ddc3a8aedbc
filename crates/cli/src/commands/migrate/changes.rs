//! What a migration changes, object by object, by the same decisions that the operator makes.

use std::collections::BTreeMap;

use composition::composition::Composition;
use composition::naming::composed_manager;
use composition::object;
use composition::protocol::Object;
use composition::revision::{self, LABEL_COMPOSITION, Step};
use composition::takeover;
use manifest::ObjectRef;
use serde_json::Value;

use super::inventory::{Inventory, Offer};

/// What becomes of the objects that XRs are composed of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Composed {
    /// Held by server-side apply, and not written to.
    pub(super) untouched: usize,
    /// Written by updates of an earlier Crossplane: their managedFields change, their values do not.
    pub(super) handed_over: Vec<ObjectRef>,
    /// Referred to, but not there. Any engine creates them again.
    pub(super) missing: Vec<ObjectRef>,
}

pub(super) fn composed(inventory: &Inventory) -> Composed {
    let mut composed = Composed::default();
    for offer in &inventory.offers {
        let Ok(definition) = &offer.definition else { continue };
        for (xr, reference) in offer.references() {
            let manager = composed_manager(object::name(xr).unwrap_or_default(), &definition.composite);
            match inventory.composed.get(&reference) {
                None => composed.missing.push(reference),
                Some(object) if takeover::has_applied(object, &manager) => composed.untouched += 1,
                Some(_) => composed.handed_over.push(reference),
            }
        }
    }
    composed
}

/// Compositions that get another revision, with its name.
pub(super) fn revisions(inventory: &Inventory) -> Vec<(String, String)> {
    let mut changes = Vec::new();
    for composition in inventory.compositions.iter().filter_map(|it| Composition::read(it).ok()) {
        let name = object::name(&composition.object).unwrap_or_default().to_owned();
        let is_own = |it: &&Object| object::label(it, LABEL_COMPOSITION) == Some(&name);
        let own = inventory.revisions.iter().filter(is_own);
        let own: Vec<Composition> = own.filter_map(|it| Composition::read_revision(it).ok()).collect();
        match revision::next(&composition, &own) {
            Step::Nothing => {}
            Step::Renumber { name: revision, .. } => changes.push((name, revision)),
            Step::Create(new) => {
                changes.push((name, object::name(&new).unwrap_or_default().to_owned()));
            }
        }
    }
    changes
}

/// The CRDs whose schema changes, with the fields.
pub(super) fn schemas(offer: &Offer) -> Vec<(String, Vec<String>)> {
    let changed = offer.crds.iter().filter_map(|(before, after)| {
        let (before_versions, mut fields) = (by_name(before), Vec::new());
        for (version, after) in by_name(after) {
            let before = before_versions.get(version).copied().unwrap_or(&Value::Null);
            compare(before, after, "", &mut fields);
        }
        fields.dedup();
        (!fields.is_empty()).then(|| (object::name(after).unwrap_or_default().to_owned(), fields))
    });
    changed.collect()
}

/// The schemas of a CRD by version.
fn by_name(crd: &Object) -> BTreeMap<&str, &Value> {
    let versions = object::list(crd, &["spec", "versions"]);
    versions
        .filter_map(|version| Some((version["name"].as_str()?, version.pointer("/schema/openAPIV3Schema")?)))
        .collect()
}

/// Names the fields at which two schemas differ: the highest, where one of them lacks a field.
fn compare(before: &Value, after: &Value, path: &str, fields: &mut Vec<String>) {
    let below = |schema: &Value| schema["properties"].as_object().cloned().unwrap_or_default();
    let own = |schema: &Value| {
        let mut own = schema.as_object().cloned().unwrap_or_default();
        // Descriptions change nothing.
        own.retain(|key, _| key != "properties" && key != "description");
        own
    };
    if own(before) != own(after) {
        fields.push(if path.is_empty() { "the whole object".to_owned() } else { path.to_owned() });
        return;
    }
    let (before, after) = (below(before), below(after));
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    for name in names {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match (before.get(name), after.get(name)) {
            (Some(before), Some(after)) => compare(before, after, &path, fields),
            _ => fields.push(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use composition::definition::Definition;
    use serde_json::json;

    use super::*;

    fn offer(xrs: Vec<Object>) -> Offer {
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        let xrd = object::from_value(json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
            "metadata": {"name": "xs.e.org", "uid": "u"},
            "spec": {
                "group": "e.org", "names": {"kind": "X", "plural": "xs"},
                "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": schema}],
            },
        }));
        let definition = Definition::read(&xrd).map(|(definition, _)| definition);
        assert!(definition.is_ok(), "{definition:?}");
        Offer { name: "xs.e.org".to_owned(), definition, xrs, claims: Vec::new(), crds: Vec::new() }
    }

    #[test]
    fn what_was_applied_is_untouched_and_what_was_updated_is_handed_over() {
        let reference =
            |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "n", "name": name});
        let xr = object::from_value(json!({
            "apiVersion": "e.org/v1", "kind": "X", "metadata": {"name": "x"},
            "spec": {"resourceRefs": [reference("applied"), reference("updated"), reference("gone")]},
        }));
        let manager = composed_manager("x", &"e.org/v1/X".parse().unwrap());
        let map = |name: &str, manager: &str, operation: &str| {
            let entry = json!({
                "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {"f:a": {}}},
            });
            let map = object::from_value(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"},
                "metadata": {"name": name, "namespace": "n", "managedFields": [entry]},
            }));
            (ObjectRef::of(&map).unwrap(), map)
        };
        let inventory = Inventory {
            offers: vec![offer(vec![xr])],
            composed: [map("applied", &manager, "Apply"), map("updated", "crossplane", "Update")].into(),
            ..Inventory::default()
        };
        let found = composed(&inventory);
        assert_eq!(found.untouched, 1);
        assert_eq!(found.handed_over[0].name, "updated");
        assert_eq!(found.missing[0].name, "gone");
    }

    #[test]
    fn a_composition_gets_a_revision_only_if_none_has_its_content() {
        let of = json!({"apiVersion": "e.org/v1", "kind": "X"});
        let pipeline = json!([{"step": "s", "functionRef": {"name": "f"}}]);
        let composition = object::from_value(json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
            "metadata": {"name": "c", "uid": "u"},
            "spec": {"compositeTypeRef": of, "mode": "Pipeline", "pipeline": pipeline},
        }));
        let read = Composition::read(&composition).unwrap();
        let Step::Create(revision) = revision::next(&read, &[]) else { panic!("there is none yet") };
        let check = |revisions: Vec<Object>, expected: usize| {
            let inventory =
                Inventory { compositions: vec![composition.clone()], revisions, ..Inventory::default() };
            assert_eq!(super::revisions(&inventory).len(), expected);
        };
        check(vec![*revision], 0);
        check(Vec::new(), 1);
    }

    #[test]
    fn a_schema_changes_at_the_highest_field_that_differs() {
        let check = |before: Value, after: Value, expected: &[&str]| {
            let crd = |schema: Value| {
                object::from_value(json!({
                    "metadata": {"name": "xs.e.org"},
                    "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]},
                }))
            };
            let offer = Offer { crds: vec![(crd(before), crd(after))], ..offer(Vec::new()) };
            let fields: Vec<String> = schemas(&offer).into_iter().flat_map(|(_, fields)| fields).collect();
            assert_eq!(fields, expected);
        };
        let status = |fields: Value| json!({"type": "object", "properties": {"status": {"type": "object", "properties": fields}}});
        check(
            status(json!({"a": {"type": "string"}})),
            status(json!({"a": {"type": "string", "description": "x"}})),
            &[],
        );
        check(status(json!({})), status(json!({"crossplane": {"type": "object"}})), &["status.crossplane"]);
        check(
            status(json!({"a": {"type": "string"}})),
            status(json!({"a": {"type": "integer"}})),
            &["status.a"],
        );
        check(json!({"type": "object"}), status(json!({})), &["status"]);
    }
}
