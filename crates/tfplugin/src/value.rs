//! Terraform's values: known, null or unknown.

mod conform;
mod number;
mod object;
mod refinement;
mod set;

use std::collections::BTreeMap;
use std::fmt;

pub(crate) use number::WireNumber;
pub use number::{Number, NumberError};
pub use object::Object;
pub use refinement::{Bound, Refinement};
pub use set::Set;

use crate::path::{Path, Step};
use crate::types::Type;

/// Why a value does not fit its type, or cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", path.or_root())]
pub struct ValueError {
    pub path: Path,
    /// Never quotes the value, which may be secret.
    pub problem: String,
}

impl ValueError {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self { path: Path::root(), problem: problem.into() }
    }

    /// The same problem one step further down: paths are built only where something is wrong.
    #[must_use]
    pub(crate) fn below(mut self, step: Step) -> Self {
        self.path.push_front(step);
        self
    }
}

/// A value without its type: only the schema tells a map from an object and a list from a tuple. [`Value::Dynamic`] alone
/// carries a type, because there the schema has none.
///
/// `Debug` shows the structure and no content, because any value may be secret.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    #[default]
    Null,
    /// Known only after the apply.
    Unknown(Box<Refinement>),
    Bool(bool),
    Number(Number),
    String(String),
    /// A list or a tuple.
    List(Vec<Value>),
    Set(Set),
    /// A map or an object.
    Object(Object),
    /// A value with its own type, where the schema allows any.
    Dynamic(Box<Dynamic>),
}

/// The value may be null or unknown *of its type*.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dynamic {
    pub ty: Type,
    pub value: Value,
}

impl Value {
    pub fn unknown() -> Self {
        Self::Unknown(Box::default())
    }

    pub fn unknown_with(refinement: Refinement) -> Self {
        Self::Unknown(Box::new(refinement))
    }

    pub fn set(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::Set(elements.into_iter().collect())
    }

    /// A value for a dynamic attribute, of the type a literal would have: an object, a tuple. Null and unknown stay
    /// untyped.
    pub fn dynamic(value: Self) -> Self {
        match value {
            Self::Null | Self::Dynamic(_) => value,
            Self::Unknown(_) => Self::unknown(),
            _ => Self::Dynamic(Box::new(Dynamic { ty: value.implied_type(), value })),
        }
    }

    pub fn dynamic_of(ty: Type, value: Self) -> Self {
        Self::Dynamic(Box::new(Dynamic { ty, value }))
    }

    /// The type of the value as a literal in a configuration; a null has none of its own.
    fn implied_type(&self) -> Type {
        match self {
            Self::Null | Self::Unknown(_) | Self::Dynamic(_) => Type::Dynamic,
            Self::Bool(_) => Type::Bool,
            Self::Number(_) => Type::Number,
            Self::String(_) => Type::String,
            Self::List(elements) => Type::Tuple(elements.iter().map(Self::implied_type).collect()),
            // The elements of a set have one type; that of an empty set is open.
            Self::Set(elements) => {
                Type::set(elements.iter().next().map_or(Type::Dynamic, Self::implied_type))
            }
            Self::Object(object) => {
                Type::object(object.iter().map(|(name, value)| (name, value.implied_type())))
            }
        }
    }

    /// Also true for a dynamic null of some type.
    pub fn is_null(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Dynamic(dynamic) => dynamic.value.is_null(),
            _ => false,
        }
    }

    /// Whether the value itself is unknown; see [`Value::is_wholly_known`] for its elements.
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Unknown(_) => true,
            Self::Dynamic(dynamic) => dynamic.value.is_unknown(),
            _ => false,
        }
    }

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

    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

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

    /// Changes an object; any other value stays as it is.
    pub(crate) fn map_object(self, change: impl FnOnce(Object) -> Object) -> Self {
        if let Self::Object(object) = self { change(object).into() } else { self }
    }

    /// The elements of a list, tuple, map or object, each with the step that leads to it and its type.
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

macro_rules! from {
    ($($variant:ident($ty:ty)),*) => {
        $(impl From<$ty> for Value {
            fn from(value: $ty) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

from!(Bool(bool), Number(i64), Number(Number), String(&str), String(String), Object(Object));

/// `None` is null.
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
