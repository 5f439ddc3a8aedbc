//! Values that fit a field: for the emulator, whose responses have fields that no request sets, and for tests.

use serde_json::{Map, Value, json};

use super::{Field, Fields, JSON_DATA, Kind, Model, Shape};

/// How deep an example goes beyond what is required.
const DEPTH: usize = 3;

/// Which fields an example has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Required,
    Everything,
}

impl Kind {
    /// An object of a type, or of the first of several.
    pub fn example(self, model: &Model, variant: Option<&str>, extent: Extent) -> Map<String, Value> {
        self.object(model, variant, extent, DEPTH)
    }

    /// A value of a field.
    pub fn example_of(self, field: &Field) -> Value {
        self.value(field, Extent::Required, DEPTH)
    }

    fn object(
        self,
        model: &Model,
        variant: Option<&str>,
        extent: Extent,
        depth: usize,
    ) -> Map<String, Value> {
        let is_closed =
            |own: &&Fields| !own.values().any(|field| field.required && self.is_open(&field.shape));
        let variants = || model.variants.iter();
        let first = variants().find(|(_, own)| is_closed(own)).or_else(|| variants().next());
        let variant = variant.or_else(|| first.map(|(name, _)| name.as_str()));
        let fields = model.of_variant(variant);
        let extent = if depth == 0 { Extent::Required } else { extent };
        let depth = depth.saturating_sub(1);
        // `jsonData` is the client's own.
        let fields = fields.filter(|(name, _)| *name != JSON_DATA);
        let wanted = |field: &Field| extent == Extent::Everything && !self.is_open(&field.shape);
        let fields = fields.filter(|(_, field)| field.required || field.always || wanted(field));
        let value = |(name, field): (&String, &Field)| {
            // A create takes any text where a response knows what there is.
            let known = self.known_values(name).filter(|_| field.shape == Shape::Text);
            let known = known.and_then(|values| values.first()).map(|value| json!(value));
            (name.clone(), known.unwrap_or_else(|| self.value(field, extent, depth)))
        };
        let mut object: Map<String, Value> = fields.map(value).collect();
        if let (Some(name), Some(variant)) = (&model.discriminator, variant) {
            object.insert(name.clone(), json!(variant));
        }
        object
    }

    fn value(self, field: &Field, extent: Extent, depth: usize) -> Value {
        let least = field.accepts.map(|(least, _)| least).or(field.minimum);
        match (&field.default, least) {
            (Some(default), _) => default.clone(),
            (None, Some(least)) => json!(least),
            (None, None) => self.shaped(&field.shape, extent, depth),
        }
    }

    /// Whether a value needs something that can be anything, of which there is no example.
    fn is_open(self, shape: &Shape) -> bool {
        match shape.innermost() {
            Shape::Any => true,
            Shape::Model(name) => self.model(name).is_some_and(|model| {
                model.values().any(|field| field.required && self.is_open(&field.shape))
                    || !model.variants.is_empty()
                        && model
                            .variants
                            .values()
                            .all(|own| own.values().any(|field| field.required && self.is_open(&field.shape)))
            }),
            _ => false,
        }
    }

    /// A value of a shape; lists and maps have an entry.
    pub fn shaped(self, shape: &Shape, extent: Extent, depth: usize) -> Value {
        match shape {
            Shape::Text | Shape::Secret => json!("example"),
            Shape::Integer | Shape::Number => json!(1),
            Shape::Boolean => json!(false),
            Shape::Time => json!("2026-01-02T03:04:05Z"),
            Shape::Any => json!({}),
            Shape::Map(of) => json!({"example": self.shaped(of, extent, depth)}),
            Shape::List(of) => json!([self.shaped(of, extent, depth)]),
            Shape::OneOf(values) => json!(values.first()),
            Shape::Model(name) => self
                .model(name)
                .map_or_else(|| json!({}), |model| self.object(model, None, extent, depth).into()),
        }
    }
}
