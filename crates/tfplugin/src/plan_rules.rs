//! The rules by which Terraform judges responses. It reports a violation as a bug in the provider, so debug builds check
//! first.

mod compatible;
mod plan;

use crate::path::Path;
use crate::schema::Schema;
use crate::schema_plan::without_write_only;
use crate::types::Type;
use crate::value::{Object, Value};

pub(crate) use plan::check_plan;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {rule}", path.or_root())]
pub(crate) struct Violation {
    pub(crate) path: Path,
    /// The rule and how it is broken; never a value.
    pub(crate) rule: String,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan<'p> {
    /// None for a destroy.
    pub(crate) planned: Option<&'p Object>,
    pub(crate) requires_replace: &'p [Path],
}

/// Checks a state after a successful apply; after a failed one Terraform saves any state.
pub(crate) fn check_apply(
    schema: &Schema,
    planned: Option<&Object>,
    state: Option<&Object>,
) -> Vec<Violation> {
    match (planned, state) {
        (None, None) => Vec::new(),
        (None, Some(_)) => vec![Violation::new(&Path::root(), "a destroyed resource has no state")],
        (Some(_), None) => vec![Violation::new(&Path::root(), "a created or updated resource has a state")],
        (Some(planned), Some(state)) => {
            let mut violations = check_read(schema, state);
            compatible::check_object(schema, planned, state, &mut violations);
            violations
        }
    }
}

/// Checks a state that was read, imported, upgraded or moved.
pub(crate) fn check_read(schema: &Schema, state: &Object) -> Vec<Violation> {
    let mut violations = check_type(schema, state);
    unknowns(&Value::Object(state.clone()), &schema.ty(), &mut Path::root(), &mut violations);
    if violations.is_empty() && without_write_only(&schema.attributes, state.clone()) != *state {
        violations.push(Violation::new(&Path::root(), "write-only attributes are null in a state"));
    }
    violations
}

fn check_type(schema: &Schema, object: &Object) -> Vec<Violation> {
    let error = object.clone().conform(&schema.ty()).err();
    let rule = |problem: &str| format!("a value has the type of its schema: {problem}");
    error.map(|error| Violation::new(&error.path, rule(&error.problem))).into_iter().collect()
}

fn unknowns(value: &Value, ty: &Type, path: &mut Path, violations: &mut Vec<Violation>) {
    match (value, ty) {
        (Value::Unknown(_), _) => violations.push(Violation::new(path, "nothing is unknown in a state")),
        (Value::Set(elements), Type::Set(element)) => {
            elements.iter().for_each(|value| unknowns(value, element, path, violations));
        }
        (Value::Dynamic(dynamic), _) => unknowns(&dynamic.value, &dynamic.ty, path, violations),
        _ => {
            for (step, value, ty) in value.children(ty) {
                path.within(step, |path| unknowns(value, ty, path, violations));
            }
        }
    }
}

impl Violation {
    fn new(path: &Path, rule: impl Into<String>) -> Self {
        Self { path: path.clone(), rule: rule.into() }
    }
}

#[cfg(test)]
mod tests;
