use proptest::prelude::*;

use super::*;
use crate::object::object;

/// `reference.jsonl` holds Compositions and what Crossplane's `Hash` makes of them, one a line: one as people write
/// them, and many made up of everything YAML has a special rule for.
#[test]
fn hashes_are_those_of_crossplane() {
    let mut cases = 0;
    for line in include_str!("reference.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let composition = object(case["composition"].clone());
        assert_eq!(hash(&composition), case["hash"], "{}", manifest::to_yaml(&case["composition"]["spec"]));
        cases += 1;
    }
    assert_eq!(cases, 61);
}

fn composition(spec: &Value) -> Composition {
    let mut whole = json!({"compositeTypeRef": {"apiVersion": "e/v1", "kind": "X"}, "mode": "Pipeline",
        "pipeline": [{"step": "s", "functionRef": {"name": "f"}}]});
    for (key, value) in spec.as_object().unwrap() {
        whole[key] = value.clone();
    }
    let value = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
        "metadata": {"name": "comp", "uid": "uid", "labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": whole,
    });
    Composition::read(&object(value)).unwrap()
}

fn created(composition: &Composition, revisions: &[Composition]) -> Composition {
    match next(composition, revisions) {
        Step::Create(revision) => Composition::read_revision(&revision).unwrap(),
        other => panic!("expected a new revision, found {other:?}"),
    }
}

#[test]
fn the_first_revision_copies_the_composition() {
    let composition = composition(&json!({}));
    let revision = created(&composition, &[]);
    let hash = hash(&composition.object);
    let expected = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositionRevision",
        "metadata": {
            "name": format!("comp-{}", &hash[..7]),
            "labels": {"a": "b", "crossplane.io/composition-name": "comp", "crossplane.io/composition-hash": &hash[..63]},
            "annotations": {"c": "d"},
            "ownerReferences": [{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "name": "comp",
                "uid": "uid", "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": {"compositeTypeRef": {"apiVersion": "e/v1", "kind": "X"}, "mode": "Pipeline", "revision": 1,
            "pipeline": [{"step": "s", "functionRef": {"name": "f"}}]},
    });
    assert_eq!(Value::Object(revision.object), expected);
}

#[test]
fn revisions_are_numbered_and_an_old_one_can_be_the_newest_again() {
    let (one, two) =
        (composition(&json!({})), composition(&json!({"writeConnectionSecretsToNamespace": "n"})));
    let first = created(&one, &[]);
    assert_eq!(next(&one, std::slice::from_ref(&first)), Step::Nothing);
    let second = created(&two, std::slice::from_ref(&first));
    assert_eq!(second.spec.revision, 2);
    let both = [first.clone(), second];
    assert_eq!(next(&two, &both), Step::Nothing);
    let name = object::name(&first.object).unwrap().to_owned();
    assert_eq!(next(&one, &both), Step::Renumber { name, number: 3 });
}

#[test]
fn content_counts_where_the_hash_is_another() {
    let one = composition(&json!({}));
    let mut revision = created(&one, &[]);
    revision.object["metadata"]["labels"][LABEL_HASH] = "made-by-another-library".into();
    assert_eq!(next(&one, std::slice::from_ref(&revision)), Step::Nothing);
    revision.object["metadata"]["annotations"]["c"] = "changed".into();
    assert!(matches!(next(&one, &[revision]), Step::Create(_)));
}

#[test]
fn revisions_of_other_compositions_do_not_count_and_orphans_are_adopted() {
    let one = composition(&json!({}));
    let mut revision = created(&one, &[]);
    revision.object["metadata"]["ownerReferences"][0]["uid"] = "another".into();
    assert!(matches!(next(&one, std::slice::from_ref(&revision)), Step::Create(_)));
    assert!(unowned(std::slice::from_ref(&revision)).is_empty());
    revision.object["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    assert_eq!(next(&one, std::slice::from_ref(&revision)), Step::Nothing);
    assert_eq!(unowned(&[revision.clone()]), [object::name(&revision.object).unwrap()]);
}

proptest! {
    #[test]
    fn any_text_can_be_hashed_and_a_second_look_finds_nothing_to_do(key in "\\PC{0,200}", value in any::<String>()) {
        let input = json!({"apiVersion": "x/v1", key: value});
        let composition =
            composition(&json!({"pipeline": [{"step": "s", "functionRef": {"name": "f"}, "input": input}]}));
        let revision = created(&composition, &[]);
        prop_assert_eq!(next(&composition, &[revision]), Step::Nothing);
    }
}
