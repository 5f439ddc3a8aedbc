//! A user never learns through the operator what that user may not read.

use cluster::Write;
use operator::composition::requests::{Operation, RequestSpec, Requester};
use serde_json::{Value, json};

use crate::fixture::{Platform, apply, get, in_one_line, map, requests};

/// A user with these rights: rules of a Role in the namespace, and of a ClusterRole.
async fn user(platform: &Platform, name: &str, own: Value, everywhere: Value) -> String {
    let user = format!("{name}-of-{}", platform.ns.name());
    let subject = json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}]);
    let binding = |kind: &str, role: &str, role_kind: &str, role_name: &str| {
        let mut binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role_name},
            "subjects": subject,
        });
        if kind == "RoleBinding" {
            binding["metadata"]["namespace"] = platform.ns.name().into();
        }
        binding
    };
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"namespace": platform.ns.name(), "name": name}, "rules": own,
    });
    let cluster_role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": user}, "rules": everywhere,
    });
    let asks = format!("{name}-asks");
    for object in [
        role,
        cluster_role,
        binding("RoleBinding", name, "Role", name),
        binding("RoleBinding", &asks, "ClusterRole", "plimsoll-requests"),
        binding("ClusterRoleBinding", &user, "ClusterRole", &user),
    ] {
        apply(&platform.session, &object).await;
    }
    user
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// What reading a platform takes.
fn reads_platforms(platform: &Platform) -> Vec<Value> {
    let engine = ["compositions", "compositionrevisions", "compositeresourcedefinitions"];
    vec![
        rule("apiextensions.crossplane.io", &engine, &["get", "list"]),
        rule("pkg.crossplane.io", &["functions", "functionrevisions"], &["get", "list"]),
        rule(&platform.group, &["xapps"], &["get", "list", "patch"]),
    ]
}

fn secret(value: &str) -> Value {
    json!({"object": {"apiVersion": "v1", "kind": "Secret", "stringData": {"token": value}}})
}

fn input(value: &str) -> Value {
    json!({"resources": {"settings": map(&json!({"v": value})), "token": secret(value)}})
}

