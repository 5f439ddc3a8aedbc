//! One attribute: its type, who sets it, and how its changes are planned.

use std::fmt;
use std::sync::Arc;

use crate::diagnostics::Diagnostics;
use crate::path::Path;
use crate::types::Type;
use crate::value::Value;

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent flags in the protocol")]
pub struct Attribute {
    pub name: String,
    pub kind: Kind,
    pub presence: Presence,
    /// Markdown.
    pub description: String,
    /// Why it should no longer be used, and what to use instead.
    pub deprecation: Option<String>,
    /// Terraform hides the value in plans.
    pub sensitive: bool,
    /// Only in the configuration, never in a plan or a state.
    pub write_only: bool,
    pub requires_replace: bool,
    /// Where the plan would be unknown, the value of the state is kept.
    pub use_state_for_unknown: bool,
    pub validators: Vec<Validator>,
}

/// Who sets an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The configuration must set it.
    Required,
    /// The configuration may set it.
    Optional,
    /// The provider sets it.
    Computed,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Plain(Type),
    /// One object with attributes of its own.
    Nested(Vec<Attribute>),
}

/// A rule for a configured value.
#[derive(Clone)]
pub struct Validator(Arc<Rule>);

type Rule = dyn Fn(&Value, &Path) -> Diagnostics + Send + Sync;

impl Attribute {
    pub fn required(name: impl Into<String>, kind: impl Into<Kind>) -> Self {
        Self::new(name.into(), kind.into(), Presence::Required)
    }

    pub fn optional(name: impl Into<String>, kind: impl Into<Kind>) -> Self {
        Self::new(name.into(), kind.into(), Presence::Optional)
    }

    pub fn computed(name: impl Into<String>, kind: impl Into<Kind>) -> Self {
        Self::new(name.into(), kind.into(), Presence::Computed)
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
            validators: Vec::new(),
        }
    }

    /// Markdown.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// `message` says why it should no longer be used and what to use instead.
    #[must_use]
    pub fn deprecated(mut self, message: impl Into<String>) -> Self {
        self.deprecation = Some(message.into());
        self
    }

    #[must_use]
    pub fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    /// For Terraform and OpenTofu 1.11 and later; older clients reject a value.
    #[must_use]
    pub fn write_only(mut self) -> Self {
        self.write_only = true;
        self
    }

    #[must_use]
    pub fn requires_replace(mut self) -> Self {
        self.requires_replace = true;
        self
    }

    #[must_use]
    pub fn use_state_for_unknown(mut self) -> Self {
        self.use_state_for_unknown = true;
        self
    }

    /// Adds a rule for the configured value. It sees values that are neither null nor unknown, though their elements may
    /// be; a diagnostic without a path gets the attribute's.
    #[must_use]
    pub fn validate(mut self, rule: impl Fn(&Value, &Path) -> Diagnostics + Send + Sync + 'static) -> Self {
        self.validators.push(Validator(Arc::new(rule)));
        self
    }

    pub fn ty(&self) -> Type {
        match &self.kind {
            Kind::Plain(ty) => ty.clone(),
            Kind::Nested(attributes) => object_type(attributes),
        }
    }

    pub fn is_computed(&self) -> bool {
        self.presence == Presence::Computed
    }
}

impl Kind {
    pub fn nested(attributes: impl IntoIterator<Item = Attribute>) -> Self {
        Self::Nested(attributes.into_iter().collect())
    }
}

impl From<Type> for Kind {
    fn from(ty: Type) -> Self {
        Self::Plain(ty)
    }
}

impl Validator {
    pub fn check(&self, value: &Value, path: &Path) -> Diagnostics {
        (self.0)(value, path)
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Validator")
    }
}

pub(super) fn object_type(attributes: &[Attribute]) -> Type {
    Type::object(attributes.iter().map(|attribute| (&attribute.name, attribute.ty())))
}
