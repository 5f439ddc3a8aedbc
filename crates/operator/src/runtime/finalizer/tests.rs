use super::*;

fn object(finalizers: &Value) -> Object {
    let object = json!({"metadata": {"name": "a", "finalizers": finalizers}});
    object.as_object().unwrap().clone()
}

#[test]
fn finalizers_change_only_when_they_have_to_and_those_of_others_stay() {
    let check = |before: Value, ours: &[&str], present: bool, expected: Option<&[&str]>| {
        let changed = changed(&object(&before), ours, present);
        let expected = expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(changed, expected, "{before} {ours:?} {present}");
    };
    check(json!([]), &["a", "b"], true, Some(&["a", "b"]));
    check(json!(["x", "a"]), &["a", "b"], true, Some(&["x", "a", "b"]));
    check(json!(["a", "b"]), &["a", "b"], true, None);
    check(json!(["a", "x", "b"]), &["a", "b"], false, Some(&["x"]));
    check(json!(["x"]), &["a"], false, None);
    check(Value::Null, &["a"], false, None);
}

#[test]
fn a_finalizer_is_added_once_to_an_object_that_is_about_to_be_written() {
    let mut held = Object::new();
    for name in ["ours", "theirs", "ours"] {
        add(&mut held, name);
    }
    assert_eq!(held["metadata"]["finalizers"], json!(["ours", "theirs"]));
    assert!(is_present(&held, "ours") && !is_present(&Object::new(), "ours"));
}
