//! Sets of objects: `--applyset`, `--prune` and `plimsoll applysets`, beside the real kubectl.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{plimsoll, run, run_with, transcript, with_input};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-applysets").await
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "k": "v" } })
}

fn written(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
}

/// The real kubectl, with sets enabled.
fn kubectl(ns: &Namespace, arguments: &[&str]) -> Output {
    let sandbox = Sandbox::shared();
    let mut command = Command::new(sandbox.layout().bin().join("kubectl"));
    command.args(arguments).args(["--namespace", ns.name()]);
    command
        .env("KUBECONFIG", sandbox.kubeconfig())
        .env("KUBECTL_APPLYSET", "true")
        .output()
        .expect("kubectl starts")
}

fn file(folder: &Path, objects: &[Value]) -> String {
    let path = folder.join("set.yaml");
    std::fs::write(&path, written(objects)).expect("the folder is ours");
    path.to_str().expect("a simple path").to_owned()
}

fn apply(ns: &Namespace, objects: &[Value], more: &[&str]) -> String {
    run_with(ns, &[&["apply", "-f", "-", "--applyset", "shop"], more].concat(), &written(objects))
}

#[tokio::test]
async fn members_that_leave_the_files_are_deleted_and_the_plan_says_so_first() {
    let ns = namespace().await;
    insta::assert_snapshot!(apply(&ns, &[map("a"), map("b")], &["--prune"]), @r#"
    exit 0
    --- stdout
    + Secret NS/shop   parent of the set
    + ConfigMap NS/a
        data.k = "v"
    + ConfigMap NS/b
        data.k = "v"
    --- stderr
    2 created
    "#);
    let plan = ["plan", "-f", "-", "--applyset", "shop", "--prune"];
    assert!(run_with(&ns, &plan, &written(&[map("a"), map("b")])).starts_with("exit 0"));
    let mut changed = map("a");
    changed["data"]["k"] = json!("w");
    insta::assert_snapshot!(run_with(&ns, &plan, &written(&[changed.clone()])), @r#"
    exit 2
    --- stdout
    - ConfigMap NS/b
    ~ ConfigMap NS/a
        data.k: "v" → "w"   held by plimsoll
    --- stderr
    1 to delete, 1 to change
    "#);
    assert!(ns.get(&map("b")).await.is_some(), "a plan deletes nothing");
    insta::assert_snapshot!(apply(&ns, &[changed], &[]), @r#"
    exit 0
    --- stdout
    = ConfigMap NS/b   not in the files; --prune deletes it
    ~ ConfigMap NS/a
        data.k: "v" → "w"   held by plimsoll
    --- stderr
    1 changed
    "#);
    assert!(ns.get(&map("b")).await.is_some(), "nothing is deleted without --prune");
    assert!(apply(&ns, &[map("a")], &["--prune"]).contains("1 deleted"));
    assert!(ns.get(&map("b")).await.is_none());
    let listed = crate::program::in_one_line(&run(&ns, &["applysets"]));
    assert!(listed.contains("NAMESPACE SET TOOLING KINDS NAMESPACES NS secret/shop plimsoll/v"), "{listed}");
    assert!(listed.ends_with("ConfigMap NS"), "{listed}");
    insta::assert_snapshot!(run(&ns, &["delete", "--applyset", "shop"]), @"
    exit 0
    --- stdout
    - ConfigMap NS/a is gone
    - Secret NS/shop is gone
    ");
    assert!(ns.get(&map("a")).await.is_none());
    assert!(run(&ns, &["delete", "--applyset", "shop"]).starts_with("exit 1"));
}

#[tokio::test]
async fn a_set_of_kubectl_is_refused_then_taken_over_and_pruned() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &[map("a"), map("b")]);
    let made = kubectl(&ns, &["apply", "-f", &path, "--applyset=shop", "--prune", "--server-side"]);
    assert!(made.status.success(), "{made:?}");
    let plan = |more: &[&str]| {
        let arguments = [&["plan", "-f", "-", "--applyset", "shop", "--prune"], more].concat();
        run_with(&ns, &arguments, &map("a").to_string())
    };
    let refused = plan(&[]);
    assert!(refused.starts_with("exit 1"), "{refused}");
    assert!(refused.contains("another tool manages the set of Secret NS/shop"), "{refused}");
    let adopted = plan(&["--adopt-applyset"]);
    assert!(adopted.starts_with("exit 2"), "{adopted}");
    assert!(adopted.contains("set taken over from kubectl/v"), "{adopted}");
    assert!(adopted.contains("- ConfigMap NS/b"), "{adopted}");
    let applied = apply(&ns, &[map("a")], &["--prune", "--adopt-applyset"]);
    assert!(applied.starts_with("exit 0"), "{applied}");
    assert!(ns.get(&map("b")).await.is_none() && ns.get(&map("a")).await.is_some());
    // From now on it is ours, and kubectl refuses it for exactly that.
    assert!(apply(&ns, &[map("a")], &["--prune"]).starts_with("exit 0"));
    let theirs = kubectl(&ns, &["apply", "-f", &path, "--applyset=shop", "--prune", "--server-side"]);
    let stderr = String::from_utf8_lossy(&theirs.stderr);
    assert!(stderr.contains(r#"is managed by tooling "plimsoll" instead of "kubectl""#), "{stderr}");
}

#[tokio::test]
async fn a_set_of_ours_passes_kubectls_checks_up_to_the_tooling() {
    let ns = namespace().await;
    assert!(apply(&ns, &[map("a"), map("b")], &["--prune"]).starts_with("exit 0"));
    // With its own name in the annotation, kubectl finds the id, the kinds and the members in order.
    ns.kubectl(&["annotate", "secret/shop", "--overwrite", "applyset.kubernetes.io/tooling=kubectl/v1.36.3"])
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &[map("a")]);
    let pruned = kubectl(
        &ns,
        &["apply", "-f", &path, "--applyset=shop", "--prune", "--server-side", "--force-conflicts"],
    );
    assert!(pruned.status.success(), "{}", String::from_utf8_lossy(&pruned.stderr));
    assert!(ns.get(&map("b")).await.is_none() && ns.get(&map("a")).await.is_some());
}

#[tokio::test]
async fn what_others_own_or_hold_is_kept_and_named() {
    let ns = namespace().await;
    let inner = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": format!("{}-inner", ns.name()) } });
    let first = apply(&ns, &[map("a"), map("owned"), inner.clone()], &["--prune"]);
    assert!(first.starts_with("exit 0"), "{first}");
    let owner = ns.get(&map("a")).await.unwrap();
    let reference = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": owner["metadata"]["uid"], "controller": true }]);
    ns.merge_as("controller", &map("owned"), &json!({ "metadata": { "ownerReferences": reference } })).await;
    let created = Sandbox::shared().kubectl(&[
        "create",
        "configmap",
        "foreign",
        "--namespace",
        inner["metadata"]["name"].as_str().unwrap(),
    ]);
    assert!(created.status.success());
    let plan = run_with(&ns, &["plan", "-f", "-", "--applyset", "shop", "--prune"], &map("a").to_string());
    assert!(plan.contains("= ConfigMap NS/owned   kept: ConfigMap a controls it"), "{plan}");
    assert!(
        plan.contains("= Namespace NS-inner   kept: it still contains ConfigMap NS-inner/foreign"),
        "{plan}"
    );
    let applied = apply(&ns, &[map("a")], &["--prune"]);
    assert!(applied.starts_with("exit 0"), "{applied}");
    assert!(ns.get(&map("owned")).await.is_some());
    let inner_exists =
        Sandbox::shared().kubectl(&["get", "namespace", inner["metadata"]["name"].as_str().unwrap()]);
    assert!(inner_exists.status.success());
    Sandbox::shared().kubectl(&[
        "delete",
        "namespace",
        inner["metadata"]["name"].as_str().unwrap(),
        "--wait=false",
    ]);
}

#[tokio::test]
async fn an_interrupted_apply_leaves_a_parent_that_the_next_one_completes() {
    let ns = namespace().await;
    assert!(apply(&ns, &[map("a")], &["--prune"]).starts_with("exit 0"));
    // The second object is refused, so the apply ends before it prunes.
    let broken = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" }, "spec": { "ports": [{ "port": 0 }] } });
    let failed = apply(&ns, &[map("b"), broken], &["--prune"]);
    assert!(failed.starts_with("exit 1"), "{failed}");
    assert!(ns.get(&map("a")).await.is_some(), "nothing is pruned after a failure");
    let parent = ns
        .get(&json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "shop" } }))
        .await
        .unwrap();
    let kinds = &parent["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"];
    assert_eq!(kinds, "ConfigMap,Service", "the parent announces what was about to come");
    let completed = apply(&ns, &[map("b")], &["--prune"]);
    assert!(completed.starts_with("exit 0") && completed.contains("1 deleted"), "{completed}");
    let parent = ns
        .get(&json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "shop" } }))
        .await
        .unwrap();
    assert_eq!(parent["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"], "ConfigMap");
}

