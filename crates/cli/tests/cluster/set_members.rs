//! What becomes of the members of a set: which are deleted, which are not and why, and which belong to another set.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{in_one_line, plimsoll, run, run_with, transcript};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-members").await
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "k": "v" } })
}

fn account(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name } })
}

fn parent(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name } })
}

fn written(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
}

fn command(ns: &Namespace, words: &[&str], set: &str, objects: &[Value]) -> String {
    let (first, more) = words.split_first().expect("a command");
    run_with(ns, &[&[first, "-f", "-", "--applyset", set], more].concat(), &written(objects))
}

/// The kinds that the parent of the set names.
async fn kinds(ns: &Namespace) -> String {
    let found = ns.get(&parent("shop")).await.expect("the parent exists");
    let kinds = &found["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"];
    kinds.as_str().expect("text").to_owned()
}

#[tokio::test]
async fn a_member_whose_deletion_fails_is_not_reported_as_deleted() {
    let ns = namespace().await;
    assert!(command(&ns, &["apply", "--prune"], "shop", &[map("a"), account("b")]).starts_with("exit 0"));
    // A user who may do everything but delete.
    let user = format!("writer-of-{}", ns.name());
    let rules = ["--verb=get,list,patch,create,update", "--resource=configmaps,secrets,serviceaccounts"];
    ns.kubectl(&[&["create", "role", "writer"], &rules[..]].concat()).unwrap();
    ns.kubectl(&["create", "rolebinding", "writer", "--role=writer", &format!("--user={user}")]).unwrap();
    let apply = |more: &[&str]| {
        command(&ns, &[&["apply", "--prune", "--as", &user], more].concat(), "shop", &[map("a")])
    };
    let failed = apply(&[]);
    assert!(failed.starts_with("exit 1\n--- stdout\n! ServiceAccount NS/b   not deleted: "), "{failed}");
    assert!(failed.contains("error[permission-denied]: Prune: Insufficient Permissions"), "{failed}");
    assert!(failed.ends_with("1 not deleted, 1 unchanged, 1 problem\n"), "{failed}");
    let json = apply(&["-o", "json", "-q"]);
    let report: Value =
        serde_json::from_str(json.split_once("--- stdout\n").unwrap().1.split("--- stderr").next().unwrap())
            .unwrap();
    assert_eq!(report["applyset"]["members"][0]["action"], "keep", "{json}");
    assert!(apply(&["-o", "name", "-q"]).starts_with("exit 1\n--- stdout\nconfigmap/a\n--- stderr"));
    // The set still knows the member, so that the next apply finds it.
    assert_eq!(kinds(&ns).await, "ConfigMap,ServiceAccount");
    insta::assert_snapshot!(command(&ns, &["apply", "--prune"], "shop", &[map("a")]), @"
    exit 0
    --- stdout
    - ServiceAccount NS/b
    --- stderr
    1 deleted, 1 unchanged
    ");
    assert_eq!(kinds(&ns).await, "ConfigMap");
}

#[tokio::test]
async fn an_interrupted_apply_says_that_nothing_was_deleted() {
    let ns = namespace().await;
    assert!(command(&ns, &["apply", "--prune"], "shop", &[map("a")]).starts_with("exit 0"));
    // An operator among the objects might create the kind, so the apply waits for it.
    let late =
        json!({ "apiVersion": "none-such.example.org/v1", "kind": "Late", "metadata": { "name": "late" } });
    let mut apply = plimsoll(&ns, &["apply", "-f", "-", "--applyset", "shop", "--prune"]);
    apply.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut apply = apply.spawn().unwrap();
    apply.stdin.take().unwrap().write_all(written(&[late, map("new")]).as_bytes()).unwrap();
    ns.until(&map("new"), "it is applied", |object| object.is_some()).await;
    Command::new("kill").args(["-INT", &apply.id().to_string()]).status().unwrap();
    let shown = transcript(&apply.wait_with_output().unwrap(), &ns);
    let left = "exit 130\n--- stdout\n! ConfigMap NS/a   not deleted: the apply was interrupted\n";
    assert!(shown.starts_with(left), "{shown}");
    assert!(shown.contains("1 not deleted") && !shown.contains("1 deleted"), "{shown}");
    assert!(ns.get(&map("a")).await.is_some());
}

#[tokio::test]
async fn a_refused_object_keeps_the_members() {
    let ns = namespace().await;
    assert!(command(&ns, &["apply", "--prune"], "shop", &[map("a")]).starts_with("exit 0"));
    let broken = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" }, "spec": { "ports": [{ "port": 0 }] } });
    let failed = command(&ns, &["apply", "--prune"], "shop", &[map("b"), broken]);
    let left = "exit 1\n--- stdout\n! ConfigMap NS/a   not deleted: not every object was applied\n";
    assert!(failed.starts_with(left), "{failed}");
    assert!(failed.ends_with("1 not deleted, 1 created, 1 refused\n"), "{failed}");
    assert!(ns.get(&map("a")).await.is_some());
}

#[tokio::test]
async fn names_are_those_of_kubectl() {
    let ns = namespace().await;
    let apply = ["apply", "--prune", "-o", "name", "-q"];
    let created = command(&ns, &apply, "shop", &[map("a"), map("b")]);
    assert_eq!(created, "exit 0\n--- stdout\nconfigmap/a\nconfigmap/b\n");
    let planned = command(&ns, &["plan", "--prune", "-o", "name", "-q"], "shop", &[map("a")]);
    assert_eq!(planned, "exit 2\n--- stdout\nconfigmap/b\n");
    // What stays as it is, and then what is deleted.
    assert_eq!(command(&ns, &apply, "shop", &[map("a")]), "exit 0\n--- stdout\nconfigmap/a\nconfigmap/b\n");
    assert_eq!(command(&ns, &apply, "shop", &[map("a")]), "exit 0\n--- stdout\nconfigmap/a\n");
}

#[tokio::test]
async fn a_set_is_deleted_but_for_what_others_own_or_put_into_it() {
    let ns = namespace().await;
    let inner = format!("{}-inner", ns.name());
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": inner } });
    let objects = [map("a"), map("owned"), space];
    assert!(command(&ns, &["apply", "--prune"], "shop", &objects).starts_with("exit 0"));
    // The owner is no member, so it stays.
    ns.apply_as("controller", &map("owner")).await;
    let owner = ns.get(&map("owner")).await.unwrap();
    let reference = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"], "controller": true }]);
    ns.merge_as("controller", &map("owned"), &json!({ "metadata": { "ownerReferences": reference } })).await;
    let created =
        Sandbox::shared().kubectl(&["create", "configmap", "foreign", "--namespace", &inner]).status;
    assert!(created.success());
    insta::assert_snapshot!(run(&ns, &["delete", "--applyset", "shop"]), @"
    exit 1
    --- stdout
    = ConfigMap NS/owned   kept: ConfigMap owner controls it
    = Namespace NS-inner   kept: it still contains ConfigMap NS-inner/foreign
    - ConfigMap NS/a is gone
    = Secret NS/shop   kept: members of its set remain
    --- stderr
    warning[applyset-kept]: Secret NS/shop was not deleted: members of its set remain

      Without this parent of the set, they could not be found again.

    hint: Delete the set again once nothing keeps them.
    ");
    assert!(ns.get(&map("a")).await.is_none() && ns.get(&map("owned")).await.is_some());
    assert!(ns.get(&parent("shop")).await.is_some());
    assert!(Sandbox::shared().kubectl(&["get", "namespace", &inner]).status.success());

    // The garbage collector may be faster.
    ns.kubectl(&["delete", "configmap", "owner", "owned", "--ignore-not-found"]).unwrap();
    assert!(
        Sandbox::shared()
            .kubectl(&["delete", "configmap", "foreign", "--namespace", &inner])
            .status
            .success()
    );
    let rest = run(&ns, &["delete", "--applyset", "shop"]);
    assert!(rest.starts_with("exit 0\n") && rest.contains("- Secret NS/shop is gone"), "{rest}");
    assert!(ns.get(&parent("shop")).await.is_none());
}

#[tokio::test]
async fn a_namespace_with_an_object_of_the_files_is_not_pruned() {
    let ns = namespace().await;
    let inner = format!("{}-used", ns.name());
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": inner } });
    let mut inside = map("inside");
    inside["metadata"]["namespace"] = inner.as_str().into();
    // Without --namespace, which would not be that of the object.
    let apply = |objects: &[Value]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(["apply", "-f", "-", "--prune", "--applyset"]);
        command.arg(format!("secrets/{}", ns.name()));
        command.env("KUBECONFIG", Sandbox::shared().kubeconfig()).env("COLUMNS", "100").env("NO_COLOR", "1");
        transcript(&crate::program::with_input(command, &written(objects)), &ns)
    };
    assert!(apply(&[space.clone(), inside.clone()]).starts_with("exit 0"));
    let applied = apply(&[inside]);
    assert!(
        applied.contains("= Namespace NS-used   kept: it still contains ConfigMap NS-used/inside"),
        "{applied}"
    );
    let sandbox = Sandbox::shared();
    sandbox.kubectl(&["delete", "namespace", &inner, "--wait=false"]);
    sandbox.kubectl(&["delete", "secret", ns.name(), "--namespace", "default"]);
}

#[tokio::test]
async fn an_object_of_another_set_is_taken_over_only_on_demand() {
    let ns = namespace().await;
    assert!(command(&ns, &["apply"], "shop", &[map("a")]).starts_with("exit 0"));
    let label = async || ns.get(&map("a")).await.unwrap()["metadata"]["labels"].clone();
    let before = label().await;
    for words in [&["plan"][..], &["apply"], &["apply", "--force-conflicts"], &["apply", "--dry-run"]] {
        let refused = command(&ns, words, "other", &[map("a")]);
        assert!(refused.starts_with("exit 1\n"), "{refused}");
        let said = in_one_line(&refused);
        assert!(said.contains("error[applyset-member]: ConfigMap NS/a belongs to another set"), "{refused}");
        assert!(said.contains("names the set of Secret NS/shop."), "{refused}");
        assert!(said.contains("take it over with --adopt-applyset"), "{refused}");
    }
    assert_eq!(label().await, before);
    assert!(command(&ns, &["drift"], "other", &[map("a")]).starts_with("exit 2\n"));
    let adopted = command(&ns, &["apply", "--adopt-applyset"], "other", &[map("a")]);
    assert!(adopted.starts_with("exit 0\n"), "{adopted}");
    assert_ne!(label().await, before);
    // The first set has lost it, and deletes nothing.
    let emptied = command(&ns, &["apply", "--prune"], "shop", &[map("b")]);
    assert!(emptied.starts_with("exit 0\n") && emptied.contains("1 created"), "{emptied}");
    assert!(ns.get(&map("a")).await.is_some());
}
