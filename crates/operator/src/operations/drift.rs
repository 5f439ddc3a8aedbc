//! Compares a spec with what the service returned, field by field: only fields that the spec sets are compared, and only
//! those that differ are sent.

use jiff::Timestamp;
use operations::{Drift, OWNER_TAG};
use oraclecloud::Kind;
use oraclecloud::kind::{Model, Shape};
use serde_json::{Map, Value, json};

use super::body::sent;
use super::observed::tag_value;

/// How `shown` differs from the spec of the object `owner`. What the service does not show is not compared; whether it was
/// sent is remembered.
pub(super) fn drift(kind: Kind, spec: &Value, owner: &str, shown: &Value) -> Drift {
    let (mut changes, mut fixed, mut moved) = (Map::new(), Vec::new(), None);
    for (name, value) in tags(spec, owner, shown) {
        if kind.spec.get(&name).is_some_and(|field| field.update) {
            changes.insert(name, value);
        } else {
            fixed.push(name);
        }
    }
    for (name, field) in kind.spec.iter() {
        let is_tags = matches!(name.as_str(), "freeformTags" | "definedTags");
        if is_tags || kind.is_place(name) || kind.is_wholly_unshown(name, field) {
            continue;
        }
        let Some(wanted) = spec.get(name).map(|value| sent(kind, &field.shape, value)) else { continue };
        let found = shown.get(name).filter(|value| !value.is_null());
        let is_same = match found {
            Some(found) => same(kind, &field.shape, &wanted, found),
            // What cannot change is compared only if it is shown; an empty value asks for nothing.
            None => !field.update || [json!(""), json!([]), json!({})].contains(&wanted),
        };
        if is_same {
            continue;
        }
        if name == "compartmentId" && kind.can_move() {
            moved = Some(json!({name: wanted}));
            continue;
        }
        match (field.update, &field.updated) {
            (false, _) => fixed.push(name.clone()),
            (true, Some(updated)) => {
                fixed.extend(not_taken(kind, name, (&field.shape, updated), &wanted, found));
                changes.insert(name.clone(), wanted);
            }
            (true, None) => _ = changes.insert(name.clone(), wanted),
        }
    }
    if !fixed.is_empty() {
        Drift::Immutable(fixed)
    } else if let Some(body) = moved {
        Drift::Move(body)
    } else if changes.is_empty() {
        Drift::None
    } else {
        Drift::Update(changes.into())
    }
}

/// The paths of what differs in an object and is not part of what an update takes of it.
fn not_taken(
    kind: Kind,
    path: &str,
    (shape, updated): (&Shape, &Shape),
    wanted: &Value,
    shown: Option<&Value>,
) -> Vec<String> {
    let models = shape.model().zip(updated.model()).and_then(|(a, b)| kind.model(a).zip(kind.model(b)));
    let (Some((model, taken)), Some(wanted), Some(shown)) = (models, wanted.as_object(), shown) else {
        return Vec::new();
    };
    let differing = wanted.iter().filter_map(|(name, wanted)| {
        let (field, shown) = (model.get(name)?, shown.get(name).filter(|shown| !shown.is_null())?);
        let path = format!("{path}.{name}");
        match taken.get(name) {
            _ if same(kind, &field.shape, wanted, shown) => None,
            None => Some(vec![path]),
            Some(updated) => {
                Some(not_taken(kind, &path, (&field.shape, &updated.shape), wanted, Some(shown)))
            }
        }
    });
    differing.flatten().collect()
}

