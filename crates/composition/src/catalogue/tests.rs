use serde_json::{Value, json};

use super::*;

fn composition(name: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": name},
        "spec": {
            "compositeTypeRef": {"apiVersion": "example.org/v1", "kind": kind},
            "pipeline": [{"step": "one", "functionRef": {"name": "function-a"}}],
        },
    })
}

fn revision(name: &str, composition_name: &str) -> Value {
    let mut revision = composition(name, "XApp");
    revision["kind"] = "CompositionRevision".into();
    revision["metadata"]["labels"] = json!({LABEL_COMPOSITION: composition_name});
    revision["spec"]["revision"] = 1.into();
    revision
}

fn read(object: &Value) -> Option<Composition> {
    let object = object.as_object().unwrap();
    Composition::read(object).or_else(|_| Composition::read_revision(object)).ok()
}

fn names<'a>(of: impl Iterator<Item = &'a Composition>) -> Vec<&'a str> {
    of.filter_map(|composition| object::name(&composition.object)).collect()
}

#[test]
fn lookups_follow_changes() {
    let mut catalogue = Catalogue::default();
    let [kind, other] = ["example.org/v1/XApp", "example.org/v1/XOther"].map(|kind| kind.parse().unwrap());
    assert_eq!(catalogue.compositions(&kind).count(), 0);
    catalogue.put_composition("app", read(&composition("app", "XApp")));
    catalogue.put_composition("other", read(&composition("other", "XOther")));
    assert_eq!(names(catalogue.compositions(&kind)), ["app"]);
    assert!(catalogue.composition("other").is_some());
    catalogue.put_composition("app", read(&composition("app", "XOther")));
    assert_eq!(names(catalogue.compositions(&kind)), [""; 0]);
    assert_eq!(names(catalogue.compositions(&other)), ["app", "other"]);
    catalogue.put_composition("app", None);
    assert_eq!(names(catalogue.compositions(&other)), ["other"]);
    assert!(catalogue.composition("app").is_none());

    assert_eq!(catalogue.revisions("app").count(), 0);
    catalogue.put_revision("app-1", read(&revision("app-1", "app")));
    assert_eq!(names(catalogue.revisions("app")), ["app-1"]);
    let with = |function| catalogue.revisions_with(function).map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!((with("function-a"), with("function-b")), (vec!["app-1"], vec![]));
    catalogue.put_revision("app-1", read(&revision("app-1", "renamed")));
    assert_eq!(catalogue.revisions("app").count(), 0);
    assert_eq!(names(catalogue.revisions("renamed")), ["app-1"]);
    catalogue.put_revision("app-1", None);
    assert_eq!(catalogue.revisions("renamed").count(), 0);
    assert!(catalogue.revision("app-1").is_none());
    assert!(catalogue.by_composition.is_empty());
}

#[test]
fn an_older_version_of_a_revision_is_not_taken_in() {
    let mut catalogue = Catalogue::default();
    let at = |version: &str, number: i64| {
        let mut revision = revision("app-1", "app");
        revision["metadata"]["resourceVersion"] = version.into();
        revision["spec"]["revision"] = number.into();
        read(&revision)
    };
    let number = |catalogue: &Catalogue| catalogue.revision("app-1").map(|revision| revision.spec.revision);
    assert!(catalogue.put_revision("app-1", at("10", 2)));
    assert!(!catalogue.put_revision("app-1", at("9", 1)));
    assert_eq!(number(&catalogue), Some(2));
    assert!(catalogue.put_revision("app-1", at("11", 3)));
    assert_eq!(number(&catalogue), Some(3));
    assert!(catalogue.put_revision("app-1", None));
    assert_eq!(number(&catalogue), None);
}
