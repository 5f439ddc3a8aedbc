//! Users with few permissions: what they may not touch is named, and the rest is done.

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::run_with;

/// A user who has the role `edit` in the namespace and nothing else.
fn editor(ns: &Namespace) -> String {
    let user = format!("editor-of-{}", ns.name());
    ns.kubectl(&["create", "rolebinding", "editor", "--clusterrole=edit", &format!("--user={user}")])
        .expect("kubectl binds the role");
    user
}

#[tokio::test]
async fn objects_that_may_not_be_read_are_named_and_the_others_are_applied() {
    let ns = Sandbox::shared().namespace("cli-permissions").await;
    let user = editor(&ns);
    let map = |number: usize| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("m{number}") }, "data": { "k": "v" } });
    let role = |kind: &str| json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": { "name": "forbidden" }, "rules": [] });
    let quota = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "elsewhere" } });
    let objects: Vec<Value> = (0..14).map(map).chain([role("ClusterRole"), role("Role"), quota]).collect();
    let input = objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    for command in ["plan", "drift"] {
        let output = run_with(&ns, &[command, "-f", "-", "--as", &user], &input);
        assert!(output.starts_with("exit 1"), "{output}");
        assert!(output.contains("+ ConfigMap NS/m13"), "{output}");
    }
    let output = run_with(&ns, &["apply", "-f", "-", "--as", &user], &input);
    assert!(output.starts_with("exit 1"), "{output}");
    assert!(output.contains("14 created, 3 refused"), "{output}");
    for name in ["ClusterRole forbidden", "Role NS/forbidden", "Namespace elsewhere"] {
        assert!(output.contains(&format!("! {name}")), "{name}: {output}");
    }
    assert!(ns.get(&map(13)).await.is_some());
    assert!(run_with(&ns, &["apply", "-f", "-", "--as", &user], &input).contains("14 unchanged"));
}
