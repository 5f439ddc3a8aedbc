//! Readiness by an expression of a user, in the Common Expression Language.

use std::collections::HashMap;
use std::sync::Arc;

use cel::{Context, ExecutionError, Program, Value as Cel};
use serde_json::Value;

use crate::protocol::Object;

/// Whether `expression` is true of `object`. An error never has values of the object, which may be a Secret.
pub(super) fn is_true(expression: &str, object: &Object) -> Result<bool, String> {
    let program =
        Program::compile(expression).map_err(|errors| format!("cannot compile the expression: {errors}"))?;
    let mut context = Context::default();
    context.add_variable_from_value("object", value(&Value::Object(object.clone())));
    match program.execute(&context) {
        Ok(Cel::Bool(verdict)) => Ok(verdict),
        Ok(other) => Err(format!("the expression yields a {}, not a bool", other.type_of())),
        Err(error) => Err(format!("cannot evaluate the expression: {}", without_values(&error))),
    }
}

fn without_values(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(_)
        | ExecutionError::NoSuchOverload(_)
        | ExecutionError::UndeclaredReference(_)
        | ExecutionError::InvalidArgumentCount { .. }
        | ExecutionError::UnexpectedType { .. } => error.to_string(),
        ExecutionError::ValuesNotComparable(..) => "two values cannot be compared".to_owned(),
        ExecutionError::IndexOutOfBounds(_) => "an index is out of bounds".to_owned(),
        ExecutionError::FunctionError { function, .. } => format!("{function} fails"),
        _ => "it does not fit the object".to_owned(),
    }
}

/// Whole numbers are ints, as they are in an object that Kubernetes' own libraries decode.
fn value(json: &Value) -> Cel {
    match json {
        Value::Null => Cel::Null,
        Value::Bool(bool) => Cel::Bool(*bool),
        Value::Number(number) => match number.as_i64() {
            Some(int) => Cel::Int(int),
            None => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(value).collect())),
        Value::Object(fields) => {
            let fields: HashMap<String, Cel> =
                fields.iter().map(|(name, field)| (name.clone(), value(field))).collect();
            Cel::Map(fields.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::object;

    fn thing() -> Object {
        object(json!({
            "kind": "Thing", "spec": {"replicas": 3, "ratio": 0.5, "password": "hunter2"},
            "status": {
                "readyReplicas": 3, "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False"}],
            },
        }))
    }

    #[test]
    fn expressions_are_evaluated_on_the_object() {
        let check = |expression: &str, expected: bool| {
            assert_eq!(is_true(expression, &thing()), Ok(expected), "{expression}");
        };
        check("object.status.phase == 'Running'", true);
        check("object.status.readyReplicas >= object.spec.replicas", true);
        check("object.spec.ratio > 0.6", false);
        check("has(object.status.phase) && !has(object.status.address)", true);
        check("object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", true);
        check("object.status.conditions.all(c, c.status == 'True')", false);
        check("object.status.conditions.filter(c, c.status == 'True').size() == 1", true);
        check("object.status.phase.matches('^R') && object.kind.startsWith('Th')", true);
        check("'phase' in object.status ? true : false", true);
        check("has(object.status.address) && object.status.address.ip != ''", false);
    }

    #[test]
    fn errors_say_what_is_wrong_without_values() {
        let check = |expression: &str, expected: &str| {
            let error = is_true(expression, &thing()).unwrap_err();
            assert!(error.contains(expected), "{expression}: {error}");
            assert!(!error.contains("hunter2"), "{expression}: {error}");
        };
        check("object.status.", "cannot compile the expression");
        check("object.status.address == 'x'", "No such key: address");
        check("unknown == 1", "Undeclared reference to 'unknown'");
        check("object.spec.replicas", "yields a int, not a bool");
        check("object.spec.password > 3", "cannot evaluate the expression");
        check("object.spec.password.unknown()", "cannot evaluate the expression");
        check("object.spec.password[0] == 'h'", "cannot evaluate the expression");
    }
}
