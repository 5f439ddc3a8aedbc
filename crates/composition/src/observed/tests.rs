use serde_json::json;

use super::*;
use crate::object::object;

fn child(name: &str, key: Option<&str>, controller: Option<&str>) -> (ObjectRef, Option<Object>) {
    let mut value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    if let Some(key) = key {
        value["metadata"]["annotations"] = json!({ANNOTATION_RESOURCE_NAME: key});
    }
    if let Some(uid) = controller {
        value["metadata"]["ownerReferences"] = json!([{"uid": "else"}, {"uid": uid, "controller": true}]);
    }
    let object = object(value);
    (ObjectRef::of(&object).unwrap(), Some(object))
}

fn xr(namespace: Option<&str>) -> Object {
    let labels = json!({LABEL_COMPOSITE: "tree"});
    let metadata = json!({"name": "x", "uid": "xr", "namespace": namespace, "labels": labels});
    object(json!({"apiVersion": "example.org/v1", "kind": "XExample", "metadata": metadata}))
}

/// An unnamed reference never gets here, see `Composite::resource_refs`.
#[test]
fn only_what_exists_and_belongs_to_the_xr_is_observed() {
    let orphan = |name: &str, tree: &str, namespace: Option<&str>| {
        let (reference, orphan) = child(name, Some(name), None);
        let mut orphan = orphan.unwrap();
        let metadata = object::nested_mut(&mut orphan, &["metadata"]);
        metadata.insert("labels".to_owned(), json!({LABEL_COMPOSITE: tree}));
        metadata.insert("namespace".to_owned(), json!(namespace));
        (reference, Some(orphan))
    };
    let (missing, _) = child("missing", None, None);
    let read = || {
        [
            child("mine", Some("mine"), Some("xr")),
            orphan("orphan", "tree", Some("own")),
            orphan("cluster-scoped", "tree", None),
            orphan("elsewhere", "tree", Some("other")),
            orphan("of-another-tree", "other", Some("own")),
            child("unlabelled", Some("unlabelled"), None),
            child("unlabelled-anonymous", None, None),
            child("anothers", Some("anothers"), Some("other")),
            child("anothers-anonymous", None, Some("other")),
            (missing.clone(), None),
        ]
    };
    let check = |namespace: Option<&str>, expected: &[&str]| {
        let observed = observe(&xr(namespace), read()).unwrap();
        assert_eq!(observed.resources.keys().collect::<Vec<_>>(), expected);
        assert_eq!(observed.missing, std::slice::from_ref(&missing));
    };
    check(Some("own"), &["mine", "orphan"]);
    check(None, &["cluster-scoped", "elsewhere", "mine", "orphan"]);
}

#[test]
fn an_xr_without_a_uid_or_a_label_controls_nothing() {
    let bare = object(json!({"kind": "XExample", "metadata": {"name": "x"}}));
    let observed = observe(&bare, [child("a", Some("a"), None), child("b", Some("b"), Some(""))]).unwrap();
    assert_eq!(observed.resources, BTreeMap::new());
}

#[test]
fn what_a_user_gives_is_taken_as_the_xrs_own() {
    let given = [child("a", Some("a"), None), child("b", Some("b"), Some("xr"))];
    let given = given.map(|(reference, object)| (reference, object.unwrap()));
    assert_eq!(Observed::given(given).unwrap().resources.keys().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn functions_get_objects_and_their_connection_details() {
    let observed =
        observe(&xr(None), [child("a", Some("a"), Some("xr")), child("b", Some("b"), Some("xr"))]).unwrap();
    let secret =
        |text: &str| [(text.to_owned(), text.as_bytes().to_vec())].into_iter().collect::<SecretData>();
    let details = BTreeMap::from([("b".to_owned(), secret("b")), ("missing".to_owned(), secret("missing"))]);
    let xr = object(json!({"kind": "X", "metadata": {"name": "x"}}));
    let mut held = xr.clone();
    held["metadata"]["managedFields"] = json!([{"manager": "kubectl"}]);
    let state = observed.state(&held, secret("xr"), details);
    assert_eq!((state.composite.object, state.composite.connection_details), (xr, secret("xr")));
    assert_eq!(state.resources.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert!(state.resources["a"].connection_details.is_empty());
    assert_eq!(state.resources["b"].connection_details, secret("b"));
}

#[test]
fn an_anonymous_resource_is_an_error_that_names_it() {
    let error = observe(&xr(None), [child("nameless", None, Some("xr"))]).unwrap_err();
    insta::assert_snapshot!(error, @r#"encountered composed resource without required "crossplane.io/composition-resource-name" annotation: ConfigMap nameless. Add the annotation, or take the object out of the XR's resourceRefs"#);
}
