use serde_json::json;

use super::*;

fn object(labels: &Value) -> Object {
    json_object::from_value(json!({"metadata": {"name": "a", "labels": labels}}))
}

#[test]
fn objects_belong_to_the_shard_that_selects_their_labels() {
    let check = |selector: &str, labels: Value, expected: bool| {
        let shard: Shard = selector.parse().unwrap();
        assert_eq!(shard.selects(&object(&labels)), expected, "{selector} on {labels}");
        assert_eq!(shard.within(None).as_deref(), Some(selector));
    };
    let key = "plimsoll.dev/shard";
    for (selector, without, one, two) in [
        ("plimsoll.dev/shard=one", false, true, false),
        ("plimsoll.dev/shard == one", false, true, false),
        ("plimsoll.dev/shard!=one", true, false, true),
        ("plimsoll.dev/shard", false, true, true),
        ("!plimsoll.dev/shard", true, false, false),
        ("plimsoll.dev/shard in (one, three)", false, true, false),
        ("plimsoll.dev/shard notin (one,three)", true, false, true),
        ("plimsoll.dev/shard,plimsoll.dev/shard!=two", false, true, false),
    ] {
        check(selector, Value::Null, without);
        check(selector, json!({key: "one"}), one);
        check(selector, json!({key: "two"}), two);
    }
    assert!(Shard::default().selects(&object(&json!({"any": "thing"}))));
    assert_eq!(Shard::default().within(Some("a=b".to_owned())).as_deref(), Some("a=b"));
    let shard: Shard = "x=y".parse().unwrap();
    assert_eq!(shard.within(Some("a=b".to_owned())).as_deref(), Some("a=b,x=y"));
}

#[test]
fn what_is_no_selector_is_named() {
    for (text, requirement) in [
        ("", ""),
        ("a=b,", ""),
        ("a b", "a b"),
        ("a=b,c in d", "c in d"),
        ("a in (b", "a in (b"),
        ("sh ard=one", "sh ard=one"),
        ("a=b c", "a=b c"),
    ] {
        let error = text.parse::<Shard>().unwrap_err();
        assert_eq!(error.requirement, requirement, "{text}");
    }
}

#[test]
fn composed_resources_belong_to_the_shard_of_their_xr() {
    let shard: Shard = "plimsoll.dev/shard=one,tier".parse().unwrap();
    let xr = object(&json!({"plimsoll.dev/shard": "one", "other": "label"}));
    let mut composed = object(&json!({"tier": "from a function", "app": "web"}));
    shard.carry_over(&xr, &mut composed);
    assert_eq!(composed["metadata"]["labels"], json!({"plimsoll.dev/shard": "one", "app": "web"}));
    let mut bare = json_object::from_value(json!({"metadata": {}}));
    shard.carry_over(&object(&Value::Null), &mut bare);
    assert_eq!(bare["metadata"], json!({}));
}

#[test]
fn each_shard_has_a_lease_of_its_own() {
    let name = |selector: &str| selector.parse::<Shard>().unwrap().lease_name();
    assert_eq!(Shard::default().lease_name(), "plimsoll-operator");
    assert_ne!(name("plimsoll.dev/shard=one"), name("plimsoll.dev/shard=two"));
    assert_eq!(name("plimsoll.dev/shard=one"), name(" plimsoll.dev/shard=one"));
    assert!(name("plimsoll.dev/shard=one").starts_with("plimsoll-operator-"));
}
