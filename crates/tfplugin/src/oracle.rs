//! Compares our encoding of values with that of go-cty, Terraform's own library.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};
use testkit::oracle::Oracle;
use unicode_normalization::UnicodeNormalization;

use crate::json::{self, UndefinedAttributes};
use crate::msgpack;
use crate::testing::{any_type, any_value, render};
use crate::types::Type;
use crate::value::Value;

const CASES: usize = 2_000;

/// Elements of a Terraform collection have one type, so none is dynamic.
fn is_possible(ty: &Type) -> bool {
    match ty {
        Type::List(element) | Type::Set(element) | Type::Map(element) => !has_dynamic(element),
        Type::Tuple(types) => types.iter().all(is_possible),
        Type::Object(attributes) => attributes.values().all(is_possible),
        Type::Bool | Type::Number | Type::String | Type::Dynamic => true,
    }
}

fn has_dynamic(ty: &Type) -> bool {
    match ty {
        Type::Dynamic => true,
        Type::List(element) | Type::Set(element) | Type::Map(element) => has_dynamic(element),
        Type::Tuple(types) => types.iter().any(has_dynamic),
        Type::Object(attributes) => attributes.values().any(has_dynamic),
        Type::Bool | Type::Number | Type::String => false,
    }
}

/// go-cty treats a set with an unknown element as unknown.
fn has_unknown_in_set(value: &Value) -> bool {
    match value {
        Value::Set(elements) => !elements.iter().all(Value::is_wholly_known),
        Value::Dynamic(dynamic) => has_unknown_in_set(&dynamic.value),
        Value::List(elements) => elements.iter().any(has_unknown_in_set),
        Value::Object(object) => object.iter().any(|(_, value)| has_unknown_in_set(value)),
        _ => false,
    }
}

/// The value with its strings in NFC, as go-cty keeps them.
fn composed(value: &Value) -> Value {
    match value {
        Value::String(text) => text.nfc().collect::<String>().into(),
        Value::List(values) => Value::List(values.iter().map(composed).collect()),
        Value::Set(values) => Value::Set(values.iter().map(composed).collect()),
        Value::Object(object) => Value::Object(
            object.iter().map(|(name, value)| (name.nfc().collect::<String>(), composed(value))).collect(),
        ),
        Value::Dynamic(dynamic) => Value::dynamic_of(dynamic.ty.clone(), composed(&dynamic.value)),
        other => other.clone(),
    }
}

fn cases(unknowns: bool) -> Vec<(Type, Value)> {
    let strategy = any_type()
        .prop_filter("not a type of Terraform", is_possible)
        .prop_flat_map(move |ty| (Just(ty.clone()), any_value(&ty, unknowns)))
        .prop_filter("not a value of go-cty", |(_, value)| !has_unknown_in_set(value));
    let mut runner = TestRunner::deterministic();
    std::iter::repeat_with(|| strategy.new_tree(&mut runner).unwrap().current()).take(CASES).collect()
}

fn check(op: &str, cases: &[(Type, Value)], request: impl Fn(&Type, &Value) -> Json) {
    let requests = cases.iter().map(|(ty, value)| request(ty, value));
    let responses = Oracle::shared().ask_all(op, requests);
    for ((ty, value), response) in cases.iter().zip(responses) {
        let what = format!("{} as {ty}", render(value));
        let response = response.unwrap_or_else(|error| panic!("{what}: {error}"));
        let bytes = BASE64.decode(response["msgpack"].as_str().unwrap()).unwrap();
        let read = msgpack::decode(&bytes, ty).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(render(&read), render(&composed(value)), "{what}");
        if let Some(written) = response["json"].as_str() {
            let read = json::decode(written.as_bytes(), ty, UndefinedAttributes::Refuse);
            let read = read.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(render(&read), render(&composed(value)), "{what}");
        }
    }
}

#[test]
fn go_cty_and_we_read_each_others_messagepack() {
    check("cty.msgpack", &cases(true), |ty, value| {
        let bytes = msgpack::encode(value.clone(), ty).unwrap();
        json!({ "type": ty.to_json(), "msgpack": BASE64.encode(bytes) })
    });
}

#[test]
fn go_cty_and_we_read_each_others_json() {
    check("cty.json", &cases(false), |ty, value| {
        let text = String::from_utf8(json::encode(value.clone(), ty).unwrap()).unwrap();
        json!({ "type": ty.to_json(), "json": text })
    });
}
