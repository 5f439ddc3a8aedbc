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

/// What a spec asks for in fields that the service does not show as they were sent; none for a kind without them. A secret
/// that cannot be changed stays what it was.
pub(super) fn unshown(kind: Kind, spec: &Value, secrets: &Secrets) -> Option<BTreeMap<String, Unshown>> {
    let is_tags = |name: &str| matches!(name, "freeformTags" | "definedTags");
    let fields: Vec<_> = kind
        .spec
        .iter()
        .filter(|(name, field)| !is_tags(name) && kind.is_unshown(name, field))
        .filter(|(_, field)| field.update || !kind.has_secret(&field.shape))
        .collect();
    let value = |name: &String, shape: &Shape| {
        let value = sent(kind, shape, spec.get(name).filter(|value| !is_empty(value))?);
        // Nothing is known of a password whose Secret is gone, so there is nothing to change.
        let (mut marked, is_complete) = secrets.mark(kind, &json!({name: value}));
        is_complete.then(|| marked[name].take())
    };
    (!fields.is_empty()).then(|| {
        let asked = fields.into_iter().filter_map(|(name, field)| {
            Some((name.clone(), Unshown { value: value(name, &field.shape)?, can_change: field.update }))
        });
        asked.collect()
    })
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
