//! What the API server knows about an object that the object itself does not show: how lists are keyed, what is held as
//! a whole, and which text is a quantity.
//!
//! Built-in kinds are in a table. Of custom kinds the metadata is known, and the rest is learned from the sets in their
//! managedFields, which name list elements by the keys the server uses.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::items::Name;
use crate::{FieldSet, ListKey, PathElement};
use table::Definition;

#[cfg(test)]
mod arbitrary;
mod table;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use arbitrary::built_in_object;

/// What is known about objects of one kind.
#[derive(Clone, Debug)]
pub struct Schema {
    root: &'static Definition,
    learned: Learned,
}

impl Schema {
    /// What is known about objects of this kind, such as `apps/v1` `Deployment`.
    pub fn of_kind(api_version: &str, kind: &str) -> Self {
        Self { root: table::definition_of(api_version, kind), learned: Learned::default() }
    }

    /// What is known about `object` by its `apiVersion` and `kind`.
    pub fn of(object: &Value) -> Self {
        let text = |name| object.get(name).and_then(Value::as_str).unwrap_or_default();
        Self::of_kind(text("apiVersion"), text("kind"))
    }

    /// Learns from a set the server made how lists are keyed, where the table does not say.
    #[must_use]
    pub fn learning_from(mut self, set: &FieldSet) -> Self {
        self.learned.learn(set);
        self
    }

    /// What is known about the object as a whole.
    pub fn root(&self) -> Shape<'_> {
        Shape { definition: self.root, learned: Some(&self.learned) }
    }
}

/// What is known about the values at one place of an object.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'s> {
    definition: &'static Definition,
    learned: Option<&'s Learned>,
}

/// How the elements of a list are told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ListKind<'s> {
    /// Not at all: the list is held as a whole.
    Atomic,
    /// By their value, in any order.
    Set,
    /// By some of their fields, sorted by name; the items are in any order.
    Keyed(&'s [KeyField]),
}

/// A field that is part of a list's merge key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyField {
    /// Its name.
    pub name: Arc<str>,
    /// The value an element has that does not say.
    pub default: Option<Value>,
}

impl KeyField {
    /// Adds the fields of `key` that `fields` lacks.
    pub(crate) fn note(fields: &mut Vec<Self>, key: &ListKey) {
        for (name, _) in key.fields() {
            if let Err(position) = fields.binary_search_by(|known| (*known.name).cmp(name)) {
                fields.insert(position, Self { name: name.into(), default: None });
            }
        }
    }
}

impl<'s> Shape<'s> {
    /// What is known about the field `name`, or about the value at a map's key `name`.
    #[must_use]
    pub fn field(self, name: &str) -> Self {
        let definition = match self.definition.resolve() {
            Definition::Atomic(inner) | Definition::Granular(inner) => {
                return Self { definition: inner, ..self }.field(name);
            }
            Definition::Object { fields, .. } => fields.get(name).unwrap_or(&Definition::Plain),
            Definition::Map(element) => element,
            _ => &Definition::Plain,
        };
        Self { definition, learned: self.learned.and_then(|learned| learned.fields.get(name)) }
    }

    /// What is known about the elements of the list here.
    #[must_use]
    pub fn element(self) -> Self {
        let definition = match self.definition.resolve() {
            Definition::List(element) | Definition::Set(element) | Definition::Keyed { element, .. } => {
                element
            }
            _ => &Definition::Plain,
        };
        Self { definition, learned: self.learned.and_then(|learned| learned.element.as_deref()) }
    }

    /// What is known one step further down.
    #[must_use]
    pub fn step(self, element: &PathElement) -> Self {
        match element {
            PathElement::Field(name) => self.field(name),
            PathElement::Key(_) | PathElement::Value(_) | PathElement::Index(_) => self.element(),
        }
    }

    /// How the elements of a list here are told apart.
    pub fn list_kind(self) -> ListKind<'s> {
        match self.definition.resolve() {
            Definition::Set(_) => ListKind::Set,
            Definition::Keyed { keys, .. } => ListKind::Keyed(keys),
            Definition::Plain => self.learned.map_or(ListKind::Atomic, Learned::list_kind),
            _ => ListKind::Atomic,
        }
    }

    /// The path element of `item`, at `index` of a list here.
    pub fn item(self, index: usize, item: &Value) -> PathElement {
        Name::of(item, index, self.list_kind()).to_element()
    }

    /// Whether an object here is held as a whole.
    pub fn is_atomic(self) -> bool {
        match self.definition.resolve() {
            Definition::Object { atomic, .. } => *atomic,
            Definition::Atomic(_) => true,
            _ => false,
        }
    }

    /// Whether an object here is a map, whose keys are data rather than fields of a type.
    pub fn is_map(self) -> bool {
        match self.definition.resolve() {
            Definition::Atomic(inner) | Definition::Granular(inner) => {
                Self { definition: inner, ..self }.is_map()
            }
            Definition::Map(_) => true,
            _ => false,
        }
    }

    /// Whether text and numbers here are quantities, such as `500m` and `1Gi`.
    pub fn is_quantity(self) -> bool {
        matches!(self.definition, Definition::Quantity)
    }

    /// Whether an integer and its digits as text mean the same here.
    pub fn is_int_or_string(self) -> bool {
        matches!(self.definition, Definition::IntOrString)
    }
}

/// What sets have shown of one place, all elements of a list taken together.
#[derive(Clone, Debug, Default)]
struct Learned {
    fields: BTreeMap<Arc<str>, Learned>,
    element: Option<Box<Learned>>,
    keys: Vec<KeyField>,
    has_set_values: bool,
}

impl Learned {
    fn learn(&mut self, set: &FieldSet) {
        for entry in set.entries() {
            let place = match &entry.element {
                // Only lists teach something, so what ends here is not worth a place.
                PathElement::Field(_) if entry.below.is_empty() => continue,
                PathElement::Field(name) => self.fields.entry(Arc::clone(name)).or_default(),
                PathElement::Key(key) => {
                    KeyField::note(&mut self.keys, key);
                    self.element.get_or_insert_default()
                }
                PathElement::Value(_) => {
                    self.has_set_values = true;
                    self.element.get_or_insert_default()
                }
                PathElement::Index(_) => self.element.get_or_insert_default(),
            };
            place.learn(&entry.below);
        }
    }

    fn list_kind(&self) -> ListKind<'_> {
        if !self.keys.is_empty() {
            ListKind::Keyed(&self.keys)
        } else if self.has_set_values {
            ListKind::Set
        } else {
            ListKind::Atomic
        }
    }
}
