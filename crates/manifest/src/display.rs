//! Values as text in the form the Go provider gives them, in state and in messages.

use serde_json::Value;

use crate::{display_number, to_json};

/// Strings as they are, numbers and booleans as Go's `%v` prints them, null as `<nil>`, objects and lists as Go's JSON.
pub fn display(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => display_number(number),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => to_json(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_read_as_the_go_provider_wrote_them() {
        let check = |value: Value, expected: &str| assert_eq!(display(&value), expected);
        check(json!(null), "<nil>");
        check(json!(true), "true");
        check(json!(3), "3");
        check(json!(1e6), "1e+06");
        check(json!(0.5), "0.5");
        check(json!("a <b>"), "a <b>");
        check(json!(["a <b>", 1.0]), r#"["a \u003cb\u003e",1]"#);
        check(json!({ "b": 1, "a": {} }), r#"{"a":{},"b":1}"#);
    }
}
