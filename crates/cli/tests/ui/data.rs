//! The page shows what the commands print: the same values, without those of Secrets, and what may not be read by name.

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::server::{Server, command};

/// A namespace with a ConfigMap that owns a Secret.
async fn family() -> (Namespace, Value) {
    let ns = Sandbox::shared().namespace("ui-data").await;
    let root = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "root" }, "data": { "k": "v" } });
    let root = ns.apply_as("platform-team", &root).await;
    let owner =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "root", "uid": root["metadata"]["uid"] });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "leaf", "ownerReferences": [owner] },
        "stringData": { "password": "hunter2" },
    });
    ns.apply_as("other-manager", &secret).await;
    (ns, root)
}

#[tokio::test]
async fn the_data_is_what_the_commands_print() {
    let (ns, _) = family().await;
    let server = Server::start(&ns, &[]);
    for part in ["tree", "why", "owners"] {
        let path = format!("/api/{part}/{}/configmap/root", ns.name());
        assert_eq!(server.json(&path), command(&ns, &[part, "cm/root"], ""), "{part}");
    }
    let text = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: root }, data: { k: w } }";
    // Only the name of the text differs.
    let planned = server.post("/api/plan", text).body.replace("manifest:1:", "<stdin>:1:");
    let planned: Value = serde_json::from_str(&planned).unwrap();
    assert_eq!(planned, command(&ns, &["plan", "-f", "-"], text));
    assert_eq!(server.json("/api/operations"), command(&ns, &["operations", "-A"], ""));
    // What a person sees is the same.
    let page = server.get(&format!("/tree/{}/configmap/root", ns.name())).body;
    assert!(page.contains("nothing it owns has a problem") && page.contains("leaf"), "{page}");
    let form = format!("manifest={}", text.replace(' ', "+"));
    let page = server.post("/plan", &form).body;
    assert!(page.contains("data.k") && page.contains("platform-team"), "{page}");
    let missing = server.get(&format!("/object/{}/configmap/none", ns.name()));
    assert!(missing.status == 404 && missing.body.contains("does not exist"), "{}", missing.body);
    let unknown = server.get(&format!("/object/{}/nonsense/none", ns.name()));
    assert!(unknown.status == 404 && unknown.body.contains("no kind nonsense"), "{}", unknown.body);
}

#[tokio::test]
async fn files_of_the_command_line_are_planned() {
    let (ns, _) = family().await;
    let folder = tempfile::tempdir().unwrap();
    let text = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: fresh }, data: { k: w } }";
    std::fs::write(folder.path().join("fresh.yaml"), text).unwrap();
    let path = folder.path().to_str().unwrap();
    let server = Server::start(&ns, &["-f", path]);
    assert_eq!(server.json("/api/plan"), command(&ns, &["plan", "-f", path], ""));
    let page = server.get("/plan").body;
    assert!(page.contains("1 to create") && page.contains("The files of the command line"), "{page}");
    assert!(
        ns.get(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "fresh" } }))
            .await
            .is_none()
    );
}

#[tokio::test]
async fn values_of_secrets_never_leave_the_process() {
    let (ns, _) = family().await;
    let server = Server::start(&ns, &[]);
    let encoded = "aHVudGVyMg==";
    let secret = format!("{}/secret/leaf", ns.name());
    let mut seen = String::new();
    for path in ["object", "tree", "changes", "api/object", "api/owners"] {
        seen.push_str(&server.get(&format!("/{path}/{secret}")).body);
    }
    seen.push_str(&server.get(&format!("/?q=secret+{}", ns.name())).body);
    let text = "{ apiVersion: v1, kind: Secret, metadata: { name: leaf }, stringData: { password: other } }";
    seen.push_str(&server.post("/api/plan", text).body);
    assert!(seen.contains("(sensitive hmac:") && seen.contains("password"), "{seen}");
    assert!(!seen.contains("hunter2") && !seen.contains(encoded), "{seen}");
}

#[tokio::test]
async fn missing_rights_are_shown_where_they_matter() {
    let (ns, _) = family().await;
    let user = format!("reader-of-{}", ns.name());
    ns.kubectl(&["create", "role", "reader", "--verb=get,list,watch", "--resource=configmaps"]).unwrap();
    ns.kubectl(&["create", "rolebinding", "reader", "--role=reader", &format!("--user={user}")]).unwrap();
    let server = Server::start(&ns, &["--as", &user]);
    let tree = server.get(&format!("/tree/{}/configmap/root", ns.name()));
    assert_eq!(tree.status, 200);
    assert!(tree.body.contains("You may not read everything"), "{}", tree.body);
    assert!(tree.body.contains("secrets"), "{}", tree.body);
    let secret = server.get(&format!("/object/{}/secret/leaf", ns.name()));
    assert!(secret.status == 502 && secret.body.contains("forbidden"), "{}", secret.body);
}

#[tokio::test]
async fn what_may_not_be_read_is_not_called_missing() {
    let (ns, _) = family().await;
    let volume = json!({ "name": "data", "persistentVolumeClaim": { "claimName": "data" } });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "db" },
        "spec": { "containers": [{ "name": "db", "image": "postgres" }], "volumes": [volume] },
    });
    ns.apply_as("platform-team", &pod).await;
    let user = format!("reader-of-{}", ns.name());
    ns.kubectl(&["create", "role", "reader", "--verb=get,list", "--resource=pods"]).unwrap();
    ns.kubectl(&["create", "rolebinding", "reader", "--role=reader", &format!("--user={user}")]).unwrap();
    let place = format!("tree/{}/pod/db", ns.name());
    let volume = |server: &Server| server.json(&format!("/api/{place}"))["children"][0].take();
    let hidden = volume(&Server::start(&ns, &["--as", &user]));
    assert_eq!((&hidden["name"], &hidden["health"]), (&json!("data"), &json!("hidden")));
    assert_eq!(volume(&Server::start(&ns, &[]))["health"], "missing", "with all rights");
    // The user may not watch pods either, which an open page finds out.
    let server = Server::start(&ns, &["--as", &user]);
    let seen =
        server.events(&format!("/live/{place}")).find(|view| view.contains("Not everything here is live"));
    assert!(seen.is_some_and(|view| view.contains("not readable") && view.contains("Pod")));
}
