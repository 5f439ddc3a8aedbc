//! Our `Struct` compared with prost's.

use std::collections::BTreeMap;

use proptest::prelude::*;
use prost::Message;
use prost_types::value::Kind;
use serde_json::json;

use super::*;

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}

/// The same value in prost's own types.
fn prost_value(value: &Value) -> prost_types::Value {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(bool) => Kind::BoolValue(*bool),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap()),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(list) => {
            Kind::ListValue(prost_types::ListValue { values: list.iter().map(prost_value).collect() })
        }
        Value::Object(object) => Kind::StructValue(prost_struct(object)),
    };
    prost_types::Value { kind: Some(kind) }
}

fn prost_struct(object: &Object) -> prost_types::Struct {
    let fields: BTreeMap<_, _> =
        object.iter().map(|(key, value)| (key.clone(), prost_value(value))).collect();
    prost_types::Struct { fields: fields.into_iter().collect() }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1_i64 << 53)..=(1_i64 << 53)).prop_map(Value::from),
        // Halves are exact as doubles and not integers.
        any::<i32>().prop_map(|number| json!(f64::from(number) + 0.5)),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn objects_round_trip_and_prost_reads_them(
        fields in prop::collection::btree_map(".{0,6}", json(), 0..6),
    ) {
        let object: Object = fields.into_iter().collect();
        let message = Struct::new(&object);
        let bytes = message.encode_to_vec();
        prop_assert_eq!(bytes.len(), message.encoded_len());
        let read = prost_types::Struct::decode(bytes.as_slice()).unwrap();
        prop_assert_eq!(&read, &prost_struct(&object));
        let read = Struct::decode(bytes.as_slice()).unwrap();
        prop_assert_eq!(read.encode_to_vec(), bytes);
        prop_assert_eq!(read.into_object(), Ok(object.clone()));
        // prost writes fields in any order.
        let bytes = prost_struct(&object).encode_to_vec();
        prop_assert_eq!(Struct::decode(bytes.as_slice()).unwrap().into_object(), Ok(object));
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(message) = Struct::decode(bytes.as_slice()) {
            let _ = message.into_object();
        }
    }
}

#[test]
fn numbers_that_json_does_not_have_are_refused_with_their_path() {
    for (double, expected) in [
        (f64::NAN, "spec.list[1].x is a number that JSON does not have (NaN or infinite)"),
        (f64::NEG_INFINITY, "spec.list[1].x is a number that JSON does not have (NaN or infinite)"),
    ] {
        let mut message = prost_struct(&object(json!({"spec": {"list": [1, {"x": 1}]}})));
        let spec = message.fields.get_mut("spec").unwrap();
        let Some(Kind::StructValue(spec)) = &mut spec.kind else { panic!() };
        let Some(Kind::ListValue(list)) = &mut spec.fields.get_mut("list").unwrap().kind else { panic!() };
        let Some(Kind::StructValue(item)) = &mut list.values[1].kind else { panic!() };
        item.fields.insert("x".to_owned(), prost_types::Value { kind: Some(Kind::NumberValue(double)) });
        let read = Struct::decode(message.encode_to_vec().as_slice()).unwrap().into_object();
        assert_eq!(read.unwrap_err().to_string(), expected);
    }
}

#[test]
fn whole_doubles_within_64_bits_are_integers() {
    let check = |double: f64, expected: Value| {
        let value = prost_types::Value { kind: Some(Kind::NumberValue(double)) };
        let message = prost_types::Struct { fields: [("n".to_owned(), value)].into_iter().collect() };
        let read = Struct::decode(message.encode_to_vec().as_slice()).unwrap().into_object().unwrap();
        assert_eq!(read["n"], expected, "{double}");
    };
    check(3.0, json!(3));
    check(-0.0, json!(0));
    check(0.5, json!(0.5));
    check(-9_223_372_036_854_775_808.0, json!(i64::MIN));
    check(9_223_372_036_854_775_808.0, json!(9_223_372_036_854_775_808.0));
    check(1e300, json!(1e300));
}

#[test]
fn a_value_without_a_kind_is_null() {
    let message = prost_types::Struct {
        fields: [("n".to_owned(), prost_types::Value { kind: None })].into_iter().collect(),
    };
    let read = Struct::decode(message.encode_to_vec().as_slice()).unwrap().into_object();
    assert_eq!(read, Ok(object(json!({"n": null}))));
}

#[test]
fn integers_that_no_double_represents_are_found() {
    let found = inexact(&object(json!({
        "exact": 9_007_199_254_740_992_u64,
        "power": 1_u64 << 60,
        "half": 0.5,
        "spec": {"big": 9_007_199_254_740_993_u64, "list": [1, {"max": u64::MAX}, -9_007_199_254_740_993_i64]},
    })));
    let found: Vec<_> = found.into_iter().map(|(path, number)| format!("{path}={number}")).collect();
    assert_eq!(
        found,
        [
            "spec.big=9007199254740993",
            "spec.list[1].max=18446744073709551615",
            "spec.list[2]=-9007199254740993"
        ]
    );
}

#[test]
fn nesting_goes_deeper_than_prost_allows_but_is_bounded() {
    let nested = |levels: usize| {
        let mut value = json!({"type": "string"});
        for _ in 1..levels {
            value = json!({"properties": value});
        }
        object(value)
    };
    let deep = nested(150);
    let read = Struct::decode(Struct::new(&deep).encode_to_vec().as_slice()).unwrap().into_object();
    assert_eq!(read, Ok(deep));
    let read = Struct::decode(Struct::new(&nested(300)).encode_to_vec().as_slice()).unwrap().into_object();
    assert!(read.unwrap_err().to_string().ends_with("is nested more than 200 levels deep"));
}

#[test]
fn debug_output_shows_no_content() {
    assert_eq!(format!("{:?}", Struct::new(&object(json!({"password": "hunter2"})))), "Struct");
}
