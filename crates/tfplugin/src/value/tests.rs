//! Conforming, comparing and redacting values.

use super::*;

fn object(ty: &[(&str, Type)]) -> Type {
    Type::object(ty.iter().map(|(name, ty)| (*name, ty.clone())))
}

#[test]
fn conforming_fills_in_what_a_provider_omits() {
    let ty = object(&[("a", Type::String), ("tags", Type::set(Type::String)), ("any", Type::Dynamic)]);
    let value = Value::from(Object::from([
        ("tags", Value::from(vec!["b", "a", "b"])),
        ("any", Value::from(Object::from([("n", Value::from(vec![Value::from(1), Value::Null]))]))),
    ]));
    let conformed = value.conform(&ty).unwrap();
    let object = conformed.as_object().unwrap();
    assert!(object.find("a").unwrap().is_null());
    assert_eq!(object.get("tags").as_elements().unwrap(), [Value::from("a"), Value::from("b")]);
    let Value::Dynamic(any) = object.get("any") else { panic!("any is dynamic") };
    assert_eq!(any.ty.to_string(), r#"["object",{"n":["tuple",["number","dynamic"]]}]"#);
}

#[test]
fn what_does_not_conform_is_reported_with_its_path_and_without_its_value() {
    let check = |ty: &Type, value: Value, message: &str| {
        assert_eq!(value.conform(ty).unwrap_err().to_string(), message);
    };
    let ty = object(&[("list", Type::list(Type::Bool)), ("map", Type::map(Type::Number))]);
    check(&ty, Value::from("secret"), "the resource: expected an object, found a string");
    check(
        &ty,
        Object::from([("list", Value::from(vec![Value::from(true), Value::from("secret")]))]).into(),
        "list[1]: expected a bool, found a string",
    );
    check(
        &ty,
        Object::from([("map", Value::from(Object::from([("k", Value::from(true))])))]).into(),
        r#"map["k"]: expected a number, found a bool"#,
    );
    check(&ty, Object::from([("mop", 1)]).into(), "mop: expected no such attribute, found one");
    check(
        &Type::Tuple(vec![Type::Bool]),
        Value::from(vec![true, false]),
        "the resource: expected a tuple of 1, found a list",
    );
}

#[test]
fn sets_ignore_order_and_keep_every_unknown() {
    let set = |texts: &[&str]| Value::set(texts.iter().map(|text| Value::from(*text)));
    assert_eq!(set(&["a", "b", "a"]), set(&["b", "a"]));
    assert_eq!(Value::set([Value::unknown(), Value::unknown()]).as_elements().unwrap().len(), 2);
}

#[test]
fn debug_output_shows_no_content() {
    let value = Value::from(Object::from([("token", Value::from("hunter2")), ("n", Value::from(42))]));
    assert_eq!(format!("{value:?}"), r#"{"n": number, "token": string(7 bytes)}"#);
}

#[test]
fn a_refinement_allows_only_what_it_promises() {
    let check = |refinement: &Refinement, value: Value, allowed: bool| {
        assert_eq!(refinement.allows(&value), allowed, "{value:?}");
    };
    check(&Refinement::default(), Value::Null, true);
    check(&Refinement::not_null(), Value::Null, false);
    check(&Refinement::prefix("pod-"), "pod-1".into(), true);
    check(&Refinement::prefix("pod-"), "po".into(), false);
    let bound = |number: i64, inclusive| Some(Bound { number: number.into(), inclusive });
    let range = Refinement { min: bound(1, true), max: bound(9, false), ..Refinement::default() };
    check(&range, 1.into(), true);
    check(&range, 9.into(), false);
    check(&range, 0.into(), false);
    let length = Refinement { min_length: Some(1), max_length: Some(2), ..Refinement::default() };
    check(&length, Value::from(vec![1]), true);
    check(&length, Value::from(Vec::<i64>::new()), false);
    check(&length, Value::from(vec![1, 2, 3]), false);
}
