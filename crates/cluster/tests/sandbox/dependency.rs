use cluster::{Class, Write};
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_crd_and_its_object_can_be_applied_together() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("together").await);
    let group = group_of(&namespace);
    let definition =
        crd(&group, "Widget", &json!({ "type": "object", "properties": { "size": { "type": "integer" } } }));
    let widget = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Widget",
        "metadata": { "name": "w", "namespace": namespace.name() }, "spec": { "size": 3 },
    });
    let (target, kind) = (reference(&widget), reference(&definition));
    let error = session.apply(&target, &widget, Write::by("us")).await.unwrap_err();
    assert_eq!(error.class(), Class::KindMissing);
    let (first, second) = tokio::join!(
        session.apply_when_possible(&target, &widget, Write::by("us")),
        session.apply(&kind, &definition, Write::by("us"))
    );
    second.unwrap();
    assert!(first.unwrap().created());
}

#[tokio::test]
async fn a_second_kind_of_a_group_that_exists_is_waited_for_too() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("second").await);
    let group = group_of(&namespace);
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let (widgets, gadgets) = (crd(&group, "Widget", &schema), crd(&group, "Gadget", &schema));
    session.apply(&reference(&widgets), &widgets, Write::by("us")).await.unwrap();
    let object = |kind: &str| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": kind,
            "metadata": { "name": "x", "namespace": namespace.name() }, "spec": {},
        })
    };
    let (widget, gadget) = (object("Widget"), object("Gadget"));
    session.apply_when_possible(&reference(&widget), &widget, Write::by("us")).await.unwrap();
    let error = session.apply(&reference(&gadget), &gadget, Write::by("us")).await.unwrap_err();
    assert_eq!(error.class(), Class::KindMissing);
    session.apply(&reference(&gadgets), &gadgets, Write::by("us")).await.unwrap();
    session.apply_when_possible(&reference(&gadget), &gadget, Write::by("us")).await.unwrap();
}

#[tokio::test]
async fn a_namespace_and_its_content_can_be_applied_together() {
    let (session, scratch) = (session(), Sandbox::shared().namespace("content").await);
    let name = format!("{}-late", scratch.name());
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let map =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": name } });
    let (target, home) = (reference(&map), reference(&namespace));
    let error = session.apply(&target, &map, Write::by("us")).await.unwrap_err();
    assert_eq!(error.class(), Class::NamespaceMissing);
    let (first, second) = tokio::join!(
        session.apply_when_possible(&target, &map, Write::by("us")),
        session.apply(&home, &namespace, Write::by("us"))
    );
    second.unwrap();
    assert!(first.unwrap().created());
}

#[tokio::test]
async fn a_missing_kind_is_reported_with_the_kinds_that_exist() {
    let session = session();
    let check = async |api_version: &str, kind: &str, title: &str, words: &str| {
        let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "x", "namespace": "default" } });
        let error = session.apply(&reference(&object), &object, Write::by("us")).await.unwrap_err();
        let diagnostic = error.diagnostic("Plan");
        assert_eq!(diagnostic.summary, format!("Plan: {title}"));
        assert!(diagnostic.detail.contains(words), "{}", diagnostic.detail);
    };
    check(
        "apps/v1",
        "Deploymnet",
        "Custom Resource Definition Not Found",
        "Did you mean apps/v1 Deployment?",
    )
    .await;
    check(
        "nowhere.example.com/v1",
        "Thing",
        "Custom Resource Definition Not Found",
        "does not serve the group nowhere.example.com",
    )
    .await;
    check("apps/v2", "Deployment", "Custom Resource Definition Not Found", "only in version v1").await;
    check("extensions/v1beta1", "Deployment", "Invalid API Group", "Deployment is in apps/v1").await;
    check("networking.k8s.io/v1", "Service", "Invalid API Group", "Service is in v1").await;
}
