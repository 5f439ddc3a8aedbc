//! Random objects of every built-in kind, made from the table alone.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::table::{self, Definition};

/// An object with some of the fields that the table knows of its kind.
pub(crate) fn built_in_object() -> impl Strategy<Value = Value> {
    (select(table::kinds()), any::<u64>()).prop_map(|((api_version, kind), seed)| {
        let mut object = value_of(table::definition_of(api_version, kind), 9, &mut Dice(seed));
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object
    })
}

fn value_of(definition: &'static Definition, depth: u32, dice: &mut Dice) -> Value {
    match definition.resolve() {
        // It may be of any type, and text is the most likely one.
        Definition::Plain => json!("text"),
        Definition::Quantity => json!("1"),
        Definition::IntOrString => json!(1),
        Definition::Object { fields, .. } => {
            let mut names: Vec<_> = fields.iter().filter(|(name, _)| **name != "status").collect();
            names.sort_by_key(|(name, _)| **name);
            names
                .into_iter()
                .filter_map(|(name, field)| {
                    let is_chosen = depth > 0 && dice.roll(3) == 0;
                    is_chosen.then(|| ((*name).to_owned(), value_of(field, depth - 1, dice)))
                })
                .collect()
        }
        // Whether a plain element is text or an object is not known.
        Definition::List(element) if matches!(**element, Definition::Plain) => json!([]),
        Definition::List(element) => json!([value_of(element, depth.saturating_sub(1), dice)]),
        Definition::Set(_) => json!(["b", "a"]),
        Definition::Keyed { element, .. } => match value_of(element, depth.saturating_sub(1), dice) {
            Value::Object(item) => json!([item]),
            _ => json!([Map::new()]),
        },
        Definition::Map(element) => {
            json!({"key.with/dots": value_of(element, depth.saturating_sub(1), dice)})
        }
        Definition::Atomic(inner) | Definition::Granular(inner) => match value_of(inner, depth, dice) {
            Value::String(_) => json!({}),
            other => other,
        },
        Definition::Named(_) => unreachable!("a resolved definition is not a name"),
    }
}

/// A generator that is good enough to choose fields, and small.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}
