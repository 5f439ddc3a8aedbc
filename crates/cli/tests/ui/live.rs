//! An open page gets its view again when the cluster changes.

use serde_json::json;
use testkit::Sandbox;

use crate::server::Server;

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
