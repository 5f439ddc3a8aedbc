use serde_json::json;

use super::*;
use crate::object::object;

#[test]
fn the_engines_fields_are_found_in_both_layouts() {
    let engine = json!({
        "compositionRef": {"name": "comp"},
        "compositionRevisionRef": {"name": "comp-1"},
        "compositionSelector": {"matchLabels": {"a": "b"}},
        "compositionUpdatePolicy": "Manual",
        "claimRef": {"apiVersion": "example.org/v1", "kind": "Claim", "namespace": "default", "name": "c"},
        "writeConnectionSecretToRef": {"namespace": "ns", "name": "s"},
        "resourceRefs": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "one"},
            {"apiVersion": "v1", "kind": "ConfigMap"},
            {"apiVersion": "not/a/version", "kind": "ConfigMap", "name": "b"},
        ],
    });
    let status = json!({"claimConditionTypes": ["A", "B"]});
    let legacy = object(json!({"metadata": {"name": "x"}, "spec": engine, "status": status}));
    let modern = object(
        json!({"metadata": {"name": "x", "namespace": "own"}, "spec": {"crossplane": engine}, "status": status}),
    );
    for (xr, layout) in [(&legacy, Layout::Legacy), (&modern, Layout::Modern)] {
        let xr = Composite::new(xr, layout);
        assert_eq!(xr.composition_ref(), Some("comp"));
        assert_eq!(xr.revision_ref(), Some("comp-1"));
        assert_eq!(xr.composition_selector(), Some(BTreeMap::from([("a".to_owned(), "b".to_owned())])));
        assert_eq!(xr.revision_selector(), None);
        assert_eq!(xr.update_policy(), Some(UpdatePolicy::Manual));
        // References without a name or a kind are skipped, and a namespaced XR composes in its own namespace.
        let namespace = if layout == Layout::Modern { "own" } else { "one" };
        let reference = ObjectRef::new("v1/ConfigMap".parse().unwrap(), Namespace::new(namespace), "a");
        assert_eq!(xr.resource_refs(), [reference]);
    }
    let (legacy, modern) = (Composite::new(&legacy, Layout::Legacy), Composite::new(&modern, Layout::Modern));
    assert_eq!(legacy.claim_ref().unwrap().name, "c");
    assert_eq!(legacy.connection_secret(), Some(("ns", "s")));
    assert_eq!(legacy.claim_condition_types(), ["A", "B"]);
    assert_eq!(modern.claim_ref(), None);
    assert_eq!(modern.connection_secret(), None);
    assert!(modern.claim_condition_types().is_empty());
}

#[test]
fn references_are_sorted_and_carry_a_namespace_only_where_the_schema_has_one() {
    let child = |gvk: &str, namespace: &str, name: &str| {
        ObjectRef::new(gvk.parse().unwrap(), Namespace::new(namespace), name)
    };
    let children =
        [child("v1/Secret", "a", "z"), child("v1/ConfigMap", "b", "b"), child("v1/ConfigMap", "a", "b")];
    let cluster =
        object(json!({"apiVersion": "example.org/v1", "kind": "X", "metadata": {"name": "x", "uid": "u"}}));
    let intent = refs_intent(Composite::new(&cluster, Layout::Legacy), &children);
    let expected = json!({
        "apiVersion": "example.org/v1", "kind": "X", "metadata": {"name": "x"},
        "spec": {"resourceRefs": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "namespace": "a"},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "namespace": "b"},
            {"apiVersion": "v1", "kind": "Secret", "name": "z", "namespace": "a"},
        ]},
    });
    assert_eq!(Value::Object(intent), expected);

    let namespaced = object(
        json!({"apiVersion": "example.org/v1", "kind": "X", "metadata": {"name": "x", "namespace": "a"}}),
    );
    let intent = refs_intent(Composite::new(&namespaced, Layout::Modern), &children[..1]);
    let refs = &Value::Object(intent)["spec"]["crossplane"]["resourceRefs"];
    assert_eq!(refs, &json!([{"apiVersion": "v1", "kind": "Secret", "name": "z"}]));
}

#[test]
fn a_request_to_reconcile_is_handled_once() {
    let check = |handled: Option<&str>, expected: Option<&str>| {
        let xr = object(json!({
            "metadata": {"annotations": {"crossplane.io/reconcile-requested-at": "t1"}},
            "status": {"crossplane": {"lastHandledReconcileAt": handled}},
        }));
        assert_eq!(Composite::new(&xr, Layout::Modern).reconcile_request(), expected, "{handled:?}");
    };
    check(None, Some("t1"));
    check(Some("t0"), Some("t1"));
    check(Some("t1"), None);
}
