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

/// Crossplane's observer cases; an unnamed reference never gets here, see `Composite::resource_refs`.
#[test]
fn only_what_exists_and_has_no_other_controller_is_observed() {
    let (missing, _) = child("missing", None, None);
    let read = [
        child("mine", Some("mine"), Some("xr")),
        child("orphan", Some("orphan"), None),
        child("anothers", Some("anothers"), Some("other")),
        child("anothers-anonymous", None, Some("other")),
        (missing.clone(), None),
    ];
    let observed = observe("xr", read).unwrap();
    assert_eq!(observed.resources.keys().collect::<Vec<_>>(), ["mine", "orphan"]);
    assert_eq!(observed.missing, [missing]);
}

#[test]
fn functions_get_objects_and_their_connection_details() {
    let observed =
        observe("xr", [child("a", Some("a"), Some("xr")), child("b", Some("b"), Some("xr"))]).unwrap();
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
    let error = observe("xr", [child("nameless", None, Some("xr"))]).unwrap_err();
    insta::assert_snapshot!(error, @r#"encountered composed resource without required "crossplane.io/composition-resource-name" annotation: ConfigMap nameless. Add the annotation, or take the object out of the XR's resourceRefs"#);
}
