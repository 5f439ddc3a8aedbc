use serde_json::{Value, json};

use super::*;
use crate::object::object;
use crate::revision::{self, Step};
use crate::selection::Awaited;

fn definition(group: &str) -> Object {
    object(json!({
        "apiVersion": "apiextensions.crossplane.io/v2", "kind": "CompositeResourceDefinition",
        "metadata": {"name": format!("xs.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "xs", "kind": "X"},
            "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
            }}}],
        },
    }))
}

fn composition(name: &str, group: &str, function: &str) -> Object {
    object(json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
        "metadata": {"name": name, "uid": format!("{name}-uid")},
        "spec": {
            "compositeTypeRef": {"apiVersion": format!("{group}/v1"), "kind": "X"}, "mode": "Pipeline",
            "pipeline": [{"step": "one", "functionRef": {"name": function}}],
        },
    }))
}

/// The revision of a Composition that has none.
fn revision_of(composition: &Object, number: i64) -> Object {
    let read = Composition::read(composition).unwrap();
    let Step::Create(mut revision) = revision::next(&read, &[]) else { panic!("there is none yet") };
    revision["spec"]["revision"] = number.into();
    let valid = json!({"type": "ValidPipeline", "status": "True", "reason": "ValidPipeline"});
    revision.insert("status".to_owned(), json!({"conditions": [valid]}));
    *revision
}

fn function(package: &str, endpoint: Option<&str>) -> Object {
    let mut annotations = json!({});
    if let Some(endpoint) = endpoint {
        annotations[ANNOTATION_ENDPOINT] = endpoint.into();
    }
    object(json!({
        "apiVersion": "pkg.crossplane.io/v1", "kind": "Function",
        "metadata": {"name": "fn", "annotations": annotations}, "spec": {"package": package},
    }))
}

fn xr(engine: Value) -> Object {
    let mut spec = json!({"size": 1, "crossplane": {"compositionRef": {"name": "main"}}});
    for (key, value) in object(engine) {
        spec["crossplane"][key] = value;
    }
    object(json!({
        "apiVersion": "e.org/v1", "kind": "X", "metadata": {"namespace": "n", "name": "a", "uid": "u"}, "spec": spec,
    }))
}

/// Compositions of two groups, each with its XRD and its function.
fn objects() -> Objects {
    let compositions = vec![composition("main", "e.org", "fn"), composition("other", "o.org", "fn-other")];
    Objects {
        definitions: vec![definition("e.org"), definition("o.org")],
        revisions: compositions.iter().map(|composition| revision_of(composition, 1)).collect(),
        compositions,
        functions: vec![function("x.org/fn:v1", None)],
        function_revisions: Vec::new(),
    }
}

fn changed_to(changed: Object) -> Platform {
    Platform::new(objects(), &[changed], BTreeSet::new(), Timestamp::UNIX_EPOCH)
}

/// The Composition `main` with another function.
fn main_changed() -> Object {
    composition("main", "e.org", "fn-new")
}

#[test]
fn a_change_concerns_the_xrs_that_would_be_composed_in_another_way() {
    let check = |changed: Object, expected: Concern| {
        let shown = Value::Object(changed.clone());
        let platform = changed_to(changed);
        assert_eq!(platform.concern(&xr(json!({}))), expected, "{shown}");
        let of_kind = platform.kinds().iter().any(|kind| kind.group() == "e.org");
        assert!(of_kind || expected == Concern::No, "{shown}");
    };
    check(main_changed(), Concern::Yes);
    check(composition("main", "e.org", "fn"), Concern::No);
    check(composition("other", "o.org", "fn"), Concern::No);
    // Another Composition of the same XRs is not the one that is used.
    check(composition("second", "e.org", "fn"), Concern::No);
    check(definition("e.org"), Concern::Yes);
    check(definition("o.org"), Concern::No);
    check(function("x.org/fn:v1", Some("localhost:9443")), Concern::Yes);
    check(function("x.org/fn:v1", None), Concern::No);
    let mut audience = composition("main", "e.org", "fn");
    object::nested_mut(&mut audience, &["metadata", "annotations"]).insert("a".to_owned(), "b".into());
    check(audience, Concern::Yes);
}

