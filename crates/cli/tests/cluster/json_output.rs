//! `-o json` of each command is as its published schema says.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::operations::crates;
use crate::program::{plimsoll, with_input};
use crate::schema;
use crate::wait::unschedulable;

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-json").await
}

/// The output of a command with `-o json`, by the schema `name`.
fn printed(name: &str, ns: &Namespace, arguments: &[&str], input: &str) -> Value {
    let output = with_input(plimsoll(ns, &[arguments, &["-o", "json"]].concat()), input);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(!output.stdout.is_empty(), "{arguments:?}: {}", text(&output.stderr));
    schema::check(name, &text(&output.stdout))
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "k": "v" } })
}

/// An object that cannot be deleted yet.
fn held(name: &str) -> Value {
    let mut held = map(name);
    held["metadata"]["finalizers"] = json!(["example.org/hold"]);
    held
}

#[tokio::test]
async fn of_wait() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &map("a")).await;
    let goals = ["--for", "field=data.k", "--for", "create"];
    let met = printed("wait", &ns, &[&["wait", "cm/a"], &goals[..]].concat(), "");
    assert_eq!(met[0]["reached"][0]["value"]["data"]["k"], "v");
    let unmet = printed("wait", &ns, &["wait", "cm/a", "cm/none", "--for", "create", "--timeout", "0s"], "");
    assert_eq!((&unmet[0]["met"], &unmet[1]["met"]), (&json!(true), &json!(false)));
    assert_eq!(unmet[1]["findings"][0]["code"], "object-missing");
    let none = printed("wait", &ns, &["wait", "cm", "-l", "none=x", "--for", "delete"], "");
    assert_eq!(none, json!([]));
}

#[tokio::test]
async fn of_why_and_tree() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &map("a")).await;
    let web = unschedulable("web");
    ns.apply_as("plimsoll", &web).await;
    ns.until(&web, "it has a status", |it| it.is_some_and(|it| it["status"]["conditions"].is_array())).await;
    let why = printed("why", &ns, &["why", "deploy/web"], "");
    assert_eq!(why["ready"], false);
    assert!(!why["chain"].as_array().unwrap().is_empty(), "{why}");
    assert_eq!(printed("why", &ns, &["why", "cm/a", "deploy/web"], "")[0]["ready"], true);
    let tree = printed("tree", &ns, &["tree", "deploy/web"], "");
    assert_eq!(tree["children"][0]["kind"], "ReplicaSet");
    assert_eq!(printed("tree", &ns, &["tree", "cm/a", "deploy/web"], "")[0]["health"], "silent");
}

#[tokio::test]
async fn of_operations_and_of_a_tree_with_one() {
    let (ns, _) = crates().await;
    let found = printed("operations", &ns, &["operations"], "");
    assert_eq!(found[0]["operation"]["percent"], 40);
    let kind = format!("crates.{}.oracle.com", ns.name());
    let tree = printed("tree", &ns, &["tree", &kind, "orders"], "");
    assert_eq!(tree["operation"]["phase"], "create");
}