/// Whether a service treats two values as the same, as it does 30 and 30.0. What an object does not show counts as equal.
fn same(kind: Kind, shape: &Shape, wanted: &Value, shown: &Value) -> bool {
    match (shape, wanted, shown) {
        (Shape::Secret, ..) => true,
        (Shape::List(of), Value::Array(wanted), Value::Array(shown)) => match discriminator(kind, of) {
            // Others may be there, too.
            Some(name) => wanted.iter().all(|wanted| {
                wanted.get(name).is_none() || shown.iter().any(|shown| same(kind, of, wanted, shown))
            }),
            None if matches!(**of, Shape::Model(_) | Shape::Map(_) | Shape::List(_)) => {
                wanted.len() == shown.len()
                    && wanted.iter().zip(shown).all(|(wanted, shown)| same(kind, of, wanted, shown))
            }
            None => {
                wanted.len() == shown.len()
                    && wanted.iter().all(|wanted| shown.iter().any(|shown| same(kind, of, wanted, shown)))
            }
        },
        (Shape::Map(of), Value::Object(wanted), Value::Object(shown)) => wanted
            .iter()
            .all(|(name, wanted)| shown.get(name).is_some_and(|shown| same(kind, of, wanted, shown))),
        (Shape::Model(name), Value::Object(wanted), shown) => {
            let Some(model) = kind.model(name) else { return Value::Object(wanted.clone()) == *shown };
            is_same_type(model, wanted, shown)
                && wanted.iter().all(|(name, wanted)| {
                    let is_type = model.discriminator.as_ref() == Some(name);
                    let shape = model.fields.get(name).map_or(&Shape::Any, |field| &field.shape);
                    let shown = shown.get(name).filter(|shown| !shown.is_null());
                    is_type || shown.is_none_or(|shown| same(kind, shape, wanted, shown))
                })
        }
        (Shape::Time, Value::String(wanted), Value::String(shown)) => {
            let time = |text: &str| text.parse::<Timestamp>().ok();
            wanted == shown || time(wanted).is_some() && time(wanted) == time(shown)
        }
        _ => match (wanted.as_f64(), shown.as_f64()) {
            (Some(wanted), Some(shown)) => wanted.total_cmp(&shown).is_eq(),
            _ => wanted == shown,
        },
    }
}

/// The field that says which of several types an object is.
fn discriminator(kind: Kind, shape: &Shape) -> Option<&'static str> {
    let Shape::Model(name) = shape else { return None };
    kind.model(name)?.discriminator.as_deref()
}

/// Whether two objects are of the same type; some services show no more of an object than the name of its type.
fn is_same_type(model: &Model, wanted: &Map<String, Value>, shown: &Value) -> bool {
    let Some(name) = &model.discriminator else { return shown.is_object() };
    let Some(wanted) = wanted.get(name).and_then(Value::as_str) else { return true };
    shown.get(name).unwrap_or(shown).as_str().is_some_and(|shown| shown.eq_ignore_ascii_case(wanted))
}

/// An update replaces all tags, so those that others have set are sent too; the owner tag is never removed.
///
/// A resource with another owner's tag gets ours. Whether it may be adopted is decided before.
fn tags(spec: &Value, owner: &str, shown: &Value) -> Map<String, Value> {
    let object = |value: &Value, name: &str| value.get(name).and_then(Value::as_object).cloned();
    let mut changes = Map::new();
    let before = object(shown, "freeformTags").unwrap_or_default();
    let mut merged = before.clone();
    let wanted = object(spec, "freeformTags").unwrap_or_default();
    merged.extend(wanted.into_iter().filter(|(key, _)| key != OWNER_TAG));
    if let Some(tag) = merged.get_mut(OWNER_TAG) {
        *tag = json!(owner);
    }
    if merged != before {
        changes.insert("freeformTags".to_owned(), merged.into());
    }
    let before = object(shown, "definedTags").unwrap_or_default();
    let mut merged = before.clone();
    for (namespace, tags) in object(spec, "definedTags").unwrap_or_default() {
        for (key, value) in tags.as_object().into_iter().flatten() {
            let Some(below) = slot(&mut merged, &namespace, json!({})).as_object_mut() else { continue };
            let tag = slot(below, key, Value::Null);
            if tag_value(tag).as_deref() != value.as_str() {
                tag.clone_from(value);
            }
        }
    }
    if merged != before {
        changes.insert("definedTags".to_owned(), merged.into());
    }
    changes
}

/// The entry under `name`. Namespaces and keys of defined tags are case-insensitive, and keep the service's spelling.
fn slot<'m>(map: &'m mut Map<String, Value>, name: &str, otherwise: Value) -> &'m mut Value {
    let known = map.keys().find(|known| known.eq_ignore_ascii_case(name)).cloned();
    map.entry(known.unwrap_or_else(|| name.to_owned())).or_insert(otherwise)
}