#[test]
fn an_xr_that_is_not_composed_now_is_no_less_concerned() {
    let platform = changed_to(main_changed());
    let with = |metadata: Value| {
        let mut xr = xr(json!({}));
        object::nested_mut(&mut xr, &["metadata"]).extend(object(metadata));
        platform.concern(&xr)
    };
    assert_eq!(with(json!({"annotations": {"crossplane.io/paused": "true"}})), Concern::Paused);
    assert_eq!(with(json!({"deletionTimestamp": "2024-01-01T00:00:00Z"})), Concern::Going);
    let revision = revision_of(&composition("main", "e.org", "fn"), 1);
    let stays = json!({
        "compositionUpdatePolicy": "Manual",
        "compositionRevisionRef": {"name": object::name(&revision).unwrap()},
    });
    assert_eq!(platform.concern(&xr(stays.clone())), Concern::Pinned);
    assert_eq!(changed_to(composition("other", "o.org", "fn")).concern(&xr(stays)), Concern::No);
    let mut foreign = xr(json!({}));
    foreign.insert("kind".to_owned(), "Y".into());
    assert_eq!(platform.concern(&foreign), Concern::No);
}

#[test]
fn a_changed_composition_gets_the_revision_that_the_operator_would_make() {
    let selected = |platform: &Platform| {
        let xr = xr(json!({}));
        let definition = platform.definition_of(&xr).unwrap();
        let selected = platform.select(Composite::new(&xr, definition.scope.layout()), definition);
        selected.map(|selected| selected.revision)
    };
    let revision = selected(&changed_to(main_changed())).unwrap();
    let expected = revision_of(&main_changed(), 2);
    assert_eq!((revision.spec.revision, revision.object.get("metadata")), (2, expected.get("metadata")));

    // It was like this before, so the earlier revision becomes the newest.
    let mut known = objects();
    known.revisions.push(revision_of(&main_changed(), 2));
    let first = composition("main", "e.org", "fn");
    let back = Platform::new(known, std::slice::from_ref(&first), BTreeSet::new(), Timestamp::UNIX_EPOCH);
    assert_eq!(back.concern(&xr(json!({}))), Concern::Yes);
    let revision = selected(&back).unwrap();
    assert_eq!(revision.spec.revision, 3);
    assert_eq!(object::name(&revision.object), object::name(&revision_of(&first, 3)));

    let mut known = objects();
    known.function_revisions.push(object(json!({
        "metadata": {"name": "fn-new-1", "labels": {"pkg.crossplane.io/package": "fn-new"}},
        "spec": {"desiredState": "Active"}, "status": {"capabilities": ["operation"]},
    })));
    let unfit = Platform::new(known, &[main_changed()], BTreeSet::new(), Timestamp::UNIX_EPOCH);
    assert_eq!(selected(&unfit).unwrap_err().awaited, Some(Awaited::Validation));
    assert_eq!(unfit.concern(&xr(json!({}))), Concern::Yes);
}

#[test]
fn a_package_that_is_not_installed_yet_is_reported_and_one_that_runs_elsewhere_is_called_there() {
    let platform = changed_to(function("x.org/fn:v2", None));
    let codes: Vec<&str> = platform.problems().iter().map(|problem| problem.code.name()).collect();
    assert_eq!((codes, platform.moves_functions()), (vec!["function-not-running"], false));
    assert_eq!(platform.concern(&xr(json!({}))), Concern::No);

    let platform = changed_to(function("x.org/fn:v2", Some("localhost:9443")));
    assert_eq!((platform.problems().len(), platform.moves_functions()), (0, true));
    let found = platform.locate(BTreeMap::new())("fn").unwrap();
    assert_eq!(found, Location::Endpoint("localhost:9443".to_owned()));

    let moved = ["fn".to_owned()].into();
    let platform = Platform::new(objects(), &[], moved, Timestamp::UNIX_EPOCH);
    assert_eq!(platform.concern(&xr(json!({}))), Concern::Yes);
    assert_eq!(platform.kinds().len(), 1);
}

#[test]
fn an_xr_is_redefined_only_by_its_own_changed_xrd() {
    let mut narrow = definition("e.org");
    narrow["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        json!({"zone": {"type": "string", "default": "eu"}});
    let mut changed = xr(json!({}));
    let before = changed.clone();
    assert_eq!(changed_to(definition("o.org")).redefine(&mut changed), [""; 0]);
    assert_eq!(changed, before);
    assert_eq!(changed_to(narrow).redefine(&mut changed), ["spec.size"]);
    assert_eq!(changed["spec"]["zone"], "eu");
}

#[test]
fn what_cannot_be_read_is_reported_and_changes_nothing() {
    let mut broken = main_changed();
    broken["spec"]["mode"] = "Resources".into();
    let platform = changed_to(broken);
    assert_eq!(platform.problems().len(), 1);
    assert_eq!(platform.concern(&xr(json!({}))), Concern::No);
    assert!(platform.kinds().is_empty());
}
