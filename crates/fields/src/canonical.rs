//! One form for all values that mean the same to Kubernetes, so that a hash of it can stand for the value.

use serde_json::{Map, Value};

use crate::equality::something;
use crate::{ListKind, Quantity, Shape, items};

/// The form of `value` that is the same exactly for the values that [`crate::equal`] it here.
pub fn canonical(value: &Value, shape: Shape<'_>) -> Value {
    something(Some(value), shape).map_or(Value::Null, |value| form(value, shape))
}

fn form(value: &Value, shape: Shape<'_>) -> Value {
    match value {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let shape = shape.field(name);
                Some((name.clone(), form(something(Some(value), shape)?, shape)))
            };
            fields.iter().filter_map(field).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => match shape.list_kind() {
            ListKind::Atomic => list.iter().map(|item| form(item, shape.element())).collect(),
            kind => {
                let named = items::by_name(list, kind);
                named.iter().flat_map(|named| &named.items).map(|item| form(item, shape.element())).collect()
            }
        },
        scalar if shape.is_quantity() => match Quantity::from_value(scalar) {
            Some(quantity) => quantity.to_string().into(),
            None => scalar.clone(),
        },
        Value::Number(number) if shape.is_int_or_string() => number.to_string().into(),
        Value::Number(number) => match number.as_f64() {
            // As a float every number has one form; integers that a float cannot hold keep theirs.
            Some(float) if number.is_f64() || is_exact(number.as_i64()) => float.into(),
            _ => value.clone(),
        },
        scalar => scalar.clone(),
    }
}

fn is_exact(integer: Option<i64>) -> bool {
    integer.is_some_and(|integer| integer.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{Schema, arbitrary, equal};

    #[test]
    fn values_that_mean_the_same_have_one_form() {
        let schema = Schema::of_kind("apps/v1", "Deployment");
        let containers = schema.root().field("spec").field("template").field("spec").field("containers");
        let limits = containers.element().field("resources").field("limits");
        let check = |shape: Shape<'_>, left: Value, right: Value, same: bool| {
            assert_eq!(canonical(&left, shape) == canonical(&right, shape), same, "{left} {right}");
            assert_eq!(equal(&left, &right, shape), same, "{left} {right}");
        };
        check(limits.field("cpu"), json!("1000m"), json!(1), true);
        check(limits.field("cpu"), json!("1000m"), json!("1001m"), false);
        check(schema.root(), json!(1), json!(1.0), true);
        check(schema.root(), json!("1"), json!(1), false);
        check(schema.root(), json!(null), json!([]), true);
        let (a, b) = (json!({ "name": "a" }), json!({ "name": "b", "args": [] }));
        check(containers, json!([a, b]), json!([{ "name": "b" }, a]), true);
        check(containers.element().field("args"), json!(["x", "y"]), json!(["y", "x"]), false);
    }

    proptest! {
        #[test]
        fn forms_are_the_same_exactly_if_the_values_are(left in arbitrary::deployment(), right in arbitrary::deployment()) {
            let schema = Schema::of(&left);
            let same = canonical(&left, schema.root()) == canonical(&right, schema.root());
            prop_assert_eq!(same, equal(&left, &right, schema.root()));
        }
    }
}
