//! Fits a value to a type: fills in what a provider may omit, and reports what does not fit with its path.

use super::{Dynamic, Object, Set, Value, ValueError};
use crate::path::Step;
use crate::types::Type;

impl Value {
    /// Absent attributes become null, a list becomes a set where the type is one, and a dynamic value gets the type it
    /// implies.
    pub fn conform(self, ty: &Type) -> Result<Self, ValueError> {
        conform(self, ty)
    }
}

impl Object {
    /// See [`Value::conform`].
    pub(crate) fn conform(self, ty: &Type) -> Result<Self, ValueError> {
        match Value::Object(self).conform(ty)? {
            Value::Object(object) => Ok(object),
            other => unreachable!("an object conforms to an object, not to {other:?}"),
        }
    }
}

fn conform(value: Value, ty: &Type) -> Result<Value, ValueError> {
    match (ty, value) {
        (Type::Dynamic, value) => conform_dynamic(value),
        (_, Value::Null) => Ok(Value::Null),
        (_, Value::Unknown(refinement)) => Ok(Value::Unknown(refinement)),
        (Type::Bool, value @ Value::Bool(_))
        | (Type::Number, value @ Value::Number(_))
        | (Type::String, value @ Value::String(_)) => Ok(value),
        (Type::List(element), Value::List(values)) => {
            conform_elements(values, std::iter::repeat(&**element)).map(Value::List)
        }
        (Type::Tuple(elements), Value::List(values)) if elements.len() == values.len() => {
            conform_elements(values, elements.iter()).map(Value::List)
        }
        (Type::Set(element), Value::List(values)) => conform_set(values, element),
        (Type::Set(element), Value::Set(values)) => conform_set(values.into_iter().collect(), element),
        (Type::Map(element), Value::Object(mut entries)) => {
            for (key, value) in entries.iter_mut() {
                let conformed = conform(std::mem::take(value), element);
                *value = conformed.map_err(|error| error.below(Step::Key(key.to_owned())))?;
            }
            Ok(Value::Object(entries))
        }
        (Type::Object(attributes), Value::Object(object)) => conform_object(object, attributes),
        (_, value) => Err(mismatch(&describe(ty), kind(&value))),
    }
}

fn conform_dynamic(value: Value) -> Result<Value, ValueError> {
    match Value::dynamic(value) {
        Value::Dynamic(dynamic) => {
            let Dynamic { ty, value } = *dynamic;
            let value = conform(value, &ty)?;
            Ok(Value::dynamic_of(ty, value))
        }
        null_or_unknown => Ok(null_or_unknown),
    }
}

fn conform_elements<'t>(
    values: Vec<Value>,
    types: impl Iterator<Item = &'t Type>,
) -> Result<Vec<Value>, ValueError> {
    let typed = values.into_iter().zip(types).enumerate();
    typed
        .map(|(index, (value, ty))| conform(value, ty).map_err(|error| error.below(Step::Index(index))))
        .collect()
}

fn conform_set(values: Vec<Value>, element: &Type) -> Result<Value, ValueError> {
    // Elements of a set have no address, so the path ends at the set.
    values.into_iter().map(|value| conform(value, element)).collect::<Result<Set, _>>().map(Value::Set)
}

fn conform_object(
    mut object: Object,
    attributes: &std::collections::BTreeMap<String, Type>,
) -> Result<Value, ValueError> {
    for (name, ty) in attributes {
        let value = match object.take(name) {
            Some(value) => conform(value, ty).map_err(|error| error.below(Step::Attribute(name.clone())))?,
            None => Value::Null,
        };
        object.set_known(name, value);
    }
    if object.len() == attributes.len() {
        return Ok(Value::Object(object));
    }
    let unknown = object.into_iter().find(|(name, _)| !attributes.contains_key(name));
    let name = unknown.map(|(name, _)| name).unwrap_or_default();
    Err(mismatch("no such attribute", "one").below(Step::Attribute(name)))
}

fn mismatch(expected: &str, found: &str) -> ValueError {
    ValueError::new(format!("expected {expected}, found {found}"))
}

fn describe(ty: &Type) -> String {
    match ty {
        Type::Bool => "a bool".to_owned(),
        Type::Number => "a number".to_owned(),
        Type::String => "a string".to_owned(),
        Type::Dynamic => "any value".to_owned(),
        Type::List(_) => "a list".to_owned(),
        Type::Set(_) => "a set".to_owned(),
        Type::Map(_) => "a map".to_owned(),
        Type::Tuple(elements) => format!("a tuple of {}", elements.len()),
        Type::Object(_) => "an object".to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Unknown(_) => "an unknown value",
        Value::Bool(_) => "a bool",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::List(_) => "a list",
        Value::Set(_) => "a set",
        Value::Object(_) => "a map or an object",
        Value::Dynamic(_) => "a dynamic value",
    }
}
