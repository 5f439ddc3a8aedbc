//! go-cty's encoding, and malformed bytes.

use proptest::prelude::*;

use super::*;
use crate::testing::{any_type, any_value, render};
use crate::types::Type;
use crate::value::{Bound, Number, Object, Refinement, Value};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn number(text: &str) -> Value {
    Value::Number(Number::parse(text).unwrap())
}

#[test]
fn values_are_encoded_as_go_cty_encodes_them() {
    let check = |value: Value, ty: &Type, expected: &str| {
        let encoded = encode(value.clone(), ty).unwrap();
        assert_eq!(hex(&encoded), expected.replace(' ', ""), "{} as {ty}", render(&value));
        assert_eq!(render(&decode(&encoded, ty).unwrap()), render(&value));
    };
    check(Value::Null, &Type::String, "c0");
    check(Value::unknown(), &Type::String, "d4 00 00");
    check(true.into(), &Type::Bool, "c3");
    check(5.into(), &Type::Number, "05");
    check((-1).into(), &Type::Number, "ff");
    check(300.into(), &Type::Number, "cd 012c");
    check(number("0.5"), &Type::Number, "cb 3fe0000000000000");
    check(number("0.1"), &Type::Number, "a3 302e31");
    check(number("12345678901234567890"), &Type::Number, "b4 3132333435363738393031323334353637383930");
    check("é".into(), &Type::String, "a2 c3a9");
    check(Value::from(vec![true]), &Type::list(Type::Bool), "91 c3");
    check(Value::set(["b".into(), "a".into()]), &Type::set(Type::String), "92 a161 a162");
    check(Object::from([("k", 1)]).into(), &Type::map(Type::Number), "81 a16b 01");
    check(
        Value::from(vec![Value::from(1), Value::from(true)]),
        &Type::Tuple(vec![Type::Number, Type::Bool]),
        "92 01 c3",
    );
    let ty = Type::object([("a", Type::String), ("b", Type::Number)]);
    check(Object::from([("a", Value::Null), ("b", 1.into())]).into(), &ty, "82 a161 c0 a162 01");
    check(Value::dynamic("x".into()), &Type::Dynamic, "92 c408 22737472696e6722 a178");
    check(Value::dynamic_of(Type::Bool, Value::Null), &Type::Dynamic, "92 c406 22626f6f6c22 c0");
    check(Value::dynamic_of(Type::Bool, Value::unknown()), &Type::Dynamic, "92 c406 22626f6f6c22 d40000");
    check(Value::unknown_with(Refinement::not_null()), &Type::Bool, "c7 03 0c 81 01 c2");
    check(Value::unknown_with(Refinement::prefix("ab")), &Type::String, "c7 07 0c 82 01 c2 02 a2 6162");
    let at_least_one =
        Refinement { min: Some(Bound { number: 1_i64.into(), inclusive: true }), ..Refinement::default() };
    check(Value::unknown_with(at_least_one), &Type::Number, "c7 05 0c 81 03 92 01 c3");
    let one_to_two = Refinement { min_length: Some(1), max_length: Some(2), ..Refinement::default() };
    check(Value::unknown_with(one_to_two), &Type::list(Type::Bool), "c7 05 0c 82 05 01 06 02");
}

#[test]
fn omitted_attributes_are_written_as_null() {
    let ty = Type::object([("a", Type::String), ("b", Type::Number)]);
    assert_eq!(hex(&encode(Object::from([("b", 1)]).into(), &ty).unwrap()), "82a161c0a16201");
}

#[test]
fn alternative_encodings_are_understood() {
    let check = |encoded: &str, ty: &Type, expected: &str| {
        assert_eq!(render(&decode(&bytes(encoded), ty).unwrap()), expected, "{encoded}");
    };
    check("d3 0000000000000005", &Type::Number, "5");
    check("cf ffffffffffffffff", &Type::Number, "18446744073709551615");
    check("ca 3f000000", &Type::Number, "0.5");
    check("cb 4008000000000000", &Type::Number, "3");
    check("d9 01 61", &Type::String, "\"a\"");
    check("dc 0001 c3", &Type::list(Type::Bool), "[true]");
    check("de 0001 a161 c3", &Type::map(Type::Bool), "{\"a\": true}");
    // Every extension is an unknown value, and unknown keys of a refinement are skipped.
    check("d5 05 0000", &Type::Bool, "unknown");
    check("c7 08 0c 82 20 92 01 c3 01 c2 00", &Type::Bool, "unknown(true \"\" None None None None)");
    check("92 c409 2264796e616d696322 c0", &Type::Dynamic, "null");
    check("92 a6 22626f6f6c22 c3", &Type::Dynamic, "true as \"bool\"");
}

