use serde_json::Value;

use super::*;
use crate::object::object;

fn definition(spec: &Value) -> Definition {
    let mut xrd = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xs.example.org"},
        "spec": {
            "group": "example.org", "names": {"plural": "xs", "kind": "X"},
            "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": {}}}],
        },
    });
    for (key, value) in spec.as_object().unwrap() {
        xrd["spec"][key] = value.clone();
    }
    Definition::read(&object(xrd)).unwrap().0
}

fn composition_of(kind: &str, name: &str, labels: &Value, extra: &Value) -> Composition {
    let mut value = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositionRevision",
        "metadata": {"name": name, "labels": labels,
                     "ownerReferences": [{"uid": "comp-uid", "controller": true}]},
        "spec": {"compositeTypeRef": {"apiVersion": "example.org/v1", "kind": kind},
                 "pipeline": [{"step": "s", "functionRef": {"name": "f"}}]},
    });
    for (key, extra) in extra.as_object().unwrap() {
        value["spec"][key] = extra.clone();
    }
    Composition::read_revision(&object(value)).unwrap()
}

fn xr(spec: &Value) -> Object {
    object(
        json!({"apiVersion": "example.org/v1", "kind": "X", "metadata": {"name": "x", "uid": "uid"}, "spec": spec}),
    )
}

#[test]
fn the_composition_is_chosen_in_order() {
    let all = [
        composition_of("X", "plain", &json!({}), &json!({})),
        composition_of("X", "au", &json!({"region": "AU", "env": "test"}), &json!({})),
        composition_of("Y", "other-kind", &json!({"region": "EU"}), &json!({})),
    ];
    let check = |spec: &Value, xrd: &Value, expected: Result<&str, SelectionError>, events: usize| {
        let xr = xr(spec);
        let selected = composition(Composite::new(&xr, Layout::Legacy), &definition(xrd), &all);
        let count = selected.as_ref().map_or(0, |selected| selected.events.len());
        assert_eq!(
            (selected.map(|selected| selected.name), count),
            (expected.map(str::to_owned), events),
            "{spec} {xrd}"
        );
    };
    let name = |name: &str| json!({"name": name});
    let enforced =
        json!({"enforcedCompositionRef": name("enforced"), "defaultCompositionRef": name("default")});
    let default = json!({"defaultCompositionRef": name("default")});
    let region = |region: &str| json!({"compositionSelector": {"matchLabels": {"region": region}}});
    check(&json!({"compositionRef": name("mine")}), &enforced, Ok("enforced"), 2);
    check(&json!({"compositionRef": name("enforced")}), &enforced, Ok("enforced"), 0);
    check(&json!({"compositionRef": name("mine")}), &default, Ok("mine"), 0);
    check(&json!({}), &default, Ok("default"), 2);
    check(&region("AU"), &default, Ok("au"), 1);
    check(&region("EU"), &json!({}), Err(SelectionError::NoComposition), 0);
}

#[test]
fn of_several_the_same_xr_gets_the_same_and_xrs_spread() {
    let name = |i: usize| format!("c{i}");
    let all: Vec<_> = (0..4).map(|i| composition_of("X", &name(i), &json!({}), &json!({}))).collect();
    let pick = |uid: &str, from: &[Composition]| {
        let mut xr = xr(&json!({}));
        xr["metadata"]["uid"] = uid.into();
        composition(Composite::new(&xr, Layout::Legacy), &definition(&json!({})), from).unwrap().name
    };
    let mut used = std::collections::BTreeSet::new();
    for uid in (0..100).map(|i| i.to_string()) {
        let picked = pick(&uid, &all);
        let reversed: Vec<_> = all.iter().rev().cloned().collect();
        assert_eq!(pick(&uid, &reversed), picked);
        // One that goes takes only its own along.
        let fewer = pick(&uid, &all[..3]);
        assert!(picked == "c3" || fewer == picked);
        used.insert(picked);
    }
    assert_eq!(used.len(), 4);
}

