use proptest::prelude::*;

use super::*;
use crate::object::object;
use crate::protocol::Resource;

fn xr(extra: &Value) -> Object {
    let mut xr = json!({
        "apiVersion": "example.org/v1", "kind": "XExample",
        "metadata": {"name": "my-xr", "uid": "75e4a668-035f-4ce8-8c45-f4d3ac850155",
                     "labels": {LABEL_COMPOSITE: "root-xr"}},
    });
    for (key, value) in extra.as_object().unwrap() {
        xr["metadata"][key] = value.clone();
    }
    object(xr)
}

fn state(resources: &[(&str, Value)]) -> State {
    let resource = |(key, value): &(&str, Value)| ((*key).to_owned(), Resource::of(value.clone()));
    State { resources: resources.iter().map(resource).collect(), ..State::default() }
}

fn config_map(metadata: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

fn render_one(
    xr: &Object,
    observed: Option<Value>,
    desired: Value,
) -> Result<(Value, Vec<Event>), RenderError> {
    let observed = observed.map(|value| ("database".to_owned(), object(value))).into_iter().collect();
    let namespaced = |gvk: &GroupVersionKind| match gvk.kind() {
        "ConfigMap" => Some(true),
        "ClusterRole" => Some(false),
        _ => None,
    };
    let mut rendered = render(xr, &observed, &state(&[("database", desired)]), namespaced)?;
    let composed = rendered.resources.remove("database").unwrap();
    Ok((Value::Object(composed.intent), rendered.events))
}

/// The metadata of composed resources, with a deterministic name.
#[test]
fn a_new_resource_gets_metadata_and_a_name_that_depends_on_owner_and_key() {
    let labels = json!({"labels": {
        LABEL_COMPOSITE: "root-xr", LABEL_CLAIM_NAME: "c", LABEL_CLAIM_NAMESPACE: "default", "other": "stays-here",
    }});
    let (intent, events) =
        render_one(&xr(&labels), None, config_map(&json!({"labels": {"mine": "1"}}))).unwrap();
    let expected = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "root-xr-38ce86992a27", "generateName": "root-xr-",
            "annotations": {"crossplane.io/composition-resource-name": "database"},
            "labels": {
                "crossplane.io/composite": "root-xr", "crossplane.io/claim-name": "c",
                "crossplane.io/claim-namespace": "default", "mine": "1",
            },
            "ownerReferences": [{
                "apiVersion": "example.org/v1", "kind": "XExample", "name": "my-xr",
                "uid": "75e4a668-035f-4ce8-8c45-f4d3ac850155", "controller": true, "blockOwnerDeletion": true,
            }],
        },
    });
    assert_eq!(intent, expected);
    assert_eq!(events, []);
}

#[test]
fn names_come_from_what_exists_then_from_the_function_then_from_us() {
    let check = |observed: Option<Value>, desired: Value, name: &str, generate: Option<&str>| {
        let (intent, _) = render_one(&xr(&json!({})), observed, desired).unwrap();
        assert_eq!(intent["metadata"]["name"], name);
        assert_eq!(intent["metadata"].get("generateName").and_then(Value::as_str), generate);
    };
    let exists = || Some(config_map(&json!({"name": "old", "generateName": "gen-"})));
    check(exists(), config_map(&json!({"name": "wanted"})), "old", Some("gen-"));
    check(None, config_map(&json!({"name": "wanted"})), "wanted", None);
    check(None, config_map(&json!({"generateName": "cool-"})), "cool-38ce86992a27", Some("cool-"));
    check(
        None,
        config_map(&json!({"name": "", "generateName": ""})),
        "root-xr-38ce86992a27",
        Some("root-xr-"),
    );
    // Another kind under the same key is another object.
    let role = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "old"}});
    check(Some(role), config_map(&json!({"name": "wanted"})), "wanted", None);
    // Another version of the same kind is the same object.
    let beta = json!({"apiVersion": "example.org/v1beta1", "kind": "Thing", "metadata": {"name": "old"}});
    let stable = json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "wanted"}});
    check(Some(beta), stable, "old", None);
}

