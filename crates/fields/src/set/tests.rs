//! What sets read, write and answer, and the laws they keep.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::arbitrary;

/// What Kubernetes wrote for a Deployment, a Service and a Namespace.
const WIRE: &[&str] = &[
    "{}",
    r#"{"f:metadata":{"f:annotations":{".":{},"f:deployment.kubernetes.io/revision":{}},"f:finalizers":{".":{},"v:\"kubernetes\"":{}}}}"#,
    r#"{"f:spec":{"f:ports":{"k:{\"port\":53,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":53,\"protocol\":\"UDP\"}":{".":{},"f:port":{}}}}}"#,
    r#"{"f:spec":{"f:x":{"k:{\"name\":\"\\u003ca\\u003e \\\" 💻\"}":{},"v:1":{},"v:2.5":{},"v:true":{},"v:null":{},"i:3":{}}}}"#,
];

#[test]
fn what_the_api_server_writes_survives_reading_and_writing() {
    for text in WIRE {
        let set = FieldSet::from_json(text).unwrap();
        assert_eq!(set.to_json(), *text);
        assert_eq!(FieldSet::from_value(&set.to_value()).unwrap(), set);
    }
}

#[test]
fn reading_forgives_what_structured_merge_diff_forgives() {
    let check = |text, normal| assert_eq!(FieldSet::from_json(text).unwrap().to_json(), normal, "{text}");
    check("null", "{}");
    check(r#"{"f:a":null}"#, r#"{"f:a":{}}"#);
    check(r#"{"f:b":{},"f:a":{}}"#, r#"{"f:a":{},"f:b":{}}"#);
    check(r#"{"f:a":{".":{"anything":1}}}"#, r#"{"f:a":{}}"#);
    check(r#"{"x:later":{"f:a":{}},"f:a":{"x:later":{}}}"#, r#"{"f:a":{}}"#);
    check(r#"{"k:{ \"b\":1,\"a\":2}":{}}"#, r#"{"k:{\"a\":2,\"b\":1}":{}}"#);
    // Said twice: membership adds up, of what is below the later one counts.
    check(r#"{"f:a":{"f:x":{}},"f:a":{"f:y":{}},"f:a":{}}"#, r#"{"f:a":{".":{},"f:y":{}}}"#);
}

#[test]
fn malformed_sets_are_refused_with_the_reason() {
    let check = |text, reason: &str| {
        let error = FieldSet::from_json(text).unwrap_err();
        assert_eq!(error.to_string(), "malformed FieldsV1");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains(reason), "{text}: {source}");
    };
    check("", "EOF");
    check("[]", "expected an object of path elements");
    check(r#"{"f:a":1}"#, "expected an object of path elements");
    check(r#"{"":{}}"#, r#"path element "" does not begin with a type and a colon"#);
    check(r#"{"field":{}}"#, r#"path element "field" does not begin with a type and a colon"#);
    check(r#"{"k:[]":{}}"#, r#"path element "k:[]" holds malformed JSON"#);
    check(r#"{"v:":{}}"#, r#"path element "v:" holds malformed JSON"#);
    check(r#"{"i:x":{}}"#, r#"path element "i:x" holds no list position"#);
}

#[test]
fn a_set_answers_about_paths_above_and_below_its_members() {
    let set = FieldSet::from_json(r#"{"f:a":{".":{},"f:b":{"f:c":{}}}}"#).unwrap();
    let check = |names: &[&str], contains, covers, touches| {
        let path = FieldPath::of_fields(names.iter().copied());
        assert_eq!(
            (set.contains(&path), set.covers(&path), set.touches(&path)),
            (contains, covers, touches),
            "{path}"
        );
    };
    check(&[], false, false, true);
    check(&["a"], true, true, true);
    check(&["a", "b"], false, true, true);
    check(&["a", "b", "c"], true, true, true);
    check(&["a", "b", "c", "d"], false, true, false);
    check(&["a", "x"], false, true, false);
    check(&["x"], false, false, false);
    let below = set.below(&FieldPath::of_fields(["a", "b"])).unwrap();
    assert_eq!(below.paths(), [FieldPath::of_fields(["c"])]);
}

#[test]
fn the_whole_object_is_never_held() {
    let mut set = FieldSet::new();
    set.insert(&FieldPath::root());
    assert!(set.is_empty());
}

#[test]
fn a_path_is_taken_out_without_those_below_it() {
    let check = |path: &[&str], left: &str| {
        let mut set = FieldSet::from_json(r#"{"f:a":{".":{},"f:b":{}},"f:c":{"f:d":{}}}"#).unwrap();
        set.remove(&FieldPath::of_fields(path.iter().copied()));
        assert_eq!(set.to_json(), left, "{path:?}");
    };
    check(&["a"], r#"{"f:a":{"f:b":{}},"f:c":{"f:d":{}}}"#);
    check(&["a", "b"], r#"{"f:a":{},"f:c":{"f:d":{}}}"#);
    check(&["c", "d"], r#"{"f:a":{".":{},"f:b":{}}}"#);
    for absent in [&[][..], &["c"], &["x"], &["a", "b", "c"]] {
        check(absent, r#"{"f:a":{".":{},"f:b":{}},"f:c":{"f:d":{}}}"#);
    }
}

#[test]
fn numbers_name_the_same_element_however_they_are_written() {
    let check = |left, right| {
        let (left, right) = (PathElement::value(left), PathElement::value(right));
        assert_eq!(left, right);
        assert_eq!(hash(&left), hash(&right));
        assert_eq!(left.to_wire(), right.to_wire());
    };
    check(json!(1), json!(1.0));
    check(json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0));
    check(json!(u64::MAX), json!(18_446_744_073_709_552_000.0));
}

/// What FieldsV1 is made of, for texts that are nearly right.
const PIECES: &[&str] = &[
    "{",
    "}",
    "{}",
    ":",
    ",",
    "null",
    "\".\":{}",
    "\"f:a\":{}",
    "\"f:b\":{",
    "\"i:1\":{}",
    "\"v:1e5\":{}",
    "\"v:\\\"x\\\"\":{}",
    "\"k:{\\\"name\\\":\\\"a\\\"}\":{",
    "\"k:{}\":{}",
    "\"x:\":{}",
    "\"v:\":{}",
    "[",
    "1",
];

fn hash(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn model(set: &FieldSet) -> BTreeSet<FieldPath> {
    set.paths().into_iter().collect()
}

/// Whether the invariant of the tree holds: ascending, and nothing in vain.
fn is_sound(set: &FieldSet) -> bool {
    set.entries.is_sorted_by(|left, right| left.element < right.element)
        && set.entries.iter().all(|entry| (entry.member || !entry.below.is_empty()) && is_sound(&entry.below))
}

proptest! {
    #[test]
    fn a_set_is_its_paths_in_order(paths in prop::collection::vec(arbitrary::path(), 0..20)) {
        let set: FieldSet = paths.iter().cloned().collect();
        let expected: BTreeSet<_> = paths.iter().cloned().collect();
        prop_assert!(is_sound(&set));
        prop_assert_eq!(set.len(), expected.len());
        prop_assert_eq!(set.paths(), expected.into_iter().collect::<Vec<_>>());
        for path in &paths {
            prop_assert!(set.contains(path) && set.covers(path) && set.touches(path));
        }
    }

    #[test]
    fn operations_are_those_of_sets_of_paths(left in arbitrary::set(), right in arbitrary::set()) {
        let (a, b) = (model(&left), model(&right));
        let check = |result: &FieldSet, expected: BTreeSet<&FieldPath>| {
            prop_assert!(is_sound(result));
            let paths = model(result);
            prop_assert_eq!(paths.iter().collect::<BTreeSet<_>>(), expected);
            Ok(())
        };
        check(&left.union(&right), a.union(&b).collect())?;
        check(&left.intersection(&right), a.intersection(&b).collect())?;
        check(&left.difference(&right), a.difference(&b).collect())?;
        check(&left.recursive_difference(&right), a.iter().filter(|path| !right.covers(path)).collect())?;
        check(&left.clone().leaves(), a.iter().filter(|path| left.below(path).is_none()).collect())?;
    }

    #[test]
    fn writing_and_reading_give_the_same_set(set in arbitrary::set()) {
        let text = set.to_json();
        let read = FieldSet::from_json(&text).unwrap();
        prop_assert_eq!(&read, &set);
        prop_assert_eq!(hash(&read), hash(&set));
        prop_assert_eq!(FieldSet::from_value(&serde_json::from_str(&text).unwrap()).unwrap(), set.clone());
        prop_assert_eq!(FieldSet::from_value(&set.to_value()).unwrap(), set);
    }

    #[test]
    fn any_bytes_come_to_an_answer(
        text in prop::collection::vec(prop::sample::select(PIECES), 0..12).prop_map(|pieces| pieces.concat()),
        noise in prop::collection::vec(any::<u8>(), 0..16),
    ) {
        fuzz(text.as_bytes());
        fuzz(format!("{{{text}}}").as_bytes());
        fuzz(&noise);
    }

    #[test]
    fn equal_elements_hash_alike_and_order_is_total(a in arbitrary::element(), b in arbitrary::element(), c in arbitrary::element()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert!(!(a <= b && b <= c) || a <= c);
        prop_assert!(a != b || hash(&a) == hash(&b));
    }
}