#[tokio::test]
async fn composed_objects_that_the_user_may_not_read_are_not_shown() {
    let platform = Platform::new("hidden", &input("one")).await;
    platform.composed("a", "small").await;
    let changes = rule("apiextensions.crossplane.io", &["compositions"], &["patch"]);
    let everywhere = [reads_platforms(&platform), vec![changes]].concat();
    let own = json!([rule("", &["configmaps"], &["get"])]);
    let user = user(&platform, "planner", own, everywhere.into()).await;
    let changed = platform.composition("main", &input("two"));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-", "--as", &user], &[&changed]));
    assert!(shown.starts_with("exit 2\n"), "{shown}");
    assert!(
        shown.contains("the only XR changes ConfigMap.data.v and has a Secret that you may not read\n"),
        "{shown}"
    );
    assert!(shown.contains(r#"data.v: "one" → "two""#), "{shown}");
    assert!(shown.contains("    ? Secret NS/a-HASH\n        you may not read it"), "{shown}");
    assert_eq!(requests(&platform.session, platform.ns.name()).await, 0);
}

#[tokio::test]
async fn only_those_who_could_apply_a_composition_see_what_it_would_compose() {
    let platform = Platform::new("may-not-apply", &input("one")).await;
    platform.composed("a", "small").await;
    let own = json!([rule("", &["configmaps", "secrets"], &["get", "list"])]);
    let user = user(&platform, "reader", own, reads_platforms(&platform).into()).await;
    let changed = platform.composition("main", &input("two"));
    // The API server refuses the dry run of the Composition, so there is nothing to render.
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-", "--as", &user], &[&changed]));
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    assert!(!shown.contains("two"), "{shown}");
    // A program that asks the operator itself gets the same answer.
    let changed_all = json!({"changed": [changed], "xrs": [{
        "apiVersion": format!("{}/v1", platform.group), "kind": "XApp", "namespace": platform.ns.name(), "name": "a",
    }]});
    let session = as_user(&user);
    let status = ask(&platform, &session, Operation::Plan, &changed_all, None).await.unwrap();
    assert_eq!(status["state"], "Refused", "{status}");
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("you may not patch Composition main."), "{message}");
}

#[tokio::test]
async fn the_api_server_rejects_a_request_that_names_another_user() {
    let platform = Platform::new("forged", &input("one")).await;
    platform.composed("a", "small").await;
    let user = user(&platform, "forger", json!([]), json!([])).await;
    let session = as_user(&user);
    let question = json!({"xr": {
        "apiVersion": format!("{}/v1", platform.group), "kind": "XApp", "namespace": platform.ns.name(), "name": "a",
    }});
    for requester in [
        Requester { username: "admin".into(), groups: vec!["system:masters".into()], ..Requester::default() },
        Requester { username: user.clone(), groups: vec!["system:masters".into()], ..Requester::default() },
        Requester {
            username: user.clone(),
            groups: vec!["system:authenticated".into()],
            extra: [("scopes".to_owned(), vec!["all".to_owned()])].into(),
            ..Requester::default()
        },
    ] {
        let refused =
            ask(&platform, &session, Operation::Inspect, &question, Some(requester)).await.unwrap_err();
        assert!(refused.contains("ValidatingAdmissionPolicy 'plimsoll-requests'"), "{refused}");
    }
    // As themselves they are heard, and may not know.
    let status = ask(&platform, &session, Operation::Inspect, &question, None).await.unwrap();
    assert_eq!(status["state"], "Refused", "{status}");
    assert!(status["message"].as_str().unwrap().contains("you may not get XApp"), "{status}");
}

#[tokio::test]
async fn xrs_of_other_namespaces_are_said_to_be_unknown() {
    let platform = Platform::new("one-namespace", &input("one")).await;
    platform.composed("a", "small").await;
    let engine = reads_platforms(&platform);
    let (engine, xrs) = engine.split_at(2);
    let changes = rule("apiextensions.crossplane.io", &["compositions"], &["patch"]);
    let everywhere = [engine.to_vec(), vec![changes]].concat();
    let own = [xrs.to_vec(), vec![rule("", &["configmaps", "secrets"], &["get"])]].concat();
    let user = user(&platform, "tenant", own.into(), everywhere.into()).await;
    let changed = platform.composition("main", &input("two"));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-", "--as", &user], &[&changed]));
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    assert!(shown.contains("error[composite-unlisted]: you may list XApp in namespace NS only"), "{shown}");
    assert!(shown.contains("~ XApp NS/a\n"), "{shown}");
}

#[tokio::test]
async fn a_user_who_may_not_ask_learns_what_to_ask_for() {
    let platform = Platform::new("may-not-ask", &input("one")).await;
    platform.composed("a", "small").await;
    let user = format!("stranger-of-{}", platform.ns.name());
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": user},
        "rules": reads_platforms(&platform),
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}],
    });
    apply(&platform.session, &role).await;
    apply(&platform.session, &binding).await;
    let kind = platform.kind();
    let shown = platform.transcript(&platform.run(&["inspect", &kind, "a", "--as", &user], &[]));
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    assert!(in_one_line(&shown).contains("Ask for the ClusterRole plimsoll-requests"), "{shown}");
}

/// A session of a user that the administrator impersonates.
fn as_user(user: &str) -> cluster::Session {
    let impersonate = cluster::Impersonate { user: Some(user.to_owned()), ..cluster::Impersonate::default() };
    let connection = cluster::Connection {
        config_paths: vec![testkit::Sandbox::shared().kubeconfig()],
        impersonate: Some(impersonate),
        ..cluster::Connection::default()
    };
    cluster::Session::connect(&connection, &cluster::Environment::default(), "plimsoll-tests").unwrap()
}

/// Writes a request, by default in the user's own name; its final status, or why it was rejected.
async fn ask(
    platform: &Platform,
    session: &cluster::Session,
    operation: Operation,
    question: &Value,
    requester: Option<Requester>,
) -> Result<Value, String> {
    let own = operator::composition::requests::requester(session).await.unwrap();
    let spec = RequestSpec {
        operation,
        requester: requester.unwrap_or(own),
        key: operator::composition::requests::OpeningKey::new().unwrap().public(),
        question: operator::composition::requests::pack(question).unwrap(),
        timeout_seconds: 30,
    };
    let request = json!({
        "apiVersion": "plimsoll.dev/v1alpha1", "kind": "Request",
        "metadata": {"namespace": platform.ns.name(), "name": format!("by-hand-{operation:?}").to_lowercase()},
        "spec": spec,
    });
    let target = crate::fixture::reference(&request);
    session
        .create(&target, &request, Write::by("person"))
        .await
        .map_err(|error| error.status().unwrap().message.clone())?;
    let is_done =
        |request: &Value| request["status"]["state"].as_str().is_some_and(|state| state != "Running");
    let done = crate::fixture::until(&platform.session, &request, "it is answered", is_done).await;
    assert!(get(&platform.session, &request).await.is_some());
    let how = cluster::Delete { timeout: std::time::Duration::ZERO, ..cluster::Delete::of(&target) };
    session.delete(&target, &how).await.unwrap();
    Ok(done["status"].clone())
}
