//! Schemas: the attributes of a provider, resource or data source, with their validation, planning and documentation.

mod attribute;
mod wire;

use crate::path::{Path, Step};
use crate::types::Type;
use crate::value::{Object, Value};

pub use attribute::{Attribute, Kind, Presence, Validator};

/// There are no blocks: the nested attributes of protocol 6 replace them.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Incremented by changes that require a state upgrade.
    pub version: i64,
    /// Markdown.
    pub description: String,
    /// In the order of the documentation.
    pub attributes: Vec<Attribute>,
}

impl Schema {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn version(mut self, version: i64) -> Self {
        self.version = version;
        self
    }

    /// Markdown.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    #[must_use]
    pub fn attribute(mut self, attribute: Attribute) -> Self {
        self.attributes.push(attribute);
        self
    }

    /// Always an object.
    pub fn ty(&self) -> Type {
        attribute::object_type(&self.attributes)
    }

    /// The part of a state that a configuration can set: neither computed, nor deprecated, nor an optional empty text.
    pub fn configurable(&self, state: Object) -> Object {
        configurable(&self.attributes, state)
    }

    /// The attribute at `path`, which may lead through elements.
    pub fn find(&self, path: &Path) -> Option<&Attribute> {
        let mut attributes = &self.attributes;
        let mut found = None;
        for step in path.steps() {
            match step {
                Step::Attribute(name) => {
                    let attribute = attributes.iter().find(|attribute| attribute.name == *name)?;
                    if let Kind::Nested(nested) = &attribute.kind {
                        attributes = nested;
                    }
                    found = Some(attribute);
                }
                Step::Key(_) | Step::Index(_) => {}
            }
        }
        found
    }
}

fn configurable(attributes: &[Attribute], mut state: Object) -> Object {
    for attribute in attributes {
        state.change(&attribute.name, |value| {
            let is_dropped = attribute.is_computed()
                || attribute.deprecation.is_some()
                || (attribute.presence != Presence::Required && value.as_str() == Some(""));
            match &attribute.kind {
                _ if is_dropped => Value::Null,
                Kind::Nested(nested) => value.map_object(|object| configurable(nested, object)),
                Kind::Plain(_) => value,
            }
        });
    }
    state
}

#[cfg(test)]
mod tests;
