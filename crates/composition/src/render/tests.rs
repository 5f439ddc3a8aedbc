use serde_json::{Value, json};

use super::*;
use crate::object::object;

fn composition() -> Composition {
    let value = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "comp"},
        "spec": {"compositeTypeRef": {"apiVersion": "example.org/v1alpha1", "kind": "XExample"},
                 "pipeline": [{"step": "s", "functionRef": {"name": "f"}}]},
    });
    Composition::read(&object(value)).unwrap()
}

fn definition(version: &str, scope: Option<&str>) -> Definition {
    let mut value = json!({
        "apiVersion": format!("apiextensions.crossplane.io/{version}"), "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xexamples.example.org"},
        "spec": {"group": "example.org", "names": {"plural": "xexamples", "kind": "XExample"}, "versions": [
            {"name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": {}}}]},
    });
    if let Some(scope) = scope {
        value["spec"]["scope"] = scope.into();
    }
    Definition::read(&object(value)).unwrap().0
}

fn xr(metadata: &Value) -> Object {
    let mut xr =
        json!({"apiVersion": "example.org/v1alpha1", "kind": "XExample", "metadata": {"name": "my-example"}});
    for (key, value) in metadata.as_object().unwrap() {
        xr["metadata"][key] = value.clone();
    }
    object(xr)
}

fn resource(name: &str, namespace: Option<&str>, owner: Option<&Value>) -> Object {
    let mut value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    if let Some(namespace) = namespace {
        value["metadata"]["namespace"] = namespace.into();
    }
    if let Some(owner) = owner {
        value["metadata"]["ownerReferences"] = json!([owner]);
    }
    object(value)
}

#[test]
fn an_xr_from_a_file_is_as_it_would_be_in_a_cluster() {
    let rehearsal =
        prepare(&xr(&json!({})), None, &composition(), &[resource("a", Some("n"), None)]).unwrap();
    let revision = object::name(&rehearsal.revision.object).unwrap();
    let expected = json!({
        "apiVersion": "example.org/v1alpha1", "kind": "XExample",
        "metadata": {"name": "my-example", "uid": "556f7c85-9365-57c0-be6d-b7d9d4c1c1c3",
                     "labels": {"crossplane.io/composite": "my-example"}},
        "spec": {"crossplane": {
            "compositionRef": {"name": "comp"}, "compositionRevisionRef": {"name": revision},
            "resourceRefs": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "n"}],
        }},
    });
    assert_eq!(Value::Object(rehearsal.xr), expected);
    let mine = prepare(&xr(&json!({"uid": "mine"})), None, &composition(), &[]).unwrap();
    assert_eq!(object::uid(&mine.xr), Some("mine"));
}

/// The cases of `crossplane render` for schema selection.
#[test]
fn the_xrd_decides_on_the_layout() {
    let check = |definition: Option<&Definition>, expected: Layout| {
        assert_eq!(prepare(&xr(&json!({})), definition, &composition(), &[]).unwrap().layout, expected);
    };
    check(None, Layout::Modern);
    check(Some(&definition("v1", None)), Layout::Legacy);
    check(Some(&definition("v1", Some("LegacyCluster"))), Layout::Legacy);
    check(Some(&definition("v1", Some("Cluster"))), Layout::Modern);
    check(Some(&definition("v2", None)), Layout::Modern);
    check(Some(&definition("v2", Some("LegacyCluster"))), Layout::Legacy);
    let mut other = xr(&json!({}));
    other["kind"] = "Other".into();
    let errors = prepare(&other, Some(&definition("v1", None)), &composition(), &[]).unwrap_err();
    insta::assert_snapshot!(errors[0], @r#"CompositeResourceDefinition "xexamples.example.org" (composite Group=example.org Kind=XExample) does not match the input XR's Group=example.org Kind=Other"#);
}

/// The cases of `crossplane render` for observed resources.
#[test]
fn observed_resources_have_to_be_the_xrs() {
    let check = |xr: &Object, resources: &[Object]| -> Vec<String> {
        let errors = prepare(xr, None, &composition(), resources).err().unwrap_or_default();
        errors.iter().map(ToString::to_string).collect()
    };
    let cluster = xr(&json!({"uid": "xr"}));
    let controller = |uid: &str| json!({"uid": uid, "controller": true});
    assert!(check(&cluster, &[resource("a", None, None)]).is_empty());
    assert!(check(&cluster, &[resource("a", Some("any"), Some(&controller("xr")))]).is_empty());
    assert!(check(&cluster, &[resource("a", None, Some(&json!({"uid": "other"})))]).is_empty());
    let namespaced = xr(&json!({"uid": "xr", "namespace": "own"}));
    assert!(check(&namespaced, &[resource("a", Some("own"), None)]).is_empty());
    let all = [resource("a", Some("else"), Some(&controller("other"))), resource("b", None, None)];
    assert_eq!(
        check(&namespaced, &all),
        [
            "observed resource a has a controller ref but is not controlled by the XR",
            "observed resource a is not in the same namespace as the XR",
            "observed resource b is not in the same namespace as the XR",
        ]
    );
}

#[test]
fn a_composition_for_another_kind_or_without_the_selected_labels_is_refused() {
    let check = |xr: &Object, expected: &str| {
        let found = prepare(xr, None, &composition(), &[]).unwrap_err();
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    };
    let mut newer = xr(&json!({}));
    newer["apiVersion"] = "example.org/v1".into();
    check(
        &newer,
        "composition's compositeTypeRef.apiVersion (example.org/v1alpha1) does not match XR's apiVersion (example.org/v1)",
    );
    let mut other = xr(&json!({}));
    other["kind"] = "Other".into();
    check(&other, "composition's compositeTypeRef.kind (XExample) does not match XR's kind (Other)");
    let mut selecting = xr(&json!({}));
    selecting.insert(
        "spec".to_owned(),
        json!({"crossplane": {"compositionSelector": {"matchLabels": {"channel": "stable"}}}}),
    );
    check(&selecting, "composition \"comp\" does not have the label \"channel=stable\" that the XR selects");
    let mut labelled = composition();
    labelled.object["metadata"]["labels"] = json!({"channel": "stable"});
    assert!(prepare(&selecting, None, &labelled, &[]).is_ok());
}

#[test]
fn an_observed_resource_without_a_name_has_the_one_it_would_be_created_with() {
    let mut nameless = resource("", None, None);
    nameless["metadata"] = json!({"annotations": {"crossplane.io/composition-resource-name": "map"}});
    let prepared = prepare(&xr(&json!({})), None, &composition(), &[nameless]).unwrap();
    let (reference, object) = &prepared.observed[0];
    assert_eq!(Some(reference.name.as_str()), object::name(object));
    assert_eq!(reference.name, child_name("my-example-", object::uid(&prepared.xr).unwrap(), "map"));
}
