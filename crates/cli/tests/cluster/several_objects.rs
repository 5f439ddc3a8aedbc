//! Commands about several objects: names, kinds with a selector, files and URLs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{run, run_with, sorted};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-several").await
}

fn map(name: &str, app: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": { "app": app } },
        "data": { "k": name },
    })
}

async fn with_maps() -> Namespace {
    let ns = namespace().await;
    for (name, app) in [("a", "web"), ("b", "web"), ("c", "db")] {
        ns.apply_as("other-manager", &map(name, app)).await;
    }
    ns
}

fn files() -> String {
    format!("{}\n---\n{}", map("a", "web"), map("b", "web"))
}

#[tokio::test]
async fn objects_are_named_selected_or_in_files() {
    let ns = with_maps().await;
    let names = |words: &[&str]| {
        let transcript =
            run_with(&ns, &[&["wait"], words, &["--for", "create", "-o", "name", "-q"]].concat(), &files());
        let (status, names) = transcript.split_once("--- stdout\n").unwrap_or((&transcript, ""));
        assert_eq!(status, "exit 0\n", "{transcript}");
        names.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&["cm/a"]), ["configmap/a"]);
    assert_eq!(names(&["cm/a", "configmaps/c"]), ["configmap/a", "configmap/c"]);
    assert_eq!(names(&["cm", "a", "c"]), ["configmap/a", "configmap/c"]);
    assert_eq!(names(&["cm", "-l", "app=web"]), ["configmap/a", "configmap/b"]);
    assert_eq!(names(&["cm,secrets", "-l", "app in (web,db)"]).len(), 3);
    assert_eq!(names(&["-f", "-"]), ["configmap/a", "configmap/b"]);
    // Every namespace has a ConfigMap with the certificates of the API server.
    assert!(names(&["cm", "--all"]).len() >= 3);
}

