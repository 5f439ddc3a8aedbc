//! Names that people type, and the kinds they mean.

use serde_json::json;

use super::*;

fn resource(gvk: &str, plural: &str) -> Named {
    Named::built_in(Resource {
        gvk: gvk.parse().unwrap(),
        plural: plural.to_owned(),
        namespaced: true,
        verbs: Vec::new(),
    })
}

fn cluster() -> Vec<Named> {
    let mut named = vec![
        resource("example.org/v1/Deployment", "deployments"),
        resource("apps/v1/Deployment", "deployments"),
        resource("v1/Pod", "pods"),
        resource("v1/Event", "events"),
        resource("events.k8s.io/v1/Event", "events"),
        resource("autoscaling/v1/HorizontalPodAutoscaler", "horizontalpodautoscalers"),
        resource("autoscaling/v2/HorizontalPodAutoscaler", "horizontalpodautoscalers"),
        resource("shop.example.org/v1/Widget", "widgets"),
    ];
    let crd = json!({ "spec": {
        "group": "shop.example.org",
        "names": { "plural": "widgets", "singular": "widget", "shortNames": ["wd"] },
    } });
    named.iter_mut().filter(|named| named.is_of(&crd)).for_each(|named| named.learn(&crd));
    named
}

#[test]
fn every_form_of_kubectl_finds_its_kind() {
    let named = cluster();
    let check = |typed: &str, expected: Option<&str>| {
        let found = find(typed, &named).map(|named| named.resource.gvk.to_string());
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
    check("depl", None);
}

#[test]
fn a_slip_is_told_what_was_probably_meant() {
    let named = cluster();
    let check = |typed: &str, expected: &str| {
        let diagnostic = unknown(typed, &named);
        assert_eq!(diagnostic.summary, format!("the cluster has no kind {typed}"));
        assert_eq!(diagnostic.hint.as_deref(), Some(expected), "{typed}");
    };
    check("deploymnet", "did you mean Deployment (apps/v1)?");
    check("Widgte", "did you mean Widget (shop.example.org/v1)?");
    check("deploymnet.apps", "did you mean Deployment (apps/v1)?");
    check("zebra", "`kubectl api-resources` lists the kinds that there are");
}
