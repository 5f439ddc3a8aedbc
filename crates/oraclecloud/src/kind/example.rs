//! Values that fit a field: for the emulator, whose responses have fields that no request sets, and for tests.

use serde_json::{Map, Value, json};

use super::{Field, Fields, Kind, Shape};

/// How deep an example of a nested object goes.
const DEPTH: usize = 6;

impl Kind {
    /// An object with all required fields.
    pub fn example(self, fields: &Fields) -> Map<String, Value> {
        self.required(fields, DEPTH)
    }

    /// A value of a field.
    pub fn example_of(self, field: &Field) -> Value {
        self.value(field, DEPTH)
    }

    fn required(self, fields: &Fields, depth: usize) -> Map<String, Value> {
        let required = fields.iter().filter(|(_, field)| field.required);
        required.map(|(name, field)| (name.clone(), self.value(field, depth))).collect()
    }

    fn value(self, field: &Field, depth: usize) -> Value {
        let least = field.accepts.map(|(least, _)| least).or(field.minimum);
        match (&field.default, least) {
            (Some(default), _) => default.clone(),
            (None, Some(least)) => json!(least),
            (None, None) => self.shaped(&field.shape, depth),
        }
    }

    fn shaped(self, shape: &Shape, depth: usize) -> Value {
        match shape {
            Shape::Text | Shape::Secret => json!("example"),
            Shape::Integer | Shape::Number => json!(1),
            Shape::Boolean => json!(false),
            Shape::Time => json!("2026-01-02T03:04:05Z"),
            Shape::Any | Shape::Map(_) => json!({}),
            Shape::List(_) => json!([]),
            Shape::OneOf(values) => json!(values.first()),
            Shape::Model(name) => {
                let Some(model) = self.model(name).filter(|_| depth > 0) else { return json!({}) };
                let mut body = self.required(&model.fields, depth - 1);
                if let (Some(name), Some(variant)) = (&model.discriminator, model.variants.first()) {
                    body.insert(name.clone(), json!(variant));
                }
                body.into()
            }
        }
    }
}
