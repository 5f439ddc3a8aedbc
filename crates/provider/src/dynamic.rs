//! Parts of objects as dynamic Terraform values.

use serde_json::Value as Json;
use tfplugin::types::Type;
use tfplugin::value::{Number, Value};

/// `json` for a dynamic attribute, or null. As in the Go provider, a list whose items have one type is a `list`; the
/// items of others differ in shape, so they are tuples.
pub(crate) fn dynamic(json: Option<&Json>) -> Value {
    match json.map(value) {
        None | Some(Value::Null) => Value::Null,
        Some(value) => Value::dynamic_of(type_of(&value), value),
    }
}

/// Like [`dynamic`], with the types that `prior` has if the value is the same: other versions chose other types for
/// lists, and a change of type alone would show as a change of everything that refers to it.
pub(crate) fn dynamic_like(prior: Option<&Value>, json: Option<&Json>) -> Value {
    match (prior, dynamic(json)) {
        (Some(Value::Dynamic(prior)), Value::Dynamic(now)) if prior.value == now.value => {
            Value::Dynamic(prior.clone())
        }
        (_, now) => now,
    }
}

fn type_of(value: &Value) -> Type {
    match value {
        Value::Bool(_) => Type::Bool,
        Value::Number(_) => Type::Number,
        Value::String(_) => Type::String,
        Value::List(items) => {
            let types: Vec<Type> = items.iter().map(type_of).collect();
            match types.split_first() {
                Some((first, rest)) if rest.iter().all(|ty| ty == first) && is_whole(first) => {
                    Type::list(first.clone())
                }
                _ => Type::Tuple(types),
            }
        }
        Value::Object(object) => Type::object(object.iter().map(|(name, value)| (name, type_of(value)))),
        // A null has no type of its own.
        _ => Type::Dynamic,
    }
}

/// Whether no part of the type is open: the items of a list cannot have open types.
fn is_whole(ty: &Type) -> bool {
    match ty {
        Type::Dynamic => false,
        Type::List(item) => is_whole(item),
        Type::Tuple(items) => items.iter().all(is_whole),
        Type::Object(attributes) => attributes.values().all(is_whole),
        _ => true,
    }
}

/// A Terraform value as JSON. Numbers of any size keep their digits only as far as JSON numbers do here.
pub(crate) fn to_json(value: &Value) -> Json {
    match value {
        Value::Null | Value::Unknown(_) => Json::Null,
        Value::Bool(bool) => Json::Bool(*bool),
        Value::Number(number) => serde_json::from_str(&number.to_string()).unwrap_or(Json::Null),
        Value::String(text) => Json::String(text.clone()),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Set(items) => items.iter().map(to_json).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.to_owned(), to_json(value))).collect()
        }
        Value::Dynamic(dynamic) => to_json(&dynamic.value),
    }
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(bool) => Value::Bool(*bool),
        Json::Number(number) => Value::from(Number::parse(&number.to_string()).ok()),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(fields) => {
            Value::Object(fields.iter().map(|(name, field)| (name.as_str(), value(field))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_of_different_shape_and_empty_lists_keep_their_shape() {
        let value = dynamic(Some(
            &json!({"a": [{"x": 1}, {"y": "z"}], "b": [], "n": 12_345_678_901_234_567_890_u64}),
        ));
        let Value::Dynamic(value) = value else { panic!("{value:?}") };
        let object = |name: &str, ty: Type| Type::object([(name, ty)]);
        assert_eq!(
            value.ty,
            Type::object([
                ("a", Type::Tuple(vec![object("x", Type::Number), object("y", Type::String)])),
                ("b", Type::Tuple(vec![])),
                ("n", Type::Number),
            ])
        );
        let number = value.value.as_object().unwrap().get("n").as_number().unwrap().to_string();
        assert_eq!(number, "12345678901234567890");
    }

    #[test]
    fn items_of_one_type_are_a_list_unless_the_state_has_a_tuple() {
        let check = |json: Json, expected: Type| match dynamic(Some(&json)) {
            Value::Dynamic(found) => assert_eq!(found.ty, expected, "{json}"),
            other => panic!("{other:?}"),
        };
        let ingress = || json!([{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]);
        let address = || Type::object([("ip", Type::String)]);
        check(ingress(), Type::list(address()));
        check(json!(["a", "b"]), Type::list(Type::String));
        check(json!(["a", 1]), Type::Tuple(vec![Type::String, Type::Number]));
        check(json!([{"x": null}]), Type::Tuple(vec![Type::object([("x", Type::Dynamic)])]));
        check(json!([["a"], ["b", "c"]]), Type::list(Type::list(Type::String)));

        let former = Value::dynamic(value(&ingress()));
        assert_eq!(dynamic_like(Some(&former), Some(&ingress())), former);
        assert_ne!(dynamic(Some(&ingress())), former);
        let changed = json!([{"ip": "10.0.0.9"}]);
        assert_eq!(dynamic_like(Some(&former), Some(&changed)), dynamic(Some(&changed)));
    }

    #[test]
    fn an_absent_value_is_null() {
        assert_eq!(dynamic(None), Value::Null);
        assert_eq!(dynamic(Some(&Json::Null)), Value::Null);
    }
}
