//! What attributes a provider, resource or data source has; a description that also validates, plans and documents.

mod attribute;
mod wire;

use crate::path::{Path, Step};
use crate::types::Type;

pub use attribute::{Attribute, Kind, Nested, Nesting, Presence, Validator};

/// The attributes of a provider, resource or data source.
///
/// There are no blocks: nested attributes, which protocol 6 brought, replace them.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Counts the changes to the schema that states have to be upgraded for.
    pub version: i64,
    /// What it is for, in Markdown.
    pub description: String,
    /// Why it should no longer be used, and what to use instead.
    pub deprecation: Option<String>,
    /// The attributes, in the order in which they are documented.
    pub attributes: Vec<Attribute>,
}

impl Schema {
    /// A schema without attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version.
    #[must_use]
    pub fn version(mut self, version: i64) -> Self {
        self.version = version;
        self
    }

    /// Says what it is for, in Markdown.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Says why it should no longer be used, and what to use instead.
    #[must_use]
    pub fn deprecated(mut self, message: impl Into<String>) -> Self {
        self.deprecation = Some(message.into());
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: Attribute) -> Self {
        self.attributes.push(attribute);
        self
    }

    /// The type of the values that the schema describes: always an object.
    pub fn ty(&self) -> Type {
        attribute::object_type(&self.attributes)
    }

    /// The attribute that `path` leads to, through elements if need be; `None` if there is none of its own there.
    pub fn find(&self, path: &Path) -> Option<&Attribute> {
        let mut attributes = &self.attributes;
        let mut found = None;
        for step in path.steps() {
            match step {
                Step::Attribute(name) => {
                    let attribute = attributes.iter().find(|attribute| attribute.name == *name)?;
                    if let Kind::Nested(nested) = &attribute.kind {
                        attributes = &nested.attributes;
                    }
                    found = Some(attribute);
                }
                Step::Key(_) | Step::Index(_) => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;
