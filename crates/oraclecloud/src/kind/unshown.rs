//! What no response shows of what was sent: whole fields, such as passwords, and parts of objects that the models of responses
//! lack. Whether such a part differs can only be known from what was sent.

use serde_json::{Value, json};

use super::{Field, JSON_DATA, Kind, Model, Shape};

/// A part of a field that no response shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    /// Where it is in the spec: `containers[0].imageUrl`.
    pub path: String,
    pub value: Value,
    /// Whether an update can change it.
    pub can_change: bool,
}

/// How a part of a field is shown, and what an update takes of it.
#[derive(Clone, Copy)]
struct Sides<'a> {
    shown: Option<&'a Shape>,
    taken: Option<&'a Shape>,
}

impl Kind {
    /// Whether a response does not show a field of the spec, or a part of it, as it was sent.
    pub fn is_unshown(self, name: &str, field: &Field) -> bool {
        !self.is_place(name) && self.hides(&field.shape, self.shown(name, field))
    }

    /// Whether a response has nothing that a field of the spec can be compared with.
    pub fn is_wholly_unshown(self, name: &str, field: &Field) -> bool {
        is_hidden(&field.shape, self.shown(name, field))
    }

    /// The parts of a field's value that no response shows. What is empty asks for nothing.
    pub fn unshown_parts(self, name: &str, field: &Field, value: &Value) -> Vec<Hidden> {
        let taken = field.update.then(|| field.updated.as_ref().unwrap_or(&field.shape));
        let mut parts = Vec::new();
        self.collect(name, &field.shape, Sides { shown: self.shown(name, field), taken }, value, &mut parts);
        parts
    }

    fn shown(self, name: &str, field: &Field) -> Option<&'static Shape> {
        let shown = self.description.status.get(name).filter(|_| !field.unread)?;
        Some(&shown.shape)
    }

    fn hides(self, shape: &Shape, shown: Option<&Shape>) -> bool {
        match (shape, shown) {
            _ if is_hidden(shape, shown) => true,
            (Shape::List(of), Some(Shape::List(shown))) | (Shape::Map(of), Some(Shape::Map(shown))) => {
                self.hides(of, Some(shown))
            }
            (Shape::Model(sent), Some(Shape::Model(shown))) => {
                let (Some(sent), Some(shown)) = (self.model(sent), self.model(shown)) else { return false };
                let hides_of = |variant: Option<&str>| {
                    let mut fields = sent.of_variant(variant).filter(|(name, _)| *name != JSON_DATA);
                    fields.any(|(name, field)| self.hides(&field.shape, shape_in(shown, variant, name)))
                };
                if sent.variants.is_empty() {
                    hides_of(None)
                } else {
                    sent.variants.keys().any(|variant| hides_of(Some(variant)))
                }
            }
            _ => false,
        }
    }

    fn collect(self, path: &str, shape: &Shape, sides: Sides<'_>, value: &Value, parts: &mut Vec<Hidden>) {
        if [json!(null), json!(""), json!([]), json!({})].contains(value) {
            return;
        }
        let is_hidden = is_hidden(shape, sides.shown);
        let is_taken_in_part = sides.taken.is_some_and(|taken| taken.model() != shape.model());
        if is_hidden && !is_taken_in_part {
            let can_change = sides.taken.is_some();
            return parts.push(Hidden { path: path.to_owned(), value: value.clone(), can_change });
        }
        let below = |of: fn(&Shape) -> Option<&Shape>| Sides {
            shown: sides.shown.filter(|_| !is_hidden).and_then(of),
            taken: sides.taken.and_then(of),
        };
        match (shape, value) {
            (Shape::List(of), Value::Array(entries)) => {
                for (index, entry) in entries.iter().enumerate() {
                    self.collect(&format!("{path}[{index}]"), of, below(entry_of), entry, parts);
                }
            }
            (Shape::Map(of), Value::Object(entries)) => {
                for (key, entry) in entries {
                    self.collect(&format!("{path}.{key}"), of, below(entry_of), entry, parts);
                }
            }
            (Shape::Model(name), Value::Object(fields)) => {
                let Some(model) = self.model(name) else { return };
                let variant = model.variant(fields);
                for (name, value) in fields {
                    let Some(field) = model.get(name) else { continue };
                    let side = |shape: Option<&Shape>| {
                        shape.and_then(|shape| match shape {
                            Shape::Model(model) => shape_in(self.model(model)?, variant, name),
                            Shape::Any => Some(&Shape::Any),
                            _ => None,
                        })
                    };
                    let shown = side(sides.shown.filter(|_| !is_hidden));
                    let sides = Sides { shown, taken: side(sides.taken) };
                    self.collect(&format!("{path}.{name}"), &field.shape, sides, value, parts);
                }
            }
            _ => {}
        }
    }
}

