use composition::revision::LABEL_COMPOSITION;
use serde_json::json;

use super::*;

fn change(before: Option<&Value>, after: Option<&Value>) -> Change {
    let key = Key::of(after.or(before).unwrap());
    Change { key, before: before.cloned().map(Arc::new), after: after.cloned().map(Arc::new) }
}

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

#[test]
fn what_cannot_be_read_is_not_used() {
    let catalogue = Catalogue::new();
    let app = composition("app", "XApp");
    catalogue.composition_changed(&change(None, Some(&app)));
    assert!(catalogue.composition("app").is_some());
    let mut broken = app.clone();
    broken["spec"]["mode"] = "Resources".into();
    catalogue.composition_changed(&change(Some(&app), Some(&broken)));
    assert!(catalogue.composition("app").is_none());
}

#[test]
fn the_response_to_a_write_is_not_undone_by_an_older_watch_event() {
    let catalogue = Catalogue::new();
    let at = |version: &str, number: i64| {
        let mut revision = revision("app-1", "app");
        revision["metadata"]["resourceVersion"] = version.into();
        revision["spec"]["revision"] = number.into();
        revision
    };
    let number = || catalogue.revision("app-1").map(|revision| revision.spec.revision);
    catalogue.revision_written(at("10", 2).as_object().unwrap().clone());
    catalogue.revision_changed(&change(None, Some(&at("9", 1))));
    assert_eq!(number(), Some(2));
    catalogue.revision_changed(&change(None, Some(&at("11", 3))));
    assert_eq!(number(), Some(3));
    catalogue.revision_changed(&change(Some(&at("11", 3)), None));
    assert_eq!(number(), None);
}

#[test]
fn subscribers_get_the_names_of_compositions() {
    let catalogue = Catalogue::new();
    let mut changes = catalogue.changes();
    catalogue.composition_changed(&change(None, Some(&composition("app", "XApp"))));
    let (first, moved) = (revision("app-1", "app"), revision("app-1", "renamed"));
    catalogue.revision_changed(&change(None, Some(&first)));
    catalogue.revision_changed(&change(Some(&first), Some(&moved)));
    let mut names = Vec::new();
    while let Ok(name) = changes.try_recv() {
        names.push(name.to_string());
    }
    assert_eq!(names, ["app", "app", "renamed", "app"]);
}