/// Crossplane's scope cases.
#[test]
fn a_namespaced_xr_composes_in_its_own_namespace_only() {
    let namespaced = xr(&json!({"namespace": "own"}));
    let namespace = |xr: &Object, desired: Value| {
        let (intent, events) = render_one(xr, None, desired)?;
        let namespace = intent["metadata"].get("namespace").and_then(Value::as_str).map(str::to_owned);
        Ok::<_, RenderError>((namespace, events.into_iter().map(|event| event.message).collect::<Vec<_>>()))
    };
    let own = || Some("own".to_owned());
    assert_eq!(namespace(&namespaced, config_map(&json!({}))), Ok((own(), vec![])));
    assert_eq!(namespace(&namespaced, config_map(&json!({"namespace": "own"}))), Ok((own(), vec![])));
    let overridden = r#"cannot create composed resource "database" in namespace "other", using XR namespace "own" instead"#;
    assert_eq!(
        namespace(&namespaced, config_map(&json!({"namespace": "other"}))),
        Ok((own(), vec![overridden.to_owned()]))
    );
    let of = |kind: &str, api_version: &str, namespace: Option<&str>| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "r", "namespace": namespace}});
    // Also where the function sets a namespace, which such a kind does not have.
    for set in [None, Some("own"), Some("other")] {
        assert_eq!(
            namespace(&namespaced, of("ClusterRole", "rbac.authorization.k8s.io/v1", set))
                .unwrap_err()
                .to_string(),
            "cannot apply cluster scoped composed resource \"database\" (a ClusterRole named r) for a namespaced \
             composite resource."
        );
        assert_eq!(
            namespace(&namespaced, of("Thing", "example.org/v1", set)).unwrap_err().to_string(),
            "cannot check if composed resource \"database\" is namespaced (a Thing named r)"
        );
    }
    // A cluster-scoped XR composes anywhere.
    let cluster = xr(&json!({}));
    let role = of("ClusterRole", "rbac.authorization.k8s.io/v1", None);
    assert_eq!(namespace(&cluster, role), Ok((None, vec![])));
    assert_eq!(
        namespace(&cluster, config_map(&json!({"namespace": "any"}))),
        Ok((Some("any".to_owned()), vec![]))
    );
}

#[test]
fn resources_that_cannot_be_applied_are_errors() {
    let check = |xr: &Object, desired: Value, expected: &str| {
        assert_eq!(render_one(xr, None, desired).unwrap_err().to_string(), expected);
    };
    for of_no_kind in [json!({}), json!({"apiVersion": "v1"}), json!({"kind": "ConfigMap", "apiVersion": ""})]
    {
        check(
            &xr(&json!({})),
            of_no_kind,
            "cannot render composed resource \"database\": it has no apiVersion or no kind",
        );
    }
    check(
        &xr(&json!({"labels": {}})),
        config_map(&json!({})),
        "cannot render metadata for composed resource \"database\": cannot find top-level composite resource name \
         label \"crossplane.io/composite\" in composite resource metadata",
    );
    check(
        &xr(&json!({})),
        config_map(&json!({"name": "I AM INVALID"})),
        "cannot apply composed resource \"database\" because it has an invalid name \"I AM INVALID\". \
         Must be a valid RFC 1123 subdomain name.",
    );
    let owned =
        json!({"name": "x", "ownerReferences": [{"kind": "K", "name": "n", "uid": "u", "controller": true}]});
    check(
        &xr(&json!({})),
        config_map(&owned),
        "cannot render metadata for composed resource \"database\": cannot set controller reference: \
         x is already controlled by K n (UID u)",
    );
}

#[test]
fn readiness_is_what_the_function_says() {
    let mut desired =
        state(&[("a", config_map(&json!({}))), ("b", config_map(&json!({}))), ("c", config_map(&json!({})))]);
    desired.resources.get_mut("a").unwrap().ready = Ready::True;
    desired.resources.get_mut("b").unwrap().ready = Ready::False;
    let rendered = render(&xr(&json!({})), &BTreeMap::new(), &desired, |_| Some(true)).unwrap();
    let ready: Vec<_> = rendered.resources.values().map(|composed| composed.ready).collect();
    assert_eq!(ready, [true, false, false]);
}

proptest! {
    #[test]
    fn rendering_what_was_rendered_changes_nothing(keys in prop::collection::btree_set("[a-z]{1,8}", 1..5)) {
        let resources: Vec<_> = keys.iter().map(|key| (key.as_str(), config_map(&json!({})))).collect();
        let desired = state(&resources);
        let first = render(&xr(&json!({})), &BTreeMap::new(), &desired, |_| Some(true)).unwrap();
        let observed = first.resources.iter().map(|(key, composed)| (key.clone(), composed.intent.clone())).collect();
        let second = render(&xr(&json!({})), &observed, &desired, |_| Some(true)).unwrap();
        prop_assert_eq!(&first, &second);
        let names: std::collections::BTreeSet<_> =
            first.resources.values().map(|composed| object::name(&composed.intent).map(str::to_owned)).collect();
        prop_assert_eq!(names.len(), keys.len());
    }
}