/// What the entries of a list or a map are.
fn entry_of(shape: &Shape) -> Option<&Shape> {
    match shape {
        Shape::List(of) | Shape::Map(of) => Some(of),
        Shape::Any => Some(&Shape::Any),
        _ => None,
    }
}

/// The shape of a field in an object of a type.
fn shape_in(model: &'static Model, variant: Option<&str>, name: &str) -> Option<&'static Shape> {
    model.of_variant(variant).find(|(it, _)| *it == name).map(|(_, field)| &field.shape)
}

/// Whether nothing of a value is shown as it was sent.
fn is_hidden(shape: &Shape, shown: Option<&Shape>) -> bool {
    let Some(shown) = shown else { return true };
    match (shape, shown) {
        (Shape::Secret, _) | (_, Shape::Secret) => true,
        (Shape::Any, _) | (_, Shape::Any) | (Shape::Model(_), Shape::Model(_)) => false,
        (Shape::List(of), Shape::List(shown)) | (Shape::Map(of), Shape::Map(shown)) => {
            is_hidden(of, Some(shown))
        }
        (shape, shown) => is_made_of_others(shape) || is_made_of_others(shown),
    }
}

const fn is_made_of_others(shape: &Shape) -> bool {
    matches!(shape, Shape::List(_) | Shape::Map(_) | Shape::Model(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Embedded;

    #[test]
    fn what_the_models_of_responses_lack_is_hidden_with_its_path() {
        let check = |kind: &str, name: &str, value: Value, expected: &[(&str, bool)]| {
            let kind = Embedded::kind(kind).unwrap();
            let field = &kind.description().spec[name];
            let parts = kind.unshown_parts(name, field, &value);
            let found: Vec<_> = parts.iter().map(|it| (it.path.as_str(), it.can_change)).collect();
            assert_eq!(found, expected, "{kind:?} {name}");
            assert!(kind.is_unshown(name, field) || expected.is_empty(), "{kind:?} {name}");
        };
        let containers = json!([
            {"displayName": "web", "imageUrl": "web:1", "environmentVariables": {"A": "b"}},
            {"displayName": "log", "imageUrl": "log:1", "environmentVariables": {}},
        ]);
        check(
            "containerinstances/ContainerInstance",
            "containers",
            containers,
            &[
                ("containers[0].environmentVariables", false),
                ("containers[0].imageUrl", false),
                ("containers[1].imageUrl", false),
            ],
        );
        check("containerinstances/ContainerInstance", "displayName", json!("web"), &[]);
        let login = json!({"secret": {"secretName": "login"}});
        check("database/AutonomousDatabase", "adminPassword", login, &[("adminPassword", true)]);
        let capabilities = json!([{"type": "CONSUMER_GROUPS", "primaryConsumerGroupFilter": "x"}]);
        check("queue/Queue", "capabilities", capabilities, &[]);
    }

    #[test]
    fn what_is_hidden_in_a_value_is_hidden_in_its_field() {
        use crate::kind::Extent;
        for kind in Embedded::all().iter().flat_map(|embedded| embedded.read().kinds()) {
            let spec = kind.example(&kind.description().spec, None, Extent::Everything);
            for (name, value) in &spec {
                let Some(field) = kind.description().spec.get(name) else { continue };
                let parts = kind.unshown_parts(name, field, value);
                let is_known = parts.is_empty() || kind.is_place(name) || kind.is_unshown(name, field);
                assert!(is_known, "{kind:?} {name}: {parts:?}");
                if kind.is_wholly_unshown(name, field) && field.updated.is_none() {
                    let whole = parts.iter().all(|part| part.path == *name);
                    assert!(whole && field.update == parts.iter().any(|it| it.can_change), "{kind:?} {name}");
                }
            }
        }
    }
}
