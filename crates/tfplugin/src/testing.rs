//! Generators of types and values for tests, and a readable form of values.

use std::fmt::Write;

use proptest::prelude::*;

use crate::types::Type;
use crate::value::{Bound, Number, Object, Refinement, Value};

/// The value with its content, which `Debug` hides.
pub(crate) fn render(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Null => out.push_str("null"),
        Value::Unknown(refinement) => {
            out.push_str("unknown");
            let Refinement { not_null, prefix, min, max, min_length, max_length } = &**refinement;
            if **refinement != Refinement::default() {
                write!(out, "({not_null} {prefix:?} {min:?} {max:?} {min_length:?} {max_length:?})").unwrap();
            }
        }
        Value::Bool(value) => write!(out, "{value}").unwrap(),
        Value::Number(number) => write!(out, "{number}").unwrap(),
        Value::String(text) => write!(out, "{text:?}").unwrap(),
        Value::List(values) => write!(out, "[{}]", elements(values)).unwrap(),
        Value::Set(values) => write!(out, "set[{}]", elements(values)).unwrap(),
        Value::Object(object) => {
            let entries: Vec<_> =
                object.iter().map(|(name, value)| format!("{name:?}: {}", render(value))).collect();
            write!(out, "{{{}}}", entries.join(", ")).unwrap();
        }
        Value::Dynamic(dynamic) => write!(out, "{} as {}", render(&dynamic.value), dynamic.ty).unwrap(),
    }
    out
}

fn elements(values: &[Value]) -> String {
    values.iter().map(render).collect::<Vec<_>>().join(", ")
}

/// Any type, a few levels deep.
pub(crate) fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![Just(Type::Bool), Just(Type::Number), Just(Type::String), Just(Type::Dynamic)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::set),
            inner.clone().prop_map(Type::map),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Type::Tuple),
            prop::collection::btree_map("[a-c]{1,2}", inner, 0..3).prop_map(Type::Object),
        ]
    })
}

/// Any value of a type; with `unknowns`, parts of it may be unknown.
pub(crate) fn any_value(ty: &Type, unknowns: bool) -> BoxedStrategy<Value> {
    let known = match ty {
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::Number => any_number().prop_map(Value::Number).boxed(),
        Type::String => "\\PC{0,6}|[a-z]{40}".prop_map(Value::String).boxed(),
        Type::Dynamic => {
            let concrete = any_type().prop_filter("the type of a value is concrete", is_concrete);
            concrete
                .prop_flat_map(move |ty| any_value(&ty, unknowns).prop_map(move |value| (ty.clone(), value)))
                .prop_map(|(ty, value)| Value::dynamic_of(ty, value))
                .boxed()
        }
        Type::List(element) => {
            prop::collection::vec(any_value(element, unknowns), 0..3).prop_map(Value::List).boxed()
        }
        Type::Set(element) => {
            prop::collection::vec(any_value(element, unknowns), 0..3).prop_map(Value::set).boxed()
        }
        Type::Map(element) => prop::collection::btree_map("\\PC{0,3}", any_value(element, unknowns), 0..3)
            .prop_map(|entries| Value::Object(entries.into_iter().collect()))
            .boxed(),
        Type::Tuple(types) => {
            types.iter().map(|ty| any_value(ty, unknowns)).collect::<Vec<_>>().prop_map(Value::List).boxed()
        }
        Type::Object(attributes) => {
            let names: Vec<String> = attributes.keys().cloned().collect();
            let values: Vec<_> = attributes.values().map(|ty| any_value(ty, unknowns)).collect();
            values
                .prop_map(move |values| Value::Object(names.iter().cloned().zip(values).collect::<Object>()))
                .boxed()
        }
    };
    if unknowns {
        prop_oneof![8 => known, 1 => Just(Value::Null), 1 => any_unknown(ty)].boxed()
    } else {
        prop_oneof![8 => known, 1 => Just(Value::Null)].boxed()
    }
}

/// Whether the type contains no dynamic type.
pub(crate) fn is_concrete(ty: &Type) -> bool {
    match ty {
        Type::Dynamic => false,
        Type::Bool | Type::Number | Type::String => true,
        Type::List(element) | Type::Set(element) | Type::Map(element) => is_concrete(element),
        Type::Tuple(types) => types.iter().all(is_concrete),
        Type::Object(attributes) => attributes.values().all(is_concrete),
    }
}

fn any_number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        (-1e6..1e6_f64).prop_map(|float| Number::parse(&float.to_string()).unwrap()),
        (-1e6..1e6_f64).prop_map(|float| Number::from_exact_f64(float).unwrap()),
        "-?[1-9][0-9]{0,30}(\\.[0-9]{1,20})?".prop_map(|text| Number::parse(&text).unwrap()),
    ]
}

fn any_unknown(ty: &Type) -> BoxedStrategy<Value> {
    let refined = match ty {
        Type::Dynamic => Just(Refinement::default()).boxed(),
        Type::String => "[a-z]{0,5}".prop_map(Refinement::prefix).boxed(),
        Type::Number => (any_number(), any::<bool>())
            .prop_map(|(number, inclusive)| Refinement {
                min: Some(Bound { number, inclusive }),
                ..Refinement::not_null()
            })
            .boxed(),
        Type::List(_) | Type::Set(_) | Type::Map(_) => (1..4_u64, 4..9_u64)
            .prop_map(|(min, max)| Refinement {
                min_length: Some(min),
                max_length: Some(max),
                ..Refinement::default()
            })
            .boxed(),
        _ => Just(Refinement::not_null()).boxed(),
    };
    prop_oneof![Just(Value::unknown()), refined.prop_map(Value::unknown_with)].boxed()
}