#[tokio::test]
async fn arguments_that_name_no_object_are_explained() {
    let ns = namespace().await;
    insta::assert_snapshot!(run(&ns, &["why", "pods"]), @r"
    exit 1
    --- stderr
    error[objects-unclear]: a kind is named, but no object

    hint: Name objects, as in `deploy/web` or `deploy web`, select them, as in `pods -l app=web` or
          `pods --all`, or pass files with -f.
    ");
    insta::assert_snapshot!(run(&ns, &["tree", "cm", "-l", "app=none"]), @r"
    exit 1
    --- stderr
    error[object-missing]: there are no cm with labels app=none

    hint: Choose another namespace with --namespace, or search all of them with --all-namespaces.
    ");
    for words in
        [&["owners", "cm", "a/b"][..], &["delete", "cm/a", "-l", "a=b"], &["wait", "--for", "create"]]
    {
        let said = run(&ns, words);
        assert!(said.starts_with("exit 1") && said.contains("error[objects-unclear]"), "{said}");
    }
}

#[tokio::test]
async fn why_tree_and_owners_answer_for_each_object() {
    let ns = with_maps().await;
    insta::assert_snapshot!(run(&ns, &["why", "cm", "a", "b"]), @r"
    exit 0
    --- stdout
    ConfigMap NS/a reports no status, and nothing it owns has a problem
    ConfigMap NS/b reports no status, and nothing it owns has a problem
    ");
    let one: Value = json_of(&run(&ns, &["why", "cm/a", "-o", "json"]));
    assert_eq!(one["ready"], true);
    let both: Value = json_of(&run(&ns, &["why", "cm/a", "cm/b", "-o", "json"]));
    assert_eq!(both.as_array().map(Vec::len), Some(2));
    let trees: Value = json_of(&run(&ns, &["tree", "cm", "-l", "app=web", "-o", "json"]));
    assert_eq!((&trees[0]["name"], &trees[1]["name"]), (&"a".into(), &"b".into()));
    let owners: Value = json_of(&run(&ns, &["owners", "cm", "-l", "app=web", "-o", "json"]));
    assert_eq!((&owners[1]["name"], &owners[1]["fields"][1]["field"]), (&"b".into(), &"data.k".into()));
    insta::assert_snapshot!(run(&ns, &["owners", "cm", "a", "b", "--who", "data.k", "-o", "name"]), @r"
    exit 0
    --- stdout
    other-manager
    other-manager
    ");
    // One that is missing does not hide the others.
    for (command, expected) in [
        ("why", "ConfigMap NS/b reports no status, and nothing it owns has a problem"),
        ("tree", "ConfigMap b "),
        ("owners", "# ConfigMap NS/b"),
    ] {
        let said = run(&ns, &[command, "cm/none", "cm/b"]);
        assert!(said.starts_with("exit 1") && said.contains(expected), "{command}: {said}");
        assert!(
            said.contains("error[object-missing]: ConfigMap NS/none does not exist"),
            "{command}: {said}"
        );
    }
}

#[tokio::test]
async fn trees_of_all_namespaces_say_where_they_are() {
    let ns = with_maps().await;
    let everywhere = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["tree", "cm", "-l", "app=db", "-A"])
        .env("KUBECONFIG", Sandbox::shared().kubeconfig())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&everywhere.stdout).into_owned();
    assert!(said.contains(&format!("ConfigMap {}/c ", ns.name())), "{said}");
}

fn json_of(transcript: &str) -> Value {
    let (_, data) = transcript.split_once("--- stdout\n").expect("there is data");
    let data = data.split("--- stderr").next().unwrap_or_default();
    serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {transcript}"))
}

#[tokio::test]
async fn several_goals_are_all_or_any() {
    let ns = with_maps().await;
    let wait = |more: &[&str]| {
        let words = ["wait", "cm", "-l", "app=web", "--timeout", "1s"];
        run(&ns, &[&words, more].concat())
    };
    let all = wait(&["--for", "field=data.k", "--for", "value=data.k=a"]);
    assert!(all.starts_with("exit 1\n"), "{all}");
    let any = wait(&["--for", "value=data.k=none", "--for", "field=data.k", "--any"]);
    insta::assert_snapshot!(any.split("--- stderr").next().unwrap(), @r"
    exit 0
    --- stdout
    # ConfigMap NS/a
    data:
      k: a
    # ConfigMap NS/b
    data:
      k: b
    ");
    let reached = json_of(&wait(&["--for", "field=data.k", "--for", "create", "-o", "json"]));
    assert_eq!(reached[1]["met"], true);
    assert_eq!(reached[1]["reached"][0]["value"], json!({ "data": { "k": "b" } }));
    assert_eq!(reached[1]["reached"][1]["for"], "exists");
    assert!(
        wait(&["--for", "value=data.k=none", "--for", "value=data.k=more", "--any"]).starts_with("exit 1\n")
    );
    // Objects that are gone need no waiting.
    assert!(run(&ns, &["wait", "cm", "-l", "app=none", "--for", "delete"]).starts_with("exit 0\n"));
    assert!(run(&ns, &["wait", "cm", "-l", "app=none", "--for", "create"]).starts_with("exit 1\n"));
}

#[tokio::test]
async fn selected_objects_are_deleted_and_the_rest_stays() {
    let ns = with_maps().await;
    insta::assert_snapshot!(sorted(&run(&ns, &["delete", "cm", "-l", "app=web"])), @r"
    exit 0
    --- stdout
    - ConfigMap NS/a is gone
    - ConfigMap NS/b is gone
    ");
    assert!(ns.get(&map("c", "")).await.is_some());
    insta::assert_snapshot!(run(&ns, &["delete", "cm", "-l", "app=web"]), @r"
    exit 0
    --- stderr
    there is nothing to delete
    ");
    assert_eq!(run(&ns, &["delete", "cm", "a", "--ignore-not-found", "-q"]), "exit 0\n");
    let everywhere = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["delete", "cm/c", "-A"])
        .env("KUBECONFIG", Sandbox::shared().kubeconfig())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&everywhere.stderr).into_owned();
    assert!(said.contains("--all-namespaces cannot be used with a name"), "{said}");
    assert!(ns.get(&map("c", "")).await.is_some());
}

#[tokio::test]
async fn objects_are_created_with_the_names_that_the_server_generates() {
    let ns = namespace().await;
    let generated =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "run-" } });
    let files = format!("{generated}\n---\n{generated}\n---\n{}", map("fixed", "web"));
    let created = run_with(&ns, &["create", "-f", "-", "-o", "name"], &files);
    let names: Vec<&str> = created.lines().filter_map(|line| line.strip_prefix("configmap/")).collect();
    assert_eq!(names.len(), 3, "{created}");
    assert_eq!(names.iter().filter(|name| name.starts_with("run-")).count(), 2, "{created}");
    let possible = run_with(&ns, &["create", "-f", "-", "--dry-run"], &map("other", "web").to_string());
    assert_eq!(possible, "exit 0\n--- stdout\n+ ConfigMap NS/other would be created\n");
    assert_eq!(ns.get(&map("other", "web")).await, None);
    let again = run_with(&ns, &["create", "-f", "-", "-o", "json"], &map("fixed", "web").to_string());
    assert!(again.starts_with("exit 1\n") && again.contains(r#""code": "object-already-exists""#), "{again}");
    let again = run_with(&ns, &["create", "-f", "-"], &map("fixed", "web").to_string());
    assert!(again.starts_with("exit 1\n--- stdout\n! ConfigMap NS/fixed was not created\n"), "{again}");
    assert!(again.contains("change it with `plimsoll apply`"), "{again}");
    let refused = run_with(&ns, &["apply", "-f", "-"], &generated.to_string());
    assert!(refused.contains("create the object with `plimsoll create`"), "{refused}");
}

#[tokio::test]
async fn a_namespace_and_its_objects_are_created_together() {
    let ns = namespace().await;
    let other = format!("{}-other", ns.name());
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": other } });
    let mut inside = map("a", "web");
    inside["metadata"]["namespace"] = other.clone().into();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["create", "-f", "-"]).env("KUBECONFIG", Sandbox::shared().kubeconfig());
    let output = crate::program::with_input(command, &format!("{inside}\n---\n{namespace}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Sandbox::shared().kubectl(&["delete", "namespace", &other, "--wait=false"]);
}

/// A web server that redirects `/old.yaml` to `/new.yaml?token=t`, which has `content`.
fn web_server(content: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
            let mut request = String::new();
            reader.read_line(&mut request).expect("a request");
            let mut header = String::new();
            while reader.read_line(&mut header).is_ok_and(|read| read > 2) {
                header.clear();
            }
            let (status, more, body) = match request.split(' ').nth(1) {
                Some("/old.yaml") => ("302 Found", "Location: /new.yaml?token=t\r\n", ""),
                Some("/new.yaml?token=t") => ("200 OK", "", content.as_str()),
                _ => ("404 Not Found", "", "gone"),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{more}\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).expect("the client listens");
        }
    });
    address
}

#[tokio::test]
async fn files_are_read_from_the_web() {
    let ns = namespace().await;
    let server = web_server(map("from-the-web", "web").to_string());
    let applied = run(&ns, &["apply", "-f", &format!("http://{server}/old.yaml"), "-o", "name"]);
    assert!(applied.contains("configmap/from-the-web"), "{applied}");
    let missing = run(&ns, &["plan", "-f", &format!("http://me:hunter2@{server}/none.yaml?token=t")]);
    insta::assert_snapshot!(missing, @r"
    exit 1
    --- stderr
    error[file-unreadable]: cannot read http://127.0.0.1:PORT/none.yaml

      Cause: the server answers 404 Not Found.

    hint: Check the address in a browser, and that it needs no login.
    ");
}
