//! Plans what the schema alone decides, before the resource is asked, in the order of terraform-plugin-framework: defaults,
//! write-only values, unknowns, plan modifiers.

use crate::path::{Path, Step};
use crate::schema::{Attribute, Kind, Nesting, Schema};
use crate::value::{Object, Value};

#[derive(Debug)]
pub(crate) struct SchemaPlan {
    pub(crate) planned: Object,
    pub(crate) requires_replace: Vec<Path>,
}

/// `proposed` is Terraform's proposed new state: the configuration, with prior values where it sets none.
pub(crate) fn plan_by_schema(
    schema: &Schema,
    prior: Option<&Object>,
    config: &Object,
    proposed: Object,
) -> SchemaPlan {
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
    SchemaPlan { planned, requires_replace }
}

/// Removes the values of write-only attributes, which belong in no plan and no state.
pub(crate) fn without_write_only(schema: &Schema, object: Object) -> Object {
    strip(&schema.attributes, object)
}

fn strip(attributes: &[Attribute], mut object: Object) -> Object {
    for attribute in attributes {
        object.change(&attribute.name, |value| match &attribute.kind {
            _ if attribute.write_only => Value::Null,
            Kind::Nested(nested) => nested.map_objects(value, |_, object| strip(&nested.attributes, object)),
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

/// Changes every nested object that has a counterpart in the configuration. Elements of a set have none: they cannot be
/// matched across configuration, plan and state.
fn each_configured(
    attribute: &Attribute,
    configured: &Value,
    value: Value,
    change: impl Fn(&[Attribute], &Object, Object) -> Object,
) -> Value {
    let Kind::Nested(nested) = &attribute.kind else { return value };
    nested.map_objects(value, |step, object| match object_at(configured, step) {
        Some(config) => change(&nested.attributes, config, object),
        None => object,
    })
}

/// Any change may change what the provider computes and the configuration does not set.
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

/// Applies plan modifiers to an update; a create has nothing to keep and nothing to replace.
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

    /// `prior` is `None`, not null, where the object around the value is new.
    fn value(
        &mut self,
        attribute: &Attribute,
        prior: Option<&Value>,
        config: &Value,
        mut planned: Value,
    ) -> Value {
        // Where the configuration itself is unknown, the plan must stay unknown.
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
        if nested.nesting == Nesting::Set {
            return planned;
        }
        nested.map_objects(planned, |step, object| {
            let empty = Object::new();
            let config = object_at(config, step).unwrap_or(&empty);
            let prior = prior.and_then(|prior| object_at(prior, step));
            let depth = self.path.steps().len();
            self.path.extend(step.cloned());
            let object = self.object(&nested.attributes, prior, config, object);
            self.path.truncate(depth);
            object
        })
    }
}

/// The nested object at a step of `value`; without a step, `value` itself.
fn object_at<'v>(value: &'v Value, step: Option<&Step>) -> Option<&'v Object> {
    match step {
        Some(step) => value.step(step)?.as_object(),
        None => value.as_object(),
    }
}

#[cfg(test)]
mod tests;
