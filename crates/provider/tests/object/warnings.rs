//! Which warnings a plan shows, about what, and in how much detail.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;

const BODY: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}\ndata: {k: v, other: w}";

fn wanted() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_field_is_not_drift_but_a_removed_one_is() {
    let case = Case::new("sharing", Client::any()).await;
    case.object("a", BODY, "");
    case.workspace.apply(&[]).expect_success();
    // Another manager applies the same value, and so holds the field as well; an edit of another field is irrelevant.
    let mut shared = wanted();
    shared["data"] = json!({"k": "v"});
    case.namespace.apply_as("another", &shared).await;
    case.object("a", &BODY.replace("other: w", "other: x"), "");
    let planned = case.workspace.apply(&[]).expect_success().text();
    assert!(!planned.contains("Drift Detected") && !planned.contains("Ownership Conflict"), "{planned}");

    case.namespace.merge_as("remover", &wanted(), &json!({"data": {"other": null}})).await;
    let planned = case.workspace.plan(&[]).expect_success().text();
    assert!(planned.contains("Drift Detected - Reverting External Changes"), "{planned}");
    assert!(planned.contains("data.other: (none) → \"x\""), "{planned}");
    assert!(!planned.contains("data.k:"), "{planned}");
}

#[tokio::test(flavor = "multi_thread")]
async fn managed_fields_verbosity_sets_the_detail_of_ownership_warnings() {
    for client in Client::all() {
        let case = Case::new("verbosity", client).await;
        case.object("a", BODY, "");
        case.workspace.apply(&[]).expect_success();
        case.namespace.merge_as("kubectl-edit", &wanted(), &json!({"data": {"k": "theirs"}})).await;
        let detail = "data.k: \"theirs\" → \"v\" (modified by: kubectl-edit)";
        for (verbosity, title, details) in
            [("full", true, true), ("minimal", true, false), ("none", false, false)]
        {
            let reach = Case::reach();
            case.provider(&format!("cluster = {{ {reach} }}\n  managed_fields_verbosity = {verbosity:?}"));
            let change = case.workspace.change("k8sconnect_object.a");
            assert_eq!(change["actions"], json!(["update"]), "{verbosity}: {change}");
            let planned = case.workspace.plan(&[]).expect_success().text();
            let about = planned.contains(&format!("(ConfigMap {}/a)", case.namespace.name()));
            assert_eq!((about, planned.contains(detail)), (title, details), "{verbosity}: {planned}");
        }
        case.provider("managed_fields_verbosity = \"loud\"");
        let refused = case.workspace.validate().expect_failure().text();
        assert!(refused.contains("Invalid Attribute Value") && refused.contains("\"loud\""), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn warnings_of_the_server_are_reported_for_their_own_object() {
    let case = Case::new("warnings", Client::any()).await;
    for name in ["one", "two"] {
        let endpoints = format!("apiVersion: v1\nkind: Endpoints\nmetadata: {{name: {name}, namespace: NS}}");
        case.object(name, &endpoints, "");
        case.object(&format!("map-{name}"), &BODY.replace("name: a", &format!("name: {name}")), "");
    }
    let planned = case.workspace.plan(&[]).expect_success().text();
    for name in ["one", "two"] {
        assert!(planned.contains(&format!("Kubernetes API Warning (Endpoints/{name})")), "{planned}");
    }
    assert!(!planned.contains("Kubernetes API Warning (ConfigMap"), "{planned}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_conflict_is_called_one() {
    let case = Case::new("conflict", Client::any()).await;
    case.object(
        "a",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conflict-a, namespace: NS}\ndata: {'no key': v}",
        "",
    );
    let refused = case.workspace.apply(&[]).expect_failure().text();
    assert!(!refused.contains("Field Manager Conflict") && refused.contains("conflict-a"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untrusted_server_is_reported_with_what_to_check_and_not_asked_again() {
    let case = Case::new("untrusted", Client::any()).await;
    let config = |path: &str| {
        let shown = testkit::Sandbox::shared().kubectl(&[
            "config",
            "view",
            "--raw",
            "-o",
            &format!("jsonpath={path}"),
        ]);
        String::from_utf8(shown.stdout).unwrap()
    };
    // An unrelated certificate in place of the authority.
    let (host, other) =
        (config("{.clusters[0].cluster.server}"), config("{.users[0].user.client-certificate-data}"));
    let (host, connections) = counted(&host).unwrap();
    case.object(
        "a",
        BODY,
        &format!("cluster = {{ host = {host:?}, cluster_ca_certificate = {other:?}, token = \"x\" }}"),
    );
    let refused = case.workspace.plan(&[]).expect_failure().text();
    assert!(refused.contains("Plan: Cluster Connection Failed"), "{refused}");
    assert!(refused.contains("cluster_ca_certificate"), "{refused}");
    // Discovery takes two requests; retries would make six of each.
    let connections = connections.load(Ordering::Relaxed);
    assert!((1..=2).contains(&connections), "{connections}: {refused}");
}

/// A proxy to the server at `url` that counts connections.
fn counted(url: &str) -> io::Result<(String, Arc<AtomicUsize>)> {
    let server = url.trim_start_matches("https://").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            counter.fetch_add(1, Ordering::Relaxed);
            // A connection that cannot be forwarded ends here, and the client reports it.
            let _joined = join(client, &server);
        }
    });
    Ok((format!("https://{address}"), connections))
}

fn join(client: TcpStream, server: &str) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    for (mut from, mut to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
        std::thread::spawn(move || io::copy(&mut from, &mut to));
    }
    Ok(())
}
