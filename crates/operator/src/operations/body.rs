//! What is sent for a spec.

use std::collections::BTreeMap;

use operations::{OWNER_TAG, Unshown};
use oraclecloud::Kind;
use oraclecloud::kind::{JSON_DATA, Part, Shape};
use serde_json::{Map, Value, json};

use super::secrets::Secrets;

/// The body of a create: the spec without what is empty, with the owner's tag.
pub(super) fn create_body(kind: Kind, spec: &Value, owner: &str) -> Value {
    let mut body = Map::new();
    for (name, field) in kind.spec.iter().filter(|(name, field)| !field.late && !kind.is_place(name)) {
        let value = spec.get(name).map(|value| sent(kind, &field.shape, value));
        // A type that goes without saying is said nevertheless: the service reads the other fields by it.
        let implied = || field.default.clone().filter(|_| kind.spec.discriminator.as_ref() == Some(name));
        if let Some(value) = value.or_else(implied).filter(|value| field.required || !is_empty(value)) {
            body.insert(name.clone(), value);
        }
    }
    if kind.takes_tags() {
        let mut tags = spec.get("freeformTags").and_then(Value::as_object).cloned().unwrap_or_default();
        tags.insert(OWNER_TAG.to_owned(), json!(owner));
        body.insert("freeformTags".to_owned(), tags.into());
    }
    body.into()
}

/// The body of an update that changes these fields: with what every update needs, and without what none takes.
pub(super) fn update_body(kind: Kind, spec: &Value, changes: &Value) -> Value {
    let mut body = changes.as_object().cloned().unwrap_or_default();
    let is_move = kind.change_compartment.is_some() && body.keys().eq(["compartmentId"]);
    for (name, field) in kind.spec.iter().filter(|_| !is_move) {
        if let (Some(updated), Some(value)) = (&field.updated, body.get_mut(name)) {
            *value = reduced(kind, updated, value);
        } else if field.always
            && let Some(value) = spec.get(name)
        {
            body.entry(name.clone()).or_insert_with(|| sent(kind, &field.shape, value));
        }
    }
    body.into()
}

/// What a spec asks for where the service does not show it as it was sent: by field what an update can change, and by path
/// what cannot be changed; none for a kind that shows everything.
pub(super) fn unshown(kind: Kind, spec: &Value, secrets: &Secrets) -> Option<BTreeMap<String, Unshown>> {
    let is_tags = |name: &str| matches!(name, "freeformTags" | "definedTags");
    let fields: Vec<_> =
        kind.spec.iter().filter(|(name, field)| !is_tags(name) && kind.is_unshown(name, field)).collect();
    if fields.is_empty() {
        return None;
    }
    let mut asked = BTreeMap::new();
    for (name, field) in fields {
        let Some(value) = spec.get(name).filter(|value| !is_empty(value)) else { continue };
        let value = sent(kind, &field.shape, value);
        // A secret that cannot be changed is the one that the spec names: its Secret may get other values.
        let fixed = kind.unshown_parts(name, field, &value).into_iter().filter(|part| !part.can_change);
        asked.extend(fixed.map(|part| (part.path, Unshown::fixed(part.value))));
        let plain = value.clone();
        let (mut marked, is_complete) = secrets.mark(kind, &json!({name: value}));
        let change = marked[name].take();
        let parts = kind.unshown_parts(name, field, &change).into_iter().filter(|part| part.can_change);
        let value = match parts.collect::<Vec<_>>().as_slice() {
            [] => continue,
            [whole] if whole.path == *name => whole.value.clone(),
            parts => parts.iter().map(|part| (part.path.clone(), part.value.clone())).collect(),
        };
        let is_missing = !is_complete;
        let reference = (is_missing || change != plain).then_some(plain);
        asked.insert(name.clone(), Unshown { value, change: Some(change), reference, is_missing });
    }
    Some(asked)
}

fn is_empty(value: &Value) -> bool {
    *value == json!("") || *value == json!([]) || *value == json!({})
}

/// A value without the fields that a shape does not have.
fn reduced(kind: Kind, shape: &Shape, value: &Value) -> Value {
    kind.rebuild(shape, value, &mut |part, shape, value| {
        (!matches!(part, Part::Field(_, None))).then(|| reduced(kind, shape, value))
    })
}

/// What is sent for a value of a spec. An object of several types is the object in its `jsonData`, if there is one,
/// overlaid with its other fields.
pub(super) fn sent(kind: Kind, shape: &Shape, value: &Value) -> Value {
    let mut value = kind.rebuild(shape, value, &mut |_, shape, value| Some(sent(kind, shape, value)));
    let model = if let Shape::Model(name) = shape { kind.model(name) } else { None };
    let (Some(fields), Some(_)) =
        (value.as_object_mut(), model.and_then(|model| model.discriminator.as_ref()))
    else {
        return value;
    };
    let written = fields.get(JSON_DATA).and_then(Value::as_str).unwrap_or_default();
    let given = if written.trim().is_empty() { Some(Map::new()) } else { serde_json::from_str(written).ok() };
    if let Some(given) = given {
        fields.remove(JSON_DATA);
        for (name, value) in given {
            fields.entry(name).or_insert(value);
        }
    }
    value
}
