//! From create to destroy, with the requests counted.

use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;

const SETTINGS: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: NS
  labels:
    app.kubernetes.io/name: shop
data:
  app.conf: one
  level: info";

/// The bars are those of the request budget: create 4, unchanged plan 1, change 5, destroy 5.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_lives_from_create_to_destroy_with_few_requests() {
    for client in Client::all() {
        let mut case = Case::new("lifecycle", client).await;
        let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
        case.object("settings", SETTINGS, "");
        case.workspace.apply(&[]).expect_success();
        let created = case.requests();
        assert!(created.len() <= 4, "{created:#?}");
        let live = case.namespace.get(&wanted).await.unwrap();
        assert_eq!(live["data"]["app.conf"], "one");

        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        let looked = case.requests();
        assert!(looked.len() <= 1, "{looked:#?}");

        // Only the way it is written changes, and then one dotted key.
        let reordered = "# the same\nkind: ConfigMap\napiVersion: v1\ndata: {level: info, app.conf: one}\nmetadata: {name: settings, \
                         namespace: NS, labels: {app.kubernetes.io/name: shop}}";
        case.object("settings", reordered, "");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        case.requests();
        case.object("settings", &SETTINGS.replace("one", "two"), "");
        case.workspace.apply(&[]).expect_success();
        let changed = case.requests();
        assert!(changed.len() <= 5, "{changed:#?}");
        let after = case.namespace.get(&wanted).await.unwrap();
        assert_eq!(after["data"]["app.conf"], "two");
        let annotations = |object: &Value| object["metadata"]["annotations"].clone();
        assert_eq!(annotations(&after), annotations(&live), "bug 16: created-at stays");

        case.workspace.destroy().expect_success();
        let destroyed = case.requests();
        assert!(destroyed.len() <= 5, "{destroyed:#?}");
        assert_eq!(case.namespace.get(&wanted).await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bug_22_discovery_is_asked_once_a_process_and_not_per_object() {
    let mut case = Case::new("discovery", Client::any()).await;
    for number in 0..12 {
        let body = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{number}, namespace: NS}}");
        case.object(&format!("a{number}"), &body, "");
    }
    case.workspace.apply(&[]).expect_success();
    let created = case.requests();
    assert!(created.len() <= 4 * 12, "{}: {created:#?}", created.len());
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    let looked = case.requests();
    assert!(looked.len() <= 12, "{}: {looked:#?}", looked.len());
}
