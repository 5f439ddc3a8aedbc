//! One attribute: its type, who sets it, and how its changes are planned.

use std::fmt;
use std::sync::Arc;

use crate::diagnostics::Diagnostics;
use crate::path::{Path, Step};
use crate::types::Type;
use crate::value::{Object, Value};

#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent flags in the protocol and in the framework"
)]
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
    /// Only in the configuration, never in a plan or state.
    pub write_only: bool,
    pub requires_replace: bool,
    /// Where the plan would be unknown, the value of the state is kept.
    pub use_state_for_unknown: bool,
    /// Used where the configuration sets no value.
    pub default: Option<Value>,
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
    /// The configuration may set it, otherwise the provider does.
    OptionalComputed,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Plain(Type),
    Nested(Nested),
}

/// Objects with attributes of their own.
#[derive(Clone, Debug)]
pub struct Nested {
    pub nesting: Nesting,
    pub attributes: Vec<Attribute>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    Single,
    List,
    /// The attributes should not be computed: elements are matched by value.
    Set,
    Map,
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

    /// Sets the value used where the configuration has none; makes the attribute optional and computed.
    #[must_use]
    pub fn default_value(mut self, value: impl Into<Value>) -> Self {
        self.presence = Presence::OptionalComputed;
        self.default = Some(value.into());
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
            Kind::Nested(nested) => nested.ty(),
        }
    }

    pub fn is_computed(&self) -> bool {
        matches!(self.presence, Presence::Computed | Presence::OptionalComputed)
    }

    pub fn is_configurable(&self) -> bool {
        self.presence != Presence::Computed
    }
}

impl Nested {
    pub fn single(attributes: impl IntoIterator<Item = Attribute>) -> Self {
        Self::new(Nesting::Single, attributes)
    }

    pub fn list(attributes: impl IntoIterator<Item = Attribute>) -> Self {
        Self::new(Nesting::List, attributes)
    }

    pub fn set(attributes: impl IntoIterator<Item = Attribute>) -> Self {
        Self::new(Nesting::Set, attributes)
    }

    pub fn map(attributes: impl IntoIterator<Item = Attribute>) -> Self {
        Self::new(Nesting::Map, attributes)
    }

    fn new(nesting: Nesting, attributes: impl IntoIterator<Item = Attribute>) -> Self {
        Self { nesting, attributes: attributes.into_iter().collect() }
    }

    pub(crate) fn ty(&self) -> Type {
        let object = object_type(&self.attributes);
        match self.nesting {
            Nesting::Single => object,
            Nesting::List => Type::list(object),
            Nesting::Set => Type::set(object),
            Nesting::Map => Type::map(object),
        }
    }

    /// The objects in a value, each with the step that leads to it. A single object and the elements of a set have none.
    pub(crate) fn objects<'v>(&self, value: &'v Value) -> Vec<(Option<Step>, &'v Object)> {
        let elements: Vec<(Option<Step>, &Value)> = match (self.nesting, value) {
            (Nesting::Single, value) => vec![(None, value)],
            (Nesting::Set, Value::Set(values)) => values.iter().map(|value| (None, value)).collect(),
            (Nesting::List, Value::List(values)) => {
                values.iter().enumerate().map(|(index, value)| (Some(Step::Index(index)), value)).collect()
            }
            (Nesting::Map, Value::Object(entries)) => {
                entries.iter().map(|(key, value)| (Some(Step::Key(key.to_owned())), value)).collect()
            }
            _ => Vec::new(),
        };
        elements.into_iter().filter_map(|(step, value)| Some((step, value.as_object()?))).collect()
    }

    /// Changes every object in a value, with the steps of [`Nested::objects`].
    pub(crate) fn map_objects(
        &self,
        value: Value,
        mut change: impl FnMut(Option<&Step>, Object) -> Object,
    ) -> Value {
        let mut element = |step: Option<&Step>, value: Value| match value {
            Value::Object(object) => Value::Object(change(step, object)),
            other => other,
        };
        match (self.nesting, value) {
            (Nesting::Single, value) => element(None, value),
            (Nesting::Set, Value::Set(values)) => {
                Value::set(values.into_iter().map(|value| element(None, value)))
            }
            (Nesting::List, Value::List(values)) => {
                let values = values.into_iter().enumerate();
                Value::List(values.map(|(index, value)| element(Some(&Step::Index(index)), value)).collect())
            }
            (Nesting::Map, Value::Object(entries)) => {
                let entries = entries.into_iter();
                let change = |(key, value): (String, _)| (key.clone(), element(Some(&Step::Key(key)), value));
                Value::Object(entries.map(change).collect())
            }
            (_, value) => value,
        }
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