#[test]
fn the_revision_is_the_newest_that_fits_unless_updates_are_manual() {
    let comp = object(json!({"metadata": {"name": "comp", "uid": "comp-uid"}}));
    let mut revisions = vec![
        composition_of("X", "r1", &json!({"channel": "stable"}), &json!({"revision": 1})),
        composition_of("X", "r3", &json!({"channel": "dev"}), &json!({"revision": 3})),
        composition_of("X", "r2", &json!({"channel": "stable"}), &json!({"revision": 2})),
    ];
    let mut foreign = composition_of("X", "r9", &json!({}), &json!({"revision": 9}));
    foreign.object["metadata"]["ownerReferences"][0]["uid"] = "another".into();
    revisions.push(foreign);
    let check = |spec: &Value, expected: Result<&str, SelectionError>| {
        let xr = xr(spec);
        let found = revision(Composite::new(&xr, Layout::Legacy), &comp, &revisions);
        assert_eq!(found.map(|found| object::name(&found.object).unwrap()), expected, "{spec}");
    };
    let stable = json!({"matchLabels": {"channel": "stable"}});
    check(&json!({}), Ok("r3"));
    check(
        &json!({"compositionUpdatePolicy": "Automatic", "compositionRevisionRef": {"name": "r1"}}),
        Ok("r3"),
    );
    check(&json!({"compositionUpdatePolicy": "Automatic", "compositionRevisionSelector": stable}), Ok("r2"));
    check(&json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": "r1"}}), Ok("r1"));
    check(&json!({"compositionUpdatePolicy": "Manual", "compositionRevisionSelector": stable}), Ok("r3"));
    let gone = json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": "gone"}});
    check(&gone, Err(SelectionError::NoRevision));
    let nothing = json!({"matchLabels": {"channel": "none"}});
    check(
        &json!({"compositionUpdatePolicy": "Automatic", "compositionRevisionSelector": nothing}),
        Err(SelectionError::NoRevision),
    );
}

#[test]
fn the_revision_selector_defaults_only_where_nothing_is_chosen() {
    let selecting = definition(&json!({"defaultCompositionRevisionSelector": {"matchLabels": {"a": "b"}}}));
    let check = |spec: &Value, definition: &Definition, expected: bool| {
        let xr = xr(spec);
        assert_eq!(
            revision_selector(Composite::new(&xr, Layout::Legacy), definition).is_some(),
            expected,
            "{spec}"
        );
    };
    check(&json!({}), &selecting, true);
    check(&json!({"compositionRevisionRef": {"name": "r"}}), &selecting, false);
    check(&json!({"compositionRevisionSelector": {"matchLabels": {}}}), &selecting, false);
    check(&json!({}), &definition(&json!({})), false);
}

/// Crossplane's cases InvalidPipelineError, InvalidPipelineWithMessageError and, as to compatibility, ConfigureError.
#[test]
fn only_a_revision_with_a_valid_pipeline_is_used() {
    let check = |kind: &str, condition: &Value, layout: Layout| {
        let mut revision = composition_of(kind, "rev", &json!({}), &json!({}));
        revision.object.insert("status".to_owned(), json!({"conditions": [condition]}));
        let xr = xr(&json!({}));
        check_revision(Composite::new(&xr, layout), &revision).map_err(|error| error.to_string())
    };
    let valid = json!({"type": "ValidPipeline", "status": "True"});
    assert_eq!(check("X", &valid, Layout::Legacy), Ok(()));
    assert_eq!(check("Y", &valid, Layout::Modern), Ok(()));
    assert_eq!(
        check("Y", &valid, Layout::Legacy).unwrap_err(),
        "referenced composition is not compatible with this composite resource"
    );
    let text = "selected CompositionRevision rev does not have a valid function pipeline: ";
    assert_eq!(check("X", &json!({}), Layout::Legacy).unwrap_err(), format!("{text}pipeline status unknown"));
    let invalid = json!({"type": "ValidPipeline", "status": "False", "message": "no such function"});
    assert_eq!(check("X", &invalid, Layout::Legacy).unwrap_err(), format!("{text}no such function"));
}

#[test]
fn an_xr_is_configured_in_one_write_and_once() {
    let revision =
        composition_of("X", "comp-1", &json!({}), &json!({"writeConnectionSecretsToNamespace": "secrets"}));
    let selector = json!({"matchLabels": {"a": "b"}}).as_object().cloned();
    let engine = json!({
        "compositionRef": {"name": "comp"}, "compositionRevisionRef": {"name": "comp-1"},
        "compositionRevisionSelector": {"matchLabels": {"a": "b"}},
    });
    let before = xr(&json!({"user": 1}));
    let legacy =
        configure(Composite::new(&before, Layout::Legacy), "comp", &revision, selector.clone()).unwrap();
    let mut expected = engine.clone();
    expected["user"] = json!(1);
    expected["writeConnectionSecretToRef"] = json!({"name": "uid", "namespace": "secrets"});
    assert_eq!(legacy["spec"], expected);
    assert_eq!(object::label(&legacy, LABEL_COMPOSITE), Some("x"));
    assert_eq!(configure(Composite::new(&legacy, Layout::Legacy), "comp", &revision, selector.clone()), None);

    let modern = configure(Composite::new(&before, Layout::Modern), "comp", &revision, selector).unwrap();
    assert_eq!(modern["spec"], json!({"user": 1, "crossplane": engine}));
    // The name of the tree's root, a secret and other references are kept.
    let mut nested = legacy.clone();
    nested["metadata"]["labels"][LABEL_COMPOSITE] = "root".into();
    nested["spec"]["writeConnectionSecretToRef"] = json!({"name": "mine", "namespace": "n"});
    let next =
        composition_of("X", "comp-2", &json!({}), &json!({"writeConnectionSecretsToNamespace": "secrets"}));
    let nested = configure(Composite::new(&nested, Layout::Legacy), "comp", &next, None).unwrap();
    assert_eq!(object::label(&nested, LABEL_COMPOSITE), Some("root"));
    assert_eq!(nested["spec"]["writeConnectionSecretToRef"]["name"], "mine");
    assert_eq!(nested["spec"]["compositionRevisionRef"]["name"], "comp-2");
}