#[test]
fn a_long_prefix_is_cut_between_characters() {
    let prefix = "é".repeat(300);
    let encoded = encode(Value::unknown_with(Refinement::prefix(prefix.clone())), &Type::String).unwrap();
    let Value::Unknown(refinement) = decode(&encoded, &Type::String).unwrap() else { panic!("unknown") };
    assert_eq!(refinement.prefix, prefix[..254]);
}

#[test]
fn bytes_of_another_type_are_refused_with_the_path() {
    let check = |encoded: &str, ty: &Type, message: &str| {
        assert_eq!(decode(&bytes(encoded), ty).unwrap_err().to_string(), message, "{encoded}");
    };
    let ty = Type::object([("a", Type::list(Type::String)), ("b", Type::Number)]);
    check("", &ty, "the resource: the bytes end too early");
    check("c3 c3", &Type::Bool, "the resource: there are bytes after the value");
    check("82 a161 91 c3 a162 01", &ty, "a[0]: expected a string");
    check("82 a161 91 a1", &ty, "a[0]: the bytes end too early");
    check("81 a162 01", &ty, "the resource: expected 2 attributes, found 1");
    check("82 a162 01 a162 02", &ty, "the resource: expected 2 attributes, found 1");
    check("82 a162 01 a163 02", &ty, "the resource: there is no attribute \"c\"");
    check("a1 ff", &Type::String, "the resource: a string that is not UTF-8");
    check("a2 6869", &Type::Number, "the resource: a string that is not a number");
    check("cb 7ff8000000000000", &Type::Number, "the resource: NaN is not a number");
    check("91 c3", &Type::Dynamic, "the resource: expected a type and a value");
    check("92 c401 78 c3", &Type::Dynamic, "the resource: not a type: expected value at line 1 column 1");
    check("c7 03 0c 81 02 a0", &Type::Bool, "the resource: a refinement that the type does not allow");
}

#[test]
fn excessive_lengths_allocate_nothing() {
    for encoded in ["dd ffffffff", "df ffffffff", "db ffffffff", "c6 ffffffff", "c9 ffffffff 0c"] {
        for ty in [Type::list(Type::Bool), Type::map(Type::Bool), Type::String, Type::Dynamic, Type::Number] {
            decode(&bytes(encoded), &ty).unwrap_err();
        }
    }
}

#[test]
fn nesting_of_dynamic_values_is_limited() {
    let mut encoded = Vec::new();
    for _ in 0..10_000 {
        encoded.extend(bytes("92 c409 2264796e616d696322"));
    }
    encoded.push(0xc0);
    let error = decode(&encoded, &Type::Dynamic).unwrap_err();
    assert_eq!(error.problem, "nested deeper than 100 levels");
}

proptest! {
    #[test]
    fn every_value_round_trips(
        (ty, value) in any_type().prop_flat_map(|ty| (Just(ty.clone()), any_value(&ty, true)))
    ) {
        let encoded = encode(value.clone(), &ty).unwrap();
        prop_assert_eq!(render(&decode(&encoded, &ty).unwrap()), render(&value));
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(ty in any_type(), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = decode(&bytes, &ty);
    }

    #[test]
    fn no_corruption_makes_the_decoder_panic(
        (ty, value) in any_type().prop_flat_map(|ty| (Just(ty.clone()), any_value(&ty, true))),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut encoded = encode(value, &ty).unwrap();
        let at = at.index(encoded.len());
        encoded[at] = byte;
        let _ = decode(&encoded, &ty);
    }
}
