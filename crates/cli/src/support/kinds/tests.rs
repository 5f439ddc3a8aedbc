//! Names as users type them, and the kinds they resolve to.

use super::*;

/// A kind whose objects can be listed.
pub(crate) fn resource(gvk: &str, plural: &str, namespaced: bool) -> Resource {
    Resource {
        gvk: gvk.parse().unwrap(),
        plural: plural.to_owned(),
        singular: String::new(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced,
        verbs: vec!["list".to_owned()],
    }
}

fn cluster() -> Vec<Resource> {
    let kind = |gvk: &str, plural: &str, short: &[&str]| Resource {
        short_names: short.iter().map(|name| (*name).to_owned()).collect(),
        ..resource(gvk, plural, true)
    };
    vec![
        kind("example.org/v1/Deployment", "deployments", &[]),
        kind("apps/v1/Deployment", "deployments", &["deploy"]),
        kind("v1/Pod", "pods", &["po"]),
        kind("v1/Event", "events", &["ev"]),
        kind("events.k8s.io/v1/Event", "events", &["ev"]),
        kind("autoscaling/v1/HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"]),
        kind("autoscaling/v2/HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"]),
        Resource {
            singular: "one-widget".to_owned(),
            ..kind("shop.example.org/v1/Widget", "widgets", &["wd"])
        },
    ]
}

#[test]
fn every_form_of_kubectl_finds_its_kind() {
    let kinds = cluster();
    let check = |typed: &str, expected: Option<&str>| {
        let found = find(typed, &kinds).map(|kind| kind.gvk.to_string());
        assert_eq!(found.as_deref(), expected, "{typed}");
    };
    for typed in ["deploy", "deployment", "deployments", "Deployment", "deploy.apps", "deployments.v1.apps"] {
        check(typed, Some("apps/v1/Deployment"));
    }
    check("deployments.example.org", Some("example.org/v1/Deployment"));
    check("deployments.v2.apps", None);
    check("po", Some("v1/Pod"));
    check("events", Some("v1/Event"));
    check("events.events.k8s.io", Some("events.k8s.io/v1/Event"));
    check("hpa", Some("autoscaling/v2/HorizontalPodAutoscaler"));
    check("hpa.v1.autoscaling", Some("autoscaling/v1/HorizontalPodAutoscaler"));
    check("wd", Some("shop.example.org/v1/Widget"));
    check("one-widget", Some("shop.example.org/v1/Widget"));
    check("depl", None);
}

#[test]
fn a_typo_gets_a_suggestion() {
    let kinds = cluster();
    let check = |typed: &str, expected: &str| {
        let diagnostic = unknown(typed, &kinds);
        assert_eq!(diagnostic.summary, format!("the cluster has no kind {typed}"));
        assert_eq!(diagnostic.hint.as_deref(), Some(expected), "{typed}");
    };
    check("deploymnet", "Did you mean Deployment (apps/v1)?");
    check("Widgte", "Did you mean Widget (shop.example.org/v1)?");
    check("deploymnet.apps", "Did you mean Deployment (apps/v1)?");
    check("zebra", "List the kinds of the cluster with `kubectl api-resources`.");
}

#[test]
fn versions_are_ordered_as_kubernetes_orders_them() {
    // The example from the documentation of CRD versions.
    let expected =
        ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"];
    let mut kinds = expected.map(|version| resource(&format!("example.org/{version}/Widget"), "", true));
    kinds.sort_by(|left, right| left.gvk.cmp(&right.gvk));
    kinds.sort_by_key(|kind| Reverse(kind.version_priority()));
    assert_eq!(kinds.each_ref().map(|kind| kind.gvk.version()), expected);
}
