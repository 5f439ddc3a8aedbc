//! An open page gets its view again when the cluster changes.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Namespace, Sandbox};

use crate::server::Server;

/// Long enough for a busy machine; nothing waits that long unless it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_view_is_sent_again_when_the_cluster_changes() {
    let ns = Sandbox::shared().namespace("ui-live").await;
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "root" }, "data": { "k": "old" } });
    let root = ns.apply_as("platform-team", &object).await;
    let server = Server::start(&ns, &[]);
    let place = format!("{}/configmap/root", ns.name());
    let mut tree = server.events(&format!("/live/tree/{place}"));
    assert!(tree.next().unwrap().contains("root"));
    let mut changes = server.events(&format!("/live/changes/{place}"));
    assert!(changes.next().unwrap().contains("Nothing has changed yet"));

    let owner =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "root", "uid": root["metadata"]["uid"] });
    let leaf = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "leaf", "ownerReferences": [owner] } });
    ns.apply_as("platform-team", &leaf).await;
    assert!(tree.find(|view| view.contains("leaf")).is_some());
    ns.merge_as("kubectl-edit", &object, &json!({ "data": { "k": "new" } })).await;
    let seen = changes.find(|view| view.contains("data.k")).unwrap();
    for part in ["<del>old</del>", "<ins>new</ins>", "kubectl-edit"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    ns.kubectl(&["delete", "configmap", "leaf"]).unwrap();
    assert!(tree.find(|view| !view.contains("leaf")).is_some());
    // It comes back by itself.
    ns.kubectl(&["delete", "configmap", "root"]).unwrap();
    assert!(tree.find(|view| view.contains("does not exist")).is_some());
    ns.apply_as("platform-team", &object).await;
    assert!(tree.find(|view| view.contains("nothing it owns has a problem")).is_some());
}

/// The requests for ConfigMaps of the namespace with this verb that have come to this stage.
fn requests(ns: &Namespace, verb: &str, stage: &str) -> usize {
    let log = std::fs::read_to_string(Sandbox::shared().layout().audit_log()).expect("it is on");
    let verb = format!("\"verb\":\"{verb}\"");
    let uri = format!("/namespaces/{}/configmaps?", ns.name());
    let parts = [verb.as_str(), &uri, &format!("\"{stage}\""), "plimsoll/"];
    log.lines().filter(|line| parts.iter().all(|part| line.contains(part))).count()
}

/// Waits until `is_true`.
fn until(what: &str, is_true: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn pages_share_one_watch_which_ends_with_the_last_of_them() {
    let ns = Sandbox::shared().namespace("ui-live").await;
    let map = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    for name in ["one", "other"] {
        ns.apply_as("platform-team", &map(name)).await;
    }
    let server = Server::start(&ns, &[]);
    let mut pages = ["one", "other"].map(|name| {
        let mut page = server.events(&format!("/live/object/{}/configmap/{name}", ns.name()));
        assert!(page.next().unwrap().contains(name));
        page
    });
    for (name, page) in ["one", "other"].into_iter().zip(&mut pages) {
        ns.merge_as("kubectl-edit", &map(name), &json!({ "data": { "k": name } })).await;
        assert!(page.find(|view| view.contains(&format!("k: {name}"))).is_some());
    }
    assert_eq!(
        (requests(&ns, "list", "ResponseComplete"), requests(&ns, "watch", "ResponseStarted")),
        (1, 1)
    );
    let [one, other] = pages;
    drop(one);
    ns.merge_as("kubectl-edit", &map("other"), &json!({ "data": { "k": "still" } })).await;
    let mut other = other;
    assert!(other.find(|view| view.contains("k: still")).is_some());
    drop(other);
    until("the watch ends", || requests(&ns, "watch", "ResponseComplete") == 1);
    assert_eq!(requests(&ns, "watch", "ResponseStarted"), 1);
}
