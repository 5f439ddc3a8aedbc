//! One attribute: what it holds, who sets it, and what its changes mean.

use std::fmt;
use std::sync::Arc;

use crate::diagnostics::Diagnostics;
use crate::path::Path;
use crate::types::Type;
use crate::value::Value;

/// An attribute of a schema.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the protocol and the framework know them as independent flags"
)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Who sets it.
    pub presence: Presence,
    /// What it means, in Markdown.
    pub description: String,
    /// Why it should no longer be used, and what to use instead.
    pub deprecation: Option<String>,
    /// Terraform hides its value in plans.
    pub sensitive: bool,
    /// It is in the configuration only, never in a plan or state.
    pub write_only: bool,
    /// Another value means another resource.
    pub requires_replace: bool,
    /// Where the plan would be unknown, the value in the state is kept.
    pub use_state_for_unknown: bool,
    /// The value where the configuration has none.
    pub default: Option<Value>,
    /// What the configured value has to fulfil.
    pub validators: Vec<Validator>,
}

/// Who sets an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The configuration, always.
    Required,
    /// The configuration, if it wants to.
    Optional,
    /// The provider.
    Computed,
    /// The configuration, or else the provider.
    OptionalComputed,
}

/// What an attribute holds.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A value of a type.
    Plain(Type),
    /// Objects whose attributes have a description of their own.
    Nested(Nested),
}

/// Objects whose attributes have a description of their own.
#[derive(Clone, Debug)]
pub struct Nested {
    /// How many objects there are, and how they are found.
    pub nesting: Nesting,
    /// The attributes of each.
    pub attributes: Vec<Attribute>,
}

/// How many nested objects there are, and how they are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// One.
    Single,
    /// Any number, in an order.
    List,
    /// Any number, without an order; their attributes should not be computed.
    Set,
    /// Any number, by name.
    Map,
}

/// A rule that a configured value has to fulfil.
#[derive(Clone)]
pub struct Validator(Arc<Rule>);

type Rule = dyn Fn(&Value, &Path) -> Diagnostics + Send + Sync;

impl Attribute {
    /// An attribute that the configuration has to set.
    pub fn required(name: impl Into<String>, kind: impl Into<Kind>) -> Self {
        Self::new(name.into(), kind.into(), Presence::Required)
    }

    /// An attribute that the configuration may set.
    pub fn optional(name: impl Into<String>, kind: impl Into<Kind>) -> Self {
        Self::new(name.into(), kind.into(), Presence::Optional)
    }

    /// An attribute that the provider sets.
    pub fn computed(name: impl Into<String>, kind: impl Into<Kind>) -> Self {
        Self::new(name.into(), kind.into(), Presence::Computed)
    }

    /// An attribute that the configuration may set, and the provider otherwise.
    pub fn optional_computed(name: impl Into<String>, kind: impl Into<Kind>) -> Self {
        Self::new(name.into(), kind.into(), Presence::OptionalComputed)
    }

    fn new(name: String, kind: Kind, presence: Presence) -> Self {
        Self {
            name,
            kind,
            presence,
            description: String::new(),
            deprecation: None,
            sensitive: false,
            write_only: false,
            requires_replace: false,
            use_state_for_unknown: false,
            default: None,
            validators: Vec::new(),
        }
    }

    /// Says what it means, in Markdown.
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

    /// Lets Terraform hide the value.
    #[must_use]
    pub fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    /// Keeps the value out of plans and states.
    #[must_use]
    pub fn write_only(mut self) -> Self {
        self.write_only = true;
        self
    }

    /// Makes another value mean another resource.
    #[must_use]
    pub fn requires_replace(mut self) -> Self {
        self.requires_replace = true;
        self
    }

    /// Keeps the value in the state where the plan would be unknown.
    #[must_use]
    pub fn use_state_for_unknown(mut self) -> Self {
        self.use_state_for_unknown = true;
        self
    }

    /// Sets the value to use where the configuration has none; the attribute is then optional and computed.
    #[must_use]
    pub fn default_value(mut self, value: impl Into<Value>) -> Self {
        self.presence = Presence::OptionalComputed;
        self.default = Some(value.into());
        self
    }

    /// Adds a rule for the configured value. It is asked about values that are neither null nor unknown, though their
    /// elements may be; a diagnostic without a path of its own points to the attribute.
    #[must_use]
    pub fn validate(mut self, rule: impl Fn(&Value, &Path) -> Diagnostics + Send + Sync + 'static) -> Self {
        self.validators.push(Validator(Arc::new(rule)));
        self
    }

    /// The type of its value.
    pub fn ty(&self) -> Type {
        match &self.kind {
            Kind::Plain(ty) => ty.clone(),
            Kind::Nested(nested) => {
                let object = object_type(&nested.attributes);
                match nested.nesting {
                    Nesting::Single => object,
                    Nesting::List => Type::list(object),
                    Nesting::Set => Type::set(object),
                    Nesting::Map => Type::map(object),
                }
            }
        }
    }

    /// Whether the provider may set it.
    pub fn is_computed(&self) -> bool {
        matches!(self.presence, Presence::Computed | Presence::OptionalComputed)
    }

    /// Whether the configuration may set it.
    pub fn is_configurable(&self) -> bool {
        self.presence != Presence::Computed
    }
}

impl Nested {
    /// One object.
    pub fn single(attributes: impl IntoIterator<Item = Attribute>) -> Self {
        Self::new(Nesting::Single, attributes)
    }

    /// Objects in an order.
    pub fn list(attributes: impl IntoIterator<Item = Attribute>) -> Self {
        Self::new(Nesting::List, attributes)
    }

    /// Objects without an order.
    pub fn set(attributes: impl IntoIterator<Item = Attribute>) -> Self {
        Self::new(Nesting::Set, attributes)
    }

    /// Objects by name.
    pub fn map(attributes: impl IntoIterator<Item = Attribute>) -> Self {
        Self::new(Nesting::Map, attributes)
    }

    fn new(nesting: Nesting, attributes: impl IntoIterator<Item = Attribute>) -> Self {
        Self { nesting, attributes: attributes.into_iter().collect() }
    }
}

impl From<Type> for Kind {
    fn from(ty: Type) -> Self {
        Self::Plain(ty)
    }
}

impl From<Nested> for Kind {
    fn from(nested: Nested) -> Self {
        Self::Nested(nested)
    }
}

impl Validator {
    /// What is wrong with `value`, which stands at `path`.
    pub fn check(&self, value: &Value, path: &Path) -> Diagnostics {
        (self.0)(value, path)
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Validator")
    }
}

/// The type of an object with these attributes.
pub(super) fn object_type(attributes: &[Attribute]) -> Type {
    Type::object(attributes.iter().map(|attribute| (&attribute.name, attribute.ty())))
}
