//! Values in state files of this and of older providers.

use proptest::prelude::*;

use super::*;
use crate::testing::{any_type, any_value, render};
use crate::types::Type;
use crate::value::{Number, Object, Value};

#[test]
fn values_are_encoded_as_in_a_state_file() {
    let check = |value: Value, ty: &Type, json: &str| {
        assert_eq!(String::from_utf8(encode(value.clone(), ty).unwrap()).unwrap(), json);
        assert_eq!(
            render(&decode(json.as_bytes(), ty, UndefinedAttributes::Refuse).unwrap()),
            render(&value)
        );
    };
    let big = Number::parse("12345678901234567890.123456789").unwrap();
    check(Value::Number(big), &Type::Number, "12345678901234567890.123456789");
    check("a\n\"é".into(), &Type::String, r#""a\n\"é""#);
    check(Value::set(["b".into(), "a".into()]), &Type::set(Type::String), r#"["a","b"]"#);
    let ty = Type::object([("a", Type::map(Type::Bool)), ("b", Type::Number)]);
    check(
        Object::from([("a", Value::from(Object::from([("k", true)]))), ("b", Value::Null)]).into(),
        &ty,
        r#"{"a":{"k":true},"b":null}"#,
    );
    check(Value::dynamic(vec![1].into()), &Type::Dynamic, r#"{"value":[1],"type":["tuple",["number"]]}"#);
    check(Value::dynamic_of(Type::Bool, Value::Null), &Type::Dynamic, r#"{"value":null,"type":"bool"}"#);
}

#[test]
fn older_states_are_understood() {
    let check = |json: &str, ty: &Type, expected: &str| {
        assert_eq!(
            render(&decode(json.as_bytes(), ty, UndefinedAttributes::Ignore).unwrap()),
            expected,
            "{json}"
        );
    };
    check(r#""12.50""#, &Type::Number, "12.5");
    check("1e3", &Type::Number, "1000");
    check(r#""true""#, &Type::Bool, "true");
    check("0", &Type::Bool, "false");
    check("1.50", &Type::String, "\"1.50\"");
    check("true", &Type::String, "\"true\"");
    check(r#"{"type":"bool","value":true}"#, &Type::Dynamic, "true as \"bool\"");
    // Absent attributes are null; attributes the schema has lost are dropped.
    check(r#"{"gone":{"x":[1]}}"#, &Type::object([("a", Type::String)]), "{\"a\": null}");
}

#[test]
fn json_of_another_type_is_refused_without_quoting_it() {
    let check = |json: &str, ty: &Type, message: &str| {
        assert_eq!(
            decode(json.as_bytes(), ty, UndefinedAttributes::Refuse).unwrap_err().to_string(),
            message,
            "{json}"
        );
    };
    check("", &Type::Bool, "the resource: not JSON at line 1, column 0");
    check("{\"a\":\n}", &Type::map(Type::Bool), "the resource: not JSON at line 2, column 1");
    check("true false", &Type::Bool, "the resource: not JSON at line 1, column 6");
    check(r#""secret""#, &Type::Bool, "the resource: expected a bool");
    check(r#""secret""#, &Type::Number, "the resource: expected a number");
    check("{}", &Type::String, "the resource: expected a string");
    check(r#""secret""#, &Type::list(Type::Bool), "the resource: not of the expected type");
    check(r#"{"a":[true,"secret"]}"#, &Type::map(Type::list(Type::Bool)), r#"["a"][1]: expected a bool"#);
    check("[1]", &Type::Tuple(vec![]), "the resource: expected a tuple of 0, found 1 elements");
    check(r#"{"b":1}"#, &Type::object([("a", Type::Bool)]), "the resource: there is no attribute \"b\"");
    check(r#"{"value":1}"#, &Type::Dynamic, "the resource: not of the expected type");
    check(r#"{"value":1,"type":"dynamic"}"#, &Type::Dynamic, "the resource: a value whose type is dynamic");
}

#[test]
fn an_unknown_value_has_no_json() {
    assert!(encode(Value::from(vec![Value::unknown()]), &Type::list(Type::Bool)).is_err());
}

proptest! {
    #[test]
    fn every_known_value_round_trips(
        (ty, value) in any_type().prop_flat_map(|ty| (Just(ty.clone()), any_value(&ty, false)))
    ) {
        let encoded = encode(value.clone(), &ty).unwrap();
        prop_assert_eq!(render(&decode(&encoded, &ty, UndefinedAttributes::Refuse).unwrap()), render(&value));
    }

    #[test]
    fn no_text_makes_the_decoder_panic(ty in any_type(), text in "\\PC{0,40}|[\\[{\"a:1,}\\]]{0,20}") {
        let _ = decode(text.as_bytes(), &ty, UndefinedAttributes::Ignore);
    }
}
