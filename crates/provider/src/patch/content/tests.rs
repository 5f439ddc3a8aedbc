use manifest::Namespace;

use super::*;

fn content(name: &str, text: &str) -> Content {
    let attributes = Object::from([(name, text)]);
    Content::of(&attributes).unwrap().unwrap_or_else(|problem| panic!("{problem:?}"))
}

fn target() -> ObjectRef {
    ObjectRef::new("v1/ConfigMap".parse().unwrap(), Namespace::new("shop"), "settings")
}

#[test]
fn patches_are_compared_by_content() {
    let check = |name: &str, one: &str, other: &str, same: bool| {
        assert_eq!(content(name, one) == content(name, other), same, "{one} {other}");
    };
    check("patch", "data: {a: b}", "# why\ndata:\n  a: b\n", true);
    check("patch", "data: {a: b}", "{\"data\":{\"a\":\"c\"}}", false);
    check(
        "json_patch",
        "[{\"op\":\"remove\",\"path\":\"/a\"}]",
        "[ {\"path\":\"/a\", \"op\":\"remove\"} ]",
        true,
    );
    check("merge_patch", "{\"a\":1,\"b\":null}", "{\"b\": null, \"a\": 1}", true);
}

#[test]
fn an_unreadable_patch_is_an_error() {
    let check = |name: &str, text: &str| {
        let problem = Content::of(&Object::from([(name, text)])).unwrap().err().unwrap();
        assert_eq!(problem.summary, "Failed to Parse Patch");
    };
    check("patch", "a: [");
    check("patch", "- a");
    check("json_patch", "{}");
    check("merge_patch", "a: b");
    assert!(Content::of(&Object::new()).is_none());
}

#[test]
fn an_apply_names_its_target_and_never_creates_it() {
    let live = json!({"metadata": {"uid": "1"}});
    let sent = content("patch", "data: {a: b}\nkind: Wrong").to_send(&target(), &live, None);
    assert_eq!(
        sent,
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
            "metadata": {"name": "settings", "namespace": "shop", "uid": "1"},
        })
    );
}

#[test]
fn operations_that_are_done_are_not_done_again() {
    let live = json!({"list": [{"name": "a"}], "a/b": 1, "moved": 2});
    let check = |operation: Value, due: bool| {
        let patch = Content::Json(vec![operation.clone()]);
        let again = patch.to_send(&target(), &live, Some(&patch));
        assert_eq!(!Content::is_nothing(&again), due, "{operation}");
        let first = patch.to_send(&target(), &live, None);
        assert_eq!(first, json!([operation]), "a new operation is always done");
    };
    check(json!({"op": "add", "path": "/list/-", "value": {"name": "a"}}), false);
    check(json!({"op": "add", "path": "/list/-", "value": {"name": "b"}}), true);
    check(json!({"op": "remove", "path": "/gone"}), false);
    check(json!({"op": "remove", "path": "/a~1b"}), true);
    check(json!({"op": "move", "from": "/gone", "path": "/moved"}), false);
    check(json!({"op": "replace", "path": "/moved", "value": 2}), true);
    check(json!({"op": "test", "path": "/moved", "value": 2}), true);

    let replace = json!({"op": "replace", "path": "/moved", "value": 2});
    let patch = Content::Json(vec![json!({"op": "test", "path": "/moved", "value": 1}), replace.clone()]);
    assert_eq!(patch.to_send(&target(), &live, Some(&patch)), json!([replace]));
}

#[test]
fn the_covered_part_does_not_depend_on_its_manager() {
    let live = json!({"data": {"a": "1", "b": "2"}, "list": [1]});
    let merge = content("merge_patch", r#"{"data":{"a":"1","gone":null}}"#);
    assert_eq!(merge.touched(&live), json!({"data": {"a": "1", "gone": null}}));
    let operations = r#"[{"op":"add","path":"/list/-","value":1},{"op":"remove","path":"/data/c"}]"#;
    assert_eq!(content("json_patch", operations).touched(&live), json!([[1], null]));
}
