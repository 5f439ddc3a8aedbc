//! Values compared with what go-cty, Terraform's own library, makes of the same bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};
use testkit::oracle::Oracle;
use unicode_normalization::UnicodeNormalization;

use crate::json::{self, Undefined};
use crate::msgpack;
use crate::testing::{any_type, any_value, shown};
use crate::types::Type;
use crate::value::Value;

/// How many values of any kind are compared.
const CASES: usize = 2_000;

/// Terraform has no collections of elements whose types differ, so a dynamic value stands in none.
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

/// go-cty takes a set with an unknown element for an unknown set.
fn has_unknown_in_set(value: &Value) -> bool {
    match value {
        Value::Set(elements) => !elements.iter().all(Value::is_wholly_known),
        Value::Dynamic(dynamic) => has_unknown_in_set(&dynamic.value),
        Value::List(elements) => elements.iter().any(has_unknown_in_set),
        Value::Object(object) => object.iter().any(|(_, value)| has_unknown_in_set(value)),
        _ => false,
    }
}

/// The value with its texts composed, as go-cty keeps them.
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

fn check(op: &str, cases: &[(Type, Value)], question: impl Fn(&Type, &Value) -> Json) {
    let questions = cases.iter().map(|(ty, value)| question(ty, value));
    let answers = Oracle::shared().ask_all(op, questions);
    for ((ty, value), answer) in cases.iter().zip(answers) {
        let what = format!("{} as {ty}", shown(value));
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        let bytes = BASE64.decode(answer["msgpack"].as_str().unwrap()).unwrap();
        let read = msgpack::decode(&bytes, ty).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(shown(&read), shown(&composed(value)), "{what}");
        if let Some(written) = answer["json"].as_str() {
            let read = json::decode(written.as_bytes(), ty, Undefined::Refuse);
            let read = read.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(shown(&read), shown(&composed(value)), "{what}");
        }
    }
}

#[test]
fn go_cty_reads_our_messagepack_and_we_read_its() {
    check("cty.msgpack", &cases(true), |ty, value| {
        let bytes = msgpack::encode(value.clone(), ty).unwrap();
        json!({ "type": ty.to_json(), "msgpack": BASE64.encode(bytes) })
    });
}

#[test]
fn go_cty_reads_our_json_and_we_read_its() {
    check("cty.json", &cases(false), |ty, value| {
        let text = String::from_utf8(json::encode(value.clone(), ty).unwrap()).unwrap();
        json!({ "type": ty.to_json(), "json": text })
    });
}
