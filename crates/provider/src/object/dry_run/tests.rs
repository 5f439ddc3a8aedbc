use super::*;

fn state(text: &str, namespace: Option<&str>) -> Object {
    let body = Body::parse(text).unwrap();
    let target = ObjectRef::new(body.gvk, namespace.and_then(manifest::Namespace::new), body.name);
    Object::new().with("yaml_body", text).with("object_ref", attributes::object_ref(&target))
}

fn text(api_version: &str, kind: &str, metadata: &str) -> String {
    format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{{metadata}}}\n")
}

#[test]
fn the_same_object_written_differently_is_not_another_one() {
    let check = |prior: Object, now: &str, expected: Option<&str>| {
        let found = another_object(&prior, &Body::parse(now).unwrap());
        assert_eq!(found.is_some(), expected.is_some(), "{now}");
        if let (Some(found), Some(expected)) = (found, expected) {
            assert_eq!(found.summary, "Resource Identity Changed - Replacement Required");
            assert!(found.detail.contains(expected), "{}", found.detail);
        }
    };
    let pod = || state(&text("v1", "Pod", "name: a"), Some("default"));
    check(pod(), &text("v1", "Pod", "name: a"), None);
    check(pod(), &text("v1", "Pod", "name: a, namespace: default"), None);
    check(
        pod(),
        &text("v1", "Pod", "name: a, namespace: shop"),
        Some("metadata.namespace: \"default\" → \"shop\""),
    );
    check(pod(), &text("v1", "Pod", "name: b"), Some("Old: v1/Pod default/a\nNew: v1/Pod default/b"));
    check(pod(), &text("v1", "Service", "name: a"), Some("kind: \"Pod\" → \"Service\""));
    let budget = || state(&text("policy/v1beta1", "PodDisruptionBudget", "name: a"), Some("default"));
    check(budget(), &text("policy/v1", "PodDisruptionBudget", "name: a"), None);
    check(budget(), &text("other.io/v1", "PodDisruptionBudget", "name: a"), Some("apiVersion"));
    let role = || state(&text("rbac.authorization.k8s.io/v1", "ClusterRole", "name: a"), None);
    check(role(), &text("rbac.authorization.k8s.io/v1", "ClusterRole", "name: a, namespace: shop"), None);
}
