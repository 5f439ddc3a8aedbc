//! What a plan may contain, given configuration and prior state.

use super::compatible::same;
use super::{Plan, Violation, check_type};
use crate::path::{Path, Step};
use crate::schema::{Attribute, Kind, Schema};
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
        if equal || attribute.is_computed() || (config.is_null() && planned.is_null()) {
            return;
        }
        match (&attribute.kind, config, planned) {
            _ if config.is_null() => {
                self.violate("an attribute that is neither configured nor computed is null in a plan");
            }
            (Kind::Nested(nested), Value::Object(config), Value::Object(planned)) => {
                self.object(nested, prior.as_object(), config, planned);
            }
            (Kind::Nested(_), Value::Object(_), Value::Unknown(_)) => {
                self.violate("a configured nested attribute is not wholly unknown");
            }
            _ => self.violate("a configured attribute is planned as configured or as in the prior state"),
        }
    }

    fn violate(&mut self, rule: &str) {
        self.violations.push(Violation::new(&self.path, rule));
    }
}
