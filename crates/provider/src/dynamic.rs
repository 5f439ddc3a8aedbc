//! Parts of objects as dynamic Terraform values.

use serde_json::Value as Json;
use tfplugin::value::{Number, Value};

/// `json` for a dynamic attribute, or null. Lists become tuples, because their items may differ in shape.
pub(crate) fn dynamic(json: Option<&Json>) -> Value {
    json.map_or(Value::Null, |json| Value::dynamic(value(json)))
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
    use serde_json::json;
    use tfplugin::types::Type;

    use super::*;

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
    fn an_absent_value_is_null() {
        assert_eq!(dynamic(None), Value::Null);
        assert_eq!(dynamic(Some(&Json::Null)), Value::Null);
    }
}
