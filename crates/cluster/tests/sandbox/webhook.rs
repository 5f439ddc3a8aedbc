//! Webhooks that come up after the objects they handle, or go down in between.

use std::time::Duration;

use cluster::{Delete, Deletion, Dependency, Write};
use serde_json::json;
use testkit::Webhook;

use super::*;

#[tokio::test]
async fn an_apply_and_a_deletion_wait_until_their_webhook_can_be_called() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("webhook").await);
    let webhook = Webhook::start().await;
    let admission = webhook.admission(namespace.name(), ("", "configmaps"), namespace.name());
    session.apply(&reference(&admission), &admission, Write::by("us")).await.unwrap();
    let map = config_map(&namespace, "a", &json!({ "k": "v" }));
    let target = reference(&map);
    // The API server does not know of the configuration at once.
    let error = loop {
        match session.apply(&target, &map, Write::by("us").dry_run()).await {
            Ok(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(error) => break error,
        }
    };
    let name = format!("webhook {}.example.org", namespace.name());
    assert_eq!(error.dependency(), Some(Dependency::Webhook(name)), "{error:?}");

    let coming = async {
        webhook.until_refused().await;
        webhook.set_up(true);
    };
    let (applied, ()) = tokio::join!(session.apply_when_possible(&target, &map, Write::by("us")), coming);
    assert!(applied.unwrap().created());

    webhook.set_up(false);
    let coming = async {
        webhook.until_refused().await;
        webhook.set_up(true);
    };
    let how = Delete::of(&target);
    let (deleted, ()) = tokio::join!(session.delete(&target, &how), coming);
    assert_eq!(deleted.unwrap(), Deletion::Gone { forced: Vec::new() });
    namespace.kubectl(&["delete", "validatingwebhookconfiguration", namespace.name()]).unwrap();
}

/// A kind with two versions that only a webhook can convert.
fn converted(group: &str, webhook: &Webhook) -> Value {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut definition = crd(group, "Widget", &schema);
    let mut second = definition["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    definition["spec"]["versions"][0]["storage"] = false.into();
    definition["spec"]["versions"].as_array_mut().unwrap().push(second);
    let called = json!({ "clientConfig": webhook.client_config(), "conversionReviewVersions": ["v1"] });
    definition["spec"]["conversion"] = json!({ "strategy": "Webhook", "webhook": called });
    definition
}

#[tokio::test]
async fn an_apply_waits_until_its_conversion_webhook_can_be_called() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("conversion").await);
    let (group, webhook) = (group_of(&namespace), Webhook::start().await);
    let definition = converted(&group, &webhook);
    session.apply(&reference(&definition), &definition, Write::by("us")).await.unwrap();
    let widget = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Widget",
        "metadata": { "name": "w", "namespace": namespace.name() }, "spec": { "size": 3 },
    });
    let target = reference(&widget);
    let coming = async {
        webhook.until_refused().await;
        webhook.set_up(true);
    };
    let (applied, ()) = tokio::join!(session.apply_when_possible(&target, &widget, Write::by("us")), coming);
    assert!(applied.unwrap().created());

    webhook.set_up(false);
    let stored =
        json!({ "apiVersion": format!("{group}/v2"), "kind": "Widget", "metadata": widget["metadata"] });
    let read = session.read(&reference(&stored)).await.unwrap().unwrap();
    assert_eq!(read.object["spec"]["size"], 3, "what is stored needs no conversion");
    let error = session.apply(&target, &widget, Write::by("us")).await.unwrap_err();
    assert!(matches!(error.dependency(), Some(Dependency::Webhook(_))), "{error:?}");
    let hint = error.diagnostic("Apply").hint.unwrap();
    assert!(hint.starts_with("Check that the webhook's Service has ready Pods"), "{hint}");
    namespace.kubectl(&["delete", "crd", &format!("widgets.{group}")]).unwrap();
}
