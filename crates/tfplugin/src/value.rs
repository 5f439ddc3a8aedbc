//! Terraform's values: known, null, or not known yet, whatever their type.

mod conform;
mod number;
mod object;
mod refinement;
mod set;

use std::collections::BTreeMap;
use std::fmt;

pub use conform::ConformError;
pub(crate) use number::Wire;
pub use number::{Number, NumberError};
pub use object::Object;
pub use refinement::{Bound, Refinement};
pub use set::Set;

use crate::path::{Path, Step};
use crate::types::Type;

/// A value of some type.
///
/// A value knows its shape, not its type: whether named values are a map or an object, and values in a row a list or a
/// tuple, is for the schema to say. Only [`Value::Dynamic`] carries a type, because there the schema says nothing.
///
/// `Debug` shows the shape and no text, as any value may be a secret.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// Not set.
    #[default]
    Null,
    /// Known only after the apply.
    Unknown(Box<Refinement>),
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    String(String),
    /// The elements of a list or a tuple.
    List(Vec<Value>),
    /// The elements of a set.
    Set(Set),
    /// The entries of a map or the attributes of an object.
    Object(Object),
    /// A value where the schema allows any, with its type.
    Dynamic(Box<Dynamic>),
}

/// A value with its own type; it may be null or unknown *of that type*.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dynamic {
    /// The type the value has.
    pub ty: Type,
    /// The value.
    pub value: Value,
}

impl Value {
    /// Known only after the apply, and nothing else is known about it.
    pub fn unknown() -> Self {
        Self::Unknown(Box::default())
    }

    /// Known only after the apply, except for what the refinement says.
    pub fn unknown_with(refinement: Refinement) -> Self {
        Self::Unknown(Box::new(refinement))
    }

    /// A set of these elements.
    pub fn set(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::Set(elements.into_iter().collect())
    }

    /// A value for a dynamic attribute: named values become an object, values in a row a tuple.
    ///
    /// Null stays an untyped null, and unknown an unknown of any type.
    pub fn dynamic(value: Self) -> Self {
        match value {
            Self::Null | Self::Dynamic(_) => value,
            Self::Unknown(_) => Self::unknown(),
            _ => Self::Dynamic(Box::new(Dynamic { ty: value.implied_type(), value })),
        }
    }

    /// A value for a dynamic attribute, of a given type.
    pub fn dynamic_of(ty: Type, value: Self) -> Self {
        Self::Dynamic(Box::new(Dynamic { ty, value }))
    }

    /// The type a value would have as a literal in a configuration; a null has none of its own.
    fn implied_type(&self) -> Type {
        match self {
            Self::Null | Self::Unknown(_) | Self::Dynamic(_) => Type::Dynamic,
            Self::Bool(_) => Type::Bool,
            Self::Number(_) => Type::Number,
            Self::String(_) => Type::String,
            Self::List(elements) => Type::Tuple(elements.iter().map(Self::implied_type).collect()),
            // The elements of a set have one type; a set of nothing known has any.
            Self::Set(elements) => {
                Type::set(elements.iter().next().map_or(Type::Dynamic, Self::implied_type))
            }
            Self::Object(object) => {
                Type::object(object.iter().map(|(name, value)| (name, value.implied_type())))
            }
        }
    }

    /// Whether the value is not set; a dynamic null of some type is not set either.
    pub fn is_null(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Dynamic(dynamic) => dynamic.value.is_null(),
            _ => false,
        }
    }

    /// Whether the value itself is not known yet; its elements may be unknown all the same.
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Unknown(_) => true,
            Self::Dynamic(dynamic) => dynamic.value.is_unknown(),
            _ => false,
        }
    }

    /// Whether nothing in the value is unknown.
    pub fn is_wholly_known(&self) -> bool {
        match self {
            Self::Unknown(_) => false,
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => true,
            Self::List(elements) => elements.iter().all(Self::is_wholly_known),
            Self::Set(elements) => elements.iter().all(Self::is_wholly_known),
            Self::Object(object) => object.iter().all(|(_, value)| value.is_wholly_known()),
            Self::Dynamic(dynamic) => dynamic.value.is_wholly_known(),
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// True or false, if it is one of them.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// The number, if it is an integer of 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The elements of a list, tuple or set.
    pub fn as_elements(&self) -> Option<&[Self]> {
        match self {
            Self::List(elements) => Some(elements),
            Self::Set(elements) => Some(elements),
            _ => None,
        }
    }

    /// The entries of a map or the attributes of an object.
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// What stands at `path`; `None` if the way there is null, unknown or leads nowhere.
    pub fn at(&self, path: &Path) -> Option<&Self> {
        path.steps().iter().try_fold(self, |value, step| value.step(step))
    }

    /// The elements of a list, tuple, map or object of type `ty`, each with the step that leads to it and its type.
    pub(crate) fn children<'v>(&'v self, ty: &'v Type) -> Vec<(Step, &'v Self, &'v Type)> {
        let index = |(index, (value, ty))| (Step::Index(index), value, ty);
        match (self, ty) {
            (Self::List(values), Type::List(element)) => {
                values.iter().zip(std::iter::repeat(&**element)).enumerate().map(index).collect()
            }
            (Self::List(values), Type::Tuple(types)) => {
                values.iter().zip(types).enumerate().map(index).collect()
            }
            (Self::Object(entries), Type::Map(element)) => {
                entries.iter().map(|(key, value)| (Step::Key(key.to_owned()), value, &**element)).collect()
            }
            (Self::Object(object), Type::Object(types)) => {
                let typed = object.iter().filter_map(|(name, value)| Some((name, value, types.get(name)?)));
                typed.map(|(name, value, ty)| (Step::Attribute(name.to_owned()), value, ty)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The value one step on.
    pub(crate) fn step(&self, step: &Step) -> Option<&Self> {
        match (self, step) {
            (Self::Object(object), Step::Attribute(name) | Step::Key(name)) => object.find(name),
            (Self::List(elements), Step::Index(index)) => elements.get(*index),
            (Self::Dynamic(dynamic), step) => dynamic.value.step(step),
            _ => None,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Unknown(_) => f.write_str("unknown"),
            Self::Bool(_) => f.write_str("bool"),
            Self::Number(_) => f.write_str("number"),
            Self::String(text) => write!(f, "string({} bytes)", text.len()),
            Self::List(elements) => f.debug_list().entries(elements).finish(),
            Self::Set(elements) => f.debug_set().entries(elements.iter()).finish(),
            Self::Object(object) => object.fmt(f),
            Self::Dynamic(dynamic) => write!(f, "dynamic({:?})", dynamic.value),
        }
    }
}

impl fmt::Debug for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.ty, self.value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value)
    }
}

impl From<Object> for Value {
    fn from(value: Object) -> Self {
        Self::Object(value)
    }
}

/// Absent is null.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<BTreeMap<String, T>> for Value {
    fn from(values: BTreeMap<String, T>) -> Self {
        Self::Object(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests;
