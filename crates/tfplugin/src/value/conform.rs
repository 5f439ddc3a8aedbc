//! Fits a value to a type: fills in what a provider may omit, and reports what does not fit with its path.

use super::{Dynamic, Object, Set, Value, ValueError};
use crate::path::{Path, Step};
use crate::types::Type;

impl Value {
    /// Absent attributes become null, a list becomes a set where the type is one, and a dynamic value gets the type it
    /// implies.
    pub fn conform(self, ty: &Type) -> Result<Self, ValueError> {
        conform(self, ty, &mut Path::root())
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

fn conform(value: Value, ty: &Type, path: &mut Path) -> Result<Value, ValueError> {
    match (ty, value) {
        (Type::Dynamic, value) => conform_dynamic(value, path),
        (_, Value::Null) => Ok(Value::Null),
        (_, Value::Unknown(refinement)) => Ok(Value::Unknown(refinement)),
        (Type::Bool, value @ Value::Bool(_))
        | (Type::Number, value @ Value::Number(_))
        | (Type::String, value @ Value::String(_)) => Ok(value),
        (Type::List(element), Value::List(values)) => {
            conform_elements(values, std::iter::repeat(&**element), path).map(Value::List)
        }
        (Type::Tuple(elements), Value::List(values)) if elements.len() == values.len() => {
            conform_elements(values, elements.iter(), path).map(Value::List)
        }
        (Type::Set(element), Value::List(values)) => conform_set(values, element, path),
        (Type::Set(element), Value::Set(values)) => conform_set(values.into_iter().collect(), element, path),
        (Type::Map(element), Value::Object(object)) => {
            let mut entries = Object::new();
            for (key, value) in object {
                let value = path.within(Step::Key(key.clone()), |path| conform(value, element, path))?;
                entries.set(key, value);
            }
            Ok(Value::Object(entries))
        }
        (Type::Object(attributes), Value::Object(object)) => conform_object(object, attributes, path),
        (_, value) => Err(mismatch(path.clone(), &describe(ty), kind(&value))),
    }
}

fn conform_dynamic(value: Value, path: &mut Path) -> Result<Value, ValueError> {
    match Value::dynamic(value) {
        Value::Dynamic(dynamic) => {
            let Dynamic { ty, value } = *dynamic;
            let value = conform(value, &ty, path)?;
            Ok(Value::dynamic_of(ty, value))
        }
        null_or_unknown => Ok(null_or_unknown),
    }
}

fn conform_elements<'t>(
    values: Vec<Value>,
    types: impl Iterator<Item = &'t Type>,
    path: &mut Path,
) -> Result<Vec<Value>, ValueError> {
    let typed = values.into_iter().zip(types).enumerate();
    typed
        .map(|(index, (value, ty))| path.within(Step::Index(index), |path| conform(value, ty, path)))
        .collect()
}

fn conform_set(values: Vec<Value>, element: &Type, path: &mut Path) -> Result<Value, ValueError> {
    // Elements of a set have no address, so the path ends at the set.
    values.into_iter().map(|value| conform(value, element, path)).collect::<Result<Set, _>>().map(Value::Set)
}

fn conform_object(
    mut object: Object,
    attributes: &std::collections::BTreeMap<String, Type>,
    path: &mut Path,
) -> Result<Value, ValueError> {
    let mut complete = Object::new();
    for (name, ty) in attributes {
        let value = object.remove(name).unwrap_or_default();
        let value = path.within(Step::Attribute(name.clone()), |path| conform(value, ty, path))?;
        complete.set(name, value);
    }
    match object.into_iter().next() {
        None => Ok(Value::Object(complete)),
        Some((name, _)) => Err(mismatch(path.clone().attribute(name), "no such attribute", "one")),
    }
}

fn mismatch(path: Path, expected: &str, found: &str) -> ValueError {
    ValueError { path, problem: format!("expected {expected}, found {found}") }
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