#[tokio::test]
async fn of_owners() {
    let ns = namespace().await;
    let set = ["apply", "-f", "-", "--applyset", "shop", "--prune"];
    let files = format!("{}\n---\n{}", map("a"), map("b"));
    printed("report", &ns, &set, &files);
    let object = printed("owners", &ns, &["owners", "cm/a"], "");
    assert!(object["yaml"].as_str().unwrap().contains("kind: ConfigMap"));
    printed("owners", &ns, &["owners", "cm/a", "cm/b"], "");
    let who = ["--who", "data.k"];
    assert_eq!(
        printed("owners", &ns, &[&["owners", "cm/a"], &who[..]].concat(), "")[0]["manager"],
        "plimsoll"
    );
    printed("owners", &ns, &[&["owners", "cm/a", "cm/b"], &who[..]].concat(), "");
    ns.kubectl(&["patch", "cm/a", "--type", "merge", "--patch", r#"{"data":{"k":"x"}}"#]).unwrap();
    let since = printed("owners", &ns, &["owners", "cm/a", "--since"], "");
    assert_eq!(since["changes"][0]["valueChanged"], true);
    printed("owners", &ns, &["owners", "cm/a", "cm/b", "--since"], "");
}

#[tokio::test]
async fn of_applysets() {
    let ns = namespace().await;
    assert_eq!(printed("applysets", &ns, &["applysets"], ""), json!([]));
    printed("report", &ns, &["apply", "-f", "-", "--applyset", "shop", "--prune"], &map("a").to_string());
    let sets = printed("applysets", &ns, &["applysets"], "");
    assert_eq!((&sets[0]["name"], &sets[0]["kinds"]), (&json!("shop"), &json!(["ConfigMap"])));
}

#[tokio::test]
async fn of_create_and_delete() {
    let ns = namespace().await;
    let files = format!("{}\n---\n{}", map("a"), held("h"));
    let create = |more: &[&str]| printed("create", &ns, &[&["create", "-f", "-"], more].concat(), &files);
    assert_eq!(create(&["--dry-run"])[0]["dryRun"], "possible");
    assert_eq!(create(&[])[0]["created"], true);
    assert_eq!(create(&[])[0]["finding"]["severity"], "error");
    let outcome = |arguments: &[&str]| {
        let results = printed("delete", &ns, &[&["delete"], arguments].concat(), "");
        results[0]["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(outcome(&["cm/a", "--dry-run"]), "possible");
    assert_eq!(outcome(&["cm/a"]), "gone");
    assert_eq!(outcome(&["cm/a"]), "absent");
    assert_eq!(outcome(&["cm/h", "--no-wait"]), "asked");
    assert_eq!(outcome(&["cm/h", "--timeout", "1s"]), "stuck");
    assert_eq!(outcome(&["cm/h", "--timeout", "1s", "--remove-finalizers"]), "gone");
}

#[tokio::test]
async fn of_an_apply_whose_wait_is_interrupted() {
    let ns = namespace().await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a" }, "spec": { "ports": [{ "port": 80 }] },
    });
    let mut command = plimsoll(&ns, &["apply", "-f", "-", "--wait", "-o", "json"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut apply = command.spawn().unwrap();
    write!(apply.stdin.take().unwrap(), "{service}\n---\n{}", unschedulable("web")).unwrap();
    let mut messages = BufReader::new(apply.stderr.take().unwrap()).lines();
    // From now on it waits for the Deployment.
    assert!(messages.any(|line| line.unwrap().starts_with("ready Service ")));
    let interrupt = ["-INT", &apply.id().to_string()];
    assert!(Command::new("kill").args(interrupt).status().unwrap().success());
    let output = apply.wait_with_output().unwrap();
    let report = schema::check("report", &String::from_utf8(output.stdout).unwrap());
    assert_eq!(
        (&report["objects"][0]["wait"], &report["objects"][1]["wait"]),
        (&json!({ "ready": true }), &Value::Null)
    );
    assert_eq!(report["objects"][1]["action"], "create");
    let messages: Vec<String> = messages.map(Result::unwrap).collect();
    let interrupted = "error[interrupted]: interrupted: 1 object was not ready yet";
    assert!(messages.iter().any(|line| line == interrupted), "{messages:?}");
    assert_eq!(output.status.code(), Some(130));
}

#[tokio::test]
async fn of_uninstall_where_nothing_is_installed() {
    let ns = namespace().await;
    assert_eq!(printed("delete", &ns, &["uninstall"], ""), json!([]));
}

#[tokio::test]
async fn of_doctor_and_explain() {
    let ns = namespace().await;
    let checks = printed("doctor", &ns, &["doctor"], "");
    assert!(checks.as_array().unwrap().iter().any(|check| check["state"] == "ok"), "{checks}");
    // These need no cluster.
    let explain = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let output = command.arg("explain").args(arguments).args(["-o", "json"]).output().unwrap();
        schema::check("explain", &String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(explain(&["object-missing"])["code"], "object-missing");
    assert!(explain(&[]).as_array().unwrap().len() > 100);
}
