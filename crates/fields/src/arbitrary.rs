//! Random paths, sets and values for property tests, from an alphabet so small that they meet often.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{FieldPath, FieldSet, PathElement};

/// A value that can name a list element.
pub(crate) fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-2_i64..3).prop_map(Value::from),
        prop_oneof![Just(0.5), Just(-0.0), Just(1.0), Just(1e21), Just(1e-7)].prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ]
}

/// Names and strings: plain ones, ones with dots and slashes, and ones that need escaping.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[abc]",
        2 => prop_oneof![Just("a.b/c".to_owned()), Just("name".to_owned()), Just(String::new())],
        1 => "[a<>&\"\\\\\n\u{1}\u{8}\u{7f}\u{2028}é💻 .]{0,3}",
    ]
}

pub(crate) fn element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        6 => text().prop_map(|name| PathElement::field(&name)),
        2 => prop::collection::vec((text(), scalar()), 1..3).prop_map(PathElement::key),
        2 => value().prop_map(PathElement::value),
        1 => (0_usize..3).prop_map(PathElement::Index),
    ]
}

pub(crate) fn path() -> impl Strategy<Value = FieldPath> {
    prop::collection::vec(element(), 1..5).prop_map(|elements| elements.into_iter().collect())
}

pub(crate) fn set() -> impl Strategy<Value = FieldSet> {
    prop::collection::vec(path(), 0..12).prop_map(|paths| paths.into_iter().collect())
}

/// Any JSON value of little depth.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![8 => scalar(), 1 => Just(Value::Null), 1 => Just(json!({})), 1 => Just(json!([]))];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}
