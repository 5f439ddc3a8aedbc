//! Paths as people read them in a manifest: `spec.template.spec.containers[0].image`.
//!
//! A position says nothing about an object that others change too, so it is only a way to print: code names list items
//! by key, and a [`Positions`] knows where these stand in the body that was written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use crate::items::Name;
use crate::{FieldPath, ListKind, PathElement, Schema, Shape};

#[cfg(test)]
mod tests;

/// Where the list items of one body stand.
#[derive(Debug, Default)]
pub struct Positions {
    places: BTreeMap<PathElement, Place>,
    /// The fields of names that leave merge-key fields out whose defaults are unknown.
    partial: BTreeSet<Vec<Arc<str>>>,
}

#[derive(Debug)]
struct Place {
    index: Option<usize>,
    below: Positions,
}

impl Positions {
    /// The positions in `body`.
    pub fn of(body: &Value, schema: &Schema) -> Self {
        Self::below(body, schema.root())
    }

    /// `path` with the position of each list item that the body has; others keep their key, as in
    /// `spec.containers[name=sidecar].image`. Dots in names are not escaped.
    pub fn print(&self, path: &FieldPath) -> String {
        let mut text = String::new();
        let mut here = Some(self);
        for element in path.elements() {
            let place = here.and_then(|positions| positions.place(element));
            match (element, place.and_then(|place| place.index)) {
                (PathElement::Field(name), _) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(name);
                }
                (_, Some(index)) => write!(text, "[{index}]").expect("a String takes everything"),
                (element, None) => write!(text, "{element}").expect("a String takes everything"),
            }
            here = place.map(|place| &place.below);
        }
        text
    }

    fn below(value: &Value, shape: Shape<'_>) -> Self {
        let mut places = BTreeMap::new();
        let mut partial = BTreeSet::new();
        match value {
            Value::Object(fields) => {
                for (name, child) in fields {
                    let below = Self::below(child, shape.field(name));
                    if !below.places.is_empty() {
                        places.insert(PathElement::field(name), Place { index: None, below });
                    }
                }
            }
            Value::Array(list) => {
                let kind = shape.list_kind();
                for (index, item) in list.iter().enumerate().filter(|_| kind != ListKind::Atomic) {
                    let place = || Place { index: Some(index), below: Self::below(item, shape.element()) };
                    let name = Name::of(item, index, kind);
                    let element = name.to_element();
                    match &element {
                        PathElement::Key(key) if name.is_partial() => drop(partial.insert(key.names())),
                        _ => {}
                    }
                    places.entry(element).or_insert_with(place);
                }
            }
            _ => {}
        }
        Self { places, partial }
    }

    fn place(&self, element: &PathElement) -> Option<&Place> {
        let guess = || {
            let PathElement::Key(key) = element else { return None };
            let parts = self.partial.iter().filter_map(|names| key.part(names).map(PathElement::Key));
            let found = parts.filter_map(|part| self.places.get_key_value(&part));
            found.min_by_key(|(name, _)| *name).map(|(_, place)| place)
        };
        self.places.get(element).or_else(guess)
    }
}
