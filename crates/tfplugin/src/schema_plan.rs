//! Plans what the schema alone decides, before the resource is asked, in the order of terraform-plugin-framework: write-only
//! values, unknowns, plan modifiers.

use crate::path::{Path, Step};
use crate::schema::{Attribute, Kind, Schema};
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
    let mut planned = without_write_only(&schema.attributes, proposed);
    if prior != Some(&planned) {
        planned = with_unknowns(&schema.attributes, config, planned);
    }
    let mut modifiers = Modifiers::default();
    if let Some(prior) = prior {
        planned = modifiers.object(&schema.attributes, Some(prior), config, planned);
    }
    SchemaPlan { planned, requires_replace: modifiers.requires_replace }
}

/// Removes the values of write-only attributes, which belong in no plan and no state.
pub(crate) fn without_write_only(attributes: &[Attribute], mut object: Object) -> Object {
    for attribute in attributes {
        object.change(&attribute.name, |value| match &attribute.kind {
            _ if attribute.write_only => Value::Null,
            Kind::Nested(nested) => value.map_object(|object| without_write_only(nested, object)),
            Kind::Plain(_) => value,
        });
    }
    object
}

/// Any change may change what the provider computes.
fn with_unknowns(attributes: &[Attribute], config: &Object, mut planned: Object) -> Object {
    for attribute in attributes {
        match (&attribute.kind, config.get(&attribute.name)) {
            (_, configured) if attribute.is_computed() && configured.is_null() => {
                planned.set(&attribute.name, Value::unknown());
            }
            (Kind::Nested(nested), Value::Object(config)) => planned.change(&attribute.name, |value| {
                value.map_object(|object| with_unknowns(nested, config, object))
            }),
            _ => {}
        }
    }
    planned
}

/// Applies plan modifiers to an update; a create has nothing to keep and nothing to replace.
#[derive(Default)]
struct Modifiers {
    requires_replace: Vec<Path>,
    path: Path,
}

impl Modifiers {
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
        planned.map_object(|object| {
            let empty = Object::new();
            let config = config.as_object().unwrap_or(&empty);
            self.object(nested, prior.and_then(Value::as_object), config, object)
        })
    }
}

#[cfg(test)]
mod tests;
