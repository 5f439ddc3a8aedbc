//! What a plan may contain, given configuration and prior state.

use super::compatible::same;
use super::{Plan, Violation, check_type};
use crate::path::{Path, Step};
use crate::schema::{Attribute, Kind, Nested, Nesting, Presence, Schema};
use crate::value::{Object, Value};

pub(crate) fn check_plan(
    schema: &Schema,
    prior: Option<&Object>,
    config: Option<&Object>,
    plan: Plan<'_>,
) -> Vec<Violation> {
    let (config, planned) = match (config, plan.planned) {
        (None, None) => return Vec::new(),
        (Some(config), Some(planned)) => (config, planned),
        (None, Some(_)) => return vec![Violation::new(&Path::root(), "a destroy has no planned state")],
        (Some(_), None) => {
            return vec![Violation::new(&Path::root(), "a configured resource has a planned state")];
        }
    };
    let mut check = Check { violations: check_type(schema, planned), path: Path::root() };
    if check.violations.is_empty() {
        check.object(&schema.attributes, prior, config, planned);
    }
    for path in plan.requires_replace {
        if schema.find(path).is_none() {
            check
                .violations
                .push(Violation::new(path, "only an attribute of the schema can require a replacement"));
        }
    }
    check.violations
}

struct Check {
    violations: Vec<Violation>,
    path: Path,
}

impl Check {
    fn object(
        &mut self,
        attributes: &[Attribute],
        prior: Option<&Object>,
        config: &Object,
        planned: &Object,
    ) {
        for attribute in attributes {
            let name = &attribute.name;
            let prior = prior.map_or(&Value::Null, |prior| prior.get(name));
            self.path.push(Step::Attribute(name.clone()));
            self.attribute(attribute, prior, config.get(name), planned.get(name));
            self.path.pop();
        }
    }

    fn attribute(&mut self, attribute: &Attribute, prior: &Value, config: &Value, planned: &Value) {
        if attribute.write_only {
            if !planned.is_null() {
                self.violate("a write-only attribute is null in a plan");
            }
            return;
        }
        // The second equality lets a mere change of formatting be planned as no change.
        let equal = same(planned, config) || (!prior.is_null() && !config.is_null() && same(planned, prior));
        if equal || attribute.presence == Presence::Computed {
            return;
        }
        if config.is_null() {
            if !attribute.is_computed() && !planned.is_null() {
                self.violate("an attribute that is neither configured nor computed is null in a plan");
            }
            return;
        }
        match &attribute.kind {
            Kind::Nested(nested) if !config.is_unknown() => self.nested(nested, prior, config, planned),
            _ => self.violate("a configured attribute is planned as configured or as in the prior state"),
        }
    }

    fn nested(&mut self, nested: &Nested, prior: &Value, config: &Value, planned: &Value) {
        if planned.is_unknown() {
            return self.violate("a configured nested attribute is not wholly unknown");
        }
        match (nested.nesting, config, planned) {
            (Nesting::Single, Value::Object(config), Value::Object(planned)) => {
                self.object(&nested.attributes, prior.as_object(), config, planned);
            }
            (Nesting::List, Value::List(_), Value::List(_))
            | (Nesting::Map, Value::Object(_), Value::Object(_)) => {
                let ty = nested.ty();
                let (configs, planneds) = (config.children(&ty), planned.children(&ty));
                if !configs.iter().map(|(step, ..)| step).eq(planneds.iter().map(|(step, ..)| step)) {
                    return self.violate("the planned elements are the configured ones");
                }
                for ((step, config, _), (_, planned, _)) in configs.into_iter().zip(planneds) {
                    let prior = prior.step(&step).unwrap_or(&Value::Null);
                    self.element(nested, step, prior, config, planned);
                }
            }
            (Nesting::Set, Value::Set(configs), Value::Set(planneds)) => {
                if configs.len() != planneds.len() {
                    return self.violate("the planned elements are the configured ones");
                }
                for planned in planneds.iter() {
                    if !configs.iter().any(|config| self.is_valid(nested, prior, config, planned)) {
                        self.violate("every planned element of a set matches a configured one");
                    }
                }
            }
            _ => self.violate("a configured nested attribute is planned with the same shape"),
        }
    }

    fn element(&mut self, nested: &Nested, step: Step, prior: &Value, config: &Value, planned: &Value) {
        self.path.push(step);
        match (config, planned) {
            (Value::Object(config), Value::Object(planned)) => {
                self.object(&nested.attributes, prior.as_object(), config, planned);
            }
            (config, planned) if same(config, planned) => {}
            _ => self.violate("a configured element is planned as configured"),
        }
        self.path.pop();
    }

    /// Elements of a set have no address, so one is valid if it is for any configured and any prior one.
    fn is_valid(&self, nested: &Nested, prior: &Value, config: &Value, planned: &Value) -> bool {
        let priors = prior.as_elements().unwrap_or_default().iter().chain([&Value::Null]);
        let mut allowed = priors.map(|prior| {
            let mut check = Self { violations: Vec::new(), path: self.path.clone() };
            check.element(nested, Step::Index(0), prior, config, planned);
            check.violations.is_empty()
        });
        allowed.any(|allowed| allowed)
    }

    fn violate(&mut self, rule: &str) {
        self.violations.push(Violation::new(&self.path, rule));
    }
}
