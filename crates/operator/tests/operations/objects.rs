//! Objects of any described kind, as a user writes them.

use oraclecloud::Kind;
use oraclecloud::kind::{Extent, Model, Shape};
use serde_json::{Map, Value, json};

/// The Secret that holds the passwords of these objects.
pub(crate) const LOGIN: &str = "login";

/// An object of a kind with what it requires, under this name at the cloud too.
pub(crate) fn object(kind: Kind, name: &str, compartment: &str) -> Value {
    let model = &kind.description().spec;
    let mut spec = kind.example(model, None, Extent::Required);
    for field in &kind.scope[0] {
        spec.entry(field.clone()).or_insert_with(|| json!("example"));
    }
    for (field, value) in [("compartmentId", compartment), (&kind.name_field, name)] {
        if model.contains_key(field) {
            spec.insert(field.to_owned(), json!(value));
        }
    }
    for group in &kind.exclusive {
        group.iter().skip(1).for_each(|name| _ = spec.remove(name));
    }
    hide(kind, model, &mut spec);
    for (field, described) in model.iter().filter(|(_, field)| field.shape == Shape::Secret && field.update) {
        if model.variants_with(field).next().is_none() && !described.late {
            spec.insert(field.clone(), in_secret());
        }
    }
    json!({
        "apiVersion": format!("{}/v1beta1", kind.group()), "kind": kind.name, "metadata": {"name": name},
        "spec": spec,
    })
}

fn in_secret() -> Value {
    json!({"secret": {"secretName": LOGIN}})
}

/// Replaces texts that belong in a Secret by its name.
fn hide(kind: Kind, model: &Model, object: &mut Map<String, Value>) {
    for (name, field) in model.iter() {
        match (&field.shape, object.get_mut(name)) {
            (Shape::Secret, Some(value)) => *value = in_secret(),
            (Shape::Model(below), Some(Value::Object(value))) => {
                hide(kind, kind.model(below).unwrap(), value);
            }
            _ => {}
        }
    }
}