#[tokio::test]
async fn what_cannot_be_listed_is_not_pruned() {
    let ns = namespace().await;
    assert!(apply(&ns, &[map("a"), map("b")], &["--prune"]).starts_with("exit 0"));
    let user = format!("writer-of-{}", ns.name());
    let rules = ["--verb=get,patch,create,update,delete", "--resource=configmaps,secrets"];
    ns.kubectl(&[&["create", "role", "writer"], &rules[..]].concat()).unwrap();
    ns.kubectl(&["create", "rolebinding", "writer", "--role=writer", &format!("--user={user}")]).unwrap();
    let output = plimsoll(&ns, &["apply", "-f", "-", "--applyset", "shop", "--prune", "--as", &user]);
    let output = with_input(output, &map("a").to_string());
    let shown = transcript(&output, &ns);
    assert!(shown.starts_with("exit 1") && shown.contains("No ConfigMap of the set is deleted"), "{shown}");
    assert!(ns.get(&map("b")).await.is_some());
}

#[tokio::test]
async fn a_list_that_is_not_complete_is_a_failure() {
    let ns = namespace().await;
    insta::assert_snapshot!(run(&ns, &["applysets", "--as", "guest"]), @"
    exit 1
    --- stdout
    NAMESPACE   SET   TOOLING   KINDS   NAMESPACES
    --- stderr
    cannot list: Secret, ConfigMap
    sets of custom kinds are not shown: you may not list CustomResourceDefinitions
    ");
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("config");
    std::fs::write(
        &gone,
        "apiVersion: v1\nkind: Config\ncurrent-context: gone\ncontexts: [{name: gone, context: {cluster: gone, user: me}}]\n\
         clusters: [{name: gone, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: me, user: {token: t}}]\n",
    )
    .unwrap();
    let unreachable = run(&ns, &["applysets", "--kubeconfig", gone.to_str().unwrap()]);
    assert!(unreachable.starts_with("exit 1\n--- stderr\nerror[connection-failed]"), "{unreachable}");
}

#[tokio::test]
async fn a_set_lives_in_a_namespace_that_its_files_create() {
    let ns = namespace().await;
    let inner = format!("{}-new", ns.name());
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": inner } });
    let files = written(&[space, map("a")]);
    let shop = |arguments: &[&str], input: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(arguments).args(["--namespace", &inner]);
        command.env("KUBECONFIG", Sandbox::shared().kubeconfig()).env("COLUMNS", "100").env("NO_COLOR", "1");
        transcript(&with_input(command, input), &ns)
    };
    let set = ["-f", "-", "--applyset", "shop", "--prune"];
    let planned = shop(&[&["plan"], &set[..]].concat(), &files);
    assert!(planned.starts_with("exit 2\n"), "{planned}");
    insta::assert_snapshot!(shop(&[&["apply"], &set[..]].concat(), &files), @r#"
    exit 0
    --- stdout
    + Secret NS-new/shop   parent of the set
    + Namespace NS-new
    + ConfigMap NS-new/a
        data.k = "v"
    --- stderr
    2 created
    "#);
    let unchanged = shop(&[&["plan"], &set[..]].concat(), &files);
    assert!(unchanged.starts_with("exit 0\n"), "{unchanged}");
    let deleted = shop(&["delete", "--applyset", "shop", "--no-wait"], "");
    assert!(deleted.starts_with("exit 0\n"), "{deleted}");
}
