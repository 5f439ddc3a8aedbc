//! What a plan looks like before the resource has had its say, worked out from the schema alone in the order of
//! terraform-plugin-framework: defaults, write-only values, unknowns, plan modifiers.

use crate::path::{Path, Step};
use crate::schema::{Attribute, Kind, Nesting, Schema};
use crate::value::{Object, Value};

/// The plan that the schema alone gives.
#[derive(Debug)]
pub(crate) struct Proposal {
    pub(crate) planned: Object,
    /// Attributes whose change means another resource.
    pub(crate) requires_replace: Vec<Path>,
}

/// Works out the plan from Terraform's proposal, which is the configuration with the prior values of what it leaves out.
pub(crate) fn propose(
    schema: &Schema,
    prior: Option<&Object>,
    config: &Object,
    proposed: Object,
) -> Proposal {
    let mut planned = without_write_only(schema, with_defaults(&schema.attributes, config, proposed));
    if prior != Some(&planned) {
        planned = with_unknowns(&schema.attributes, config, planned);
    }
    let mut requires_replace = Vec::new();
    if let Some(prior) = prior {
        let mut modifiers = Modifiers { requires_replace: &mut requires_replace, path: Path::root() };
        planned = modifiers.object(&schema.attributes, Some(prior), config, planned);
    }
    requires_replace.sort();
    requires_replace.dedup();
    Proposal { planned, requires_replace }
}

/// The object without the values of write-only attributes, which belong in no plan and no state.
pub(crate) fn without_write_only(schema: &Schema, object: Object) -> Object {
    strip(&schema.attributes, object)
}

fn strip(attributes: &[Attribute], mut object: Object) -> Object {
    for attribute in attributes {
        object.change(&attribute.name, |value| match &attribute.kind {
            _ if attribute.write_only => Value::Null,
            Kind::Nested(nested) => {
                each_object(value, nested.nesting, |_, object| strip(&nested.attributes, object))
            }
            Kind::Plain(_) => value,
        });
    }
    object
}

fn with_defaults(attributes: &[Attribute], config: &Object, mut planned: Object) -> Object {
    for attribute in attributes {
        let configured = config.get(&attribute.name);
        if let (true, Some(default)) = (configured.is_null(), &attribute.default) {
            planned.set(&attribute.name, default.clone());
            continue;
        }
        planned.change(&attribute.name, |value| each_configured(attribute, configured, value, with_defaults));
    }
    planned
}

/// Changes every nested object that has a counterpart in the configuration.
fn each_configured(
    attribute: &Attribute,
    configured: &Value,
    value: Value,
    change: impl Fn(&[Attribute], &Object, Object) -> Object,
) -> Value {
    let Kind::Nested(nested) = &attribute.kind else { return value };
    each_object(value, nested.nesting, |step, object| match object_at(configured, step) {
        Some(config) => change(&nested.attributes, config, object),
        None => object,
    })
}

/// Whatever the provider computes and the configuration leaves open may change with any other change.
fn with_unknowns(attributes: &[Attribute], config: &Object, mut planned: Object) -> Object {
    for attribute in attributes {
        let configured = config.get(&attribute.name);
        if configured.is_null() {
            if attribute.is_computed() && attribute.default.is_none() {
                planned.set(&attribute.name, Value::unknown());
            }
            continue;
        }
        planned.change(&attribute.name, |value| each_configured(attribute, configured, value, with_unknowns));
    }
    planned
}

/// Applies the plan modifiers of a schema to an update; creating has nothing to keep and nothing to replace.
struct Modifiers<'o> {
    requires_replace: &'o mut Vec<Path>,
    path: Path,
}

impl Modifiers<'_> {
    fn object(
        &mut self,
        attributes: &[Attribute],
        prior: Option<&Object>,
        config: &Object,
        mut planned: Object,
    ) -> Object {
        for attribute in attributes {
            let prior = prior.map(|prior| prior.get(&attribute.name));
            self.path.push(Step::Attribute(attribute.name.clone()));
            planned.change(&attribute.name, |value| {
                self.value(attribute, prior, config.get(&attribute.name), value)
            });
            self.path.pop();
        }
        planned
    }

    /// There is no prior value, not even null, where the object around it is new.
    fn value(
        &mut self,
        attribute: &Attribute,
        prior: Option<&Value>,
        config: &Value,
        mut planned: Value,
    ) -> Value {
        // Where the configuration itself is unknown, the plan has to stay so.
        if let Some(prior) = prior
            && attribute.use_state_for_unknown
            && planned.is_unknown()
            && !config.is_unknown()
        {
            planned = prior.clone();
        }
        if attribute.requires_replace && planned != *prior.unwrap_or(&Value::Null) {
            self.requires_replace.push(self.path.clone());
        }
        let Kind::Nested(nested) = &attribute.kind else { return planned };
        each_object(planned, nested.nesting, |step, object| {
            let empty = Object::new();
            let config = object_at(config, step).unwrap_or(&empty);
            let prior = prior.and_then(|prior| object_at(prior, step));
            match step.cloned() {
                Some(step) => {
                    self.path.push(step);
                    let object = self.object(&nested.attributes, prior, config, object);
                    self.path.pop();
                    object
                }
                None => self.object(&nested.attributes, prior, config, object),
            }
        })
    }
}

/// Changes every nested object of a value. Elements of a set are left alone: they cannot be told apart from each other
/// across configuration, plan and state.
fn each_object(
    value: Value,
    nesting: Nesting,
    mut change: impl FnMut(Option<&Step>, Object) -> Object,
) -> Value {
    let mut inner = |step: Option<&Step>, value: Value| match value {
        Value::Object(object) => Value::Object(change(step, object)),
        other => other,
    };
    match (nesting, value) {
        (Nesting::Single, value) => inner(None, value),
        (Nesting::List, Value::List(values)) => {
            let elements = values.into_iter().enumerate();
            Value::List(elements.map(|(index, value)| inner(Some(&Step::Index(index)), value)).collect())
        }
        (Nesting::Map, Value::Object(entries)) => {
            let entries = entries.into_iter();
            Value::Object(
                entries.map(|(key, value)| (key.clone(), inner(Some(&Step::Key(key)), value))).collect(),
            )
        }
        (_, value) => value,
    }
}

/// The nested object at a step of `value`, or `value` itself for a single one.
fn object_at<'v>(value: &'v Value, step: Option<&Step>) -> Option<&'v Object> {
    match step {
        Some(step) => value.step(step)?.as_object(),
        None => value.as_object(),
    }
}

#[cfg(test)]
mod tests;
