//! `plimsoll delete`

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{plimsoll, run, run_with, sorted, transcript};

fn object(name: &str, finalizers: &[&str]) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "finalizers": finalizers } })
}

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-delete").await
}

#[tokio::test]
async fn objects_are_deleted_and_missing_ones_reported() {
    let ns = namespace().await;
    ns.apply_as("another-manager", &object("a", &[])).await;
    insta::assert_snapshot!(sorted(&run(&ns, &["delete", "cm/a", "cm/none"])), @"
    exit 1
    --- stdout
      ConfigMap NS/none did not exist
    - ConfigMap NS/a is gone
    --- stderr
    error[object-missing]: ConfigMap NS/none does not exist

      Only namespace NS was searched.

    hint: Choose another namespace with --namespace.
    ");
    assert_eq!(ns.get(&object("a", &[])).await, None);
    ns.apply_as("another-manager", &object("a", &[])).await;
    let files = format!("{}\n---\n{}", object("a", &[]), object("b", &[]));
    insta::assert_snapshot!(sorted(&run_with(&ns, &["delete", "-f", "-"], &files)), @"
    exit 0
    --- stdout
      ConfigMap NS/b did not exist
    - ConfigMap NS/a is gone
    ");
    insta::assert_snapshot!(run_with(&ns, &["delete", "-f", "-", "-o", "json"], &files), @r#"
    exit 0
    --- stdout
    [
      {
        "apiVersion": "v1",
        "forcedFinalizers": [],
        "kind": "ConfigMap",
        "name": "a",
        "namespace": "NS",
        "outcome": "absent"
      },
      {
        "apiVersion": "v1",
        "forcedFinalizers": [],
        "kind": "ConfigMap",
        "name": "b",
        "namespace": "NS",
        "outcome": "absent"
      }
    ]
    "#);
}

#[tokio::test]
async fn blocking_finalizers_are_reported_and_can_be_removed() {
    let ns = namespace().await;
    ns.apply_as("another-manager", &object("held", &["example.org/backup"])).await;
    insta::assert_snapshot!(run(&ns, &["delete", "cm/held", "--timeout", "300ms"]), @"
    exit 1
    --- stdout
    ! ConfigMap NS/held still exists
    --- stderr
    error[deletion-blocked]: Deletion Blocked by Finalizers
      object: ConfigMap NS/held

      ConfigMap NS/held is marked for deletion, but finalizers hold it:

        - example.org/backup: custom finalizer; its controller has work to do first

    hint: Wait longer with --timeout, let the controllers behind the finalizers finish, or remove the
          finalizers with --remove-finalizers.

    help: kubectl describe configmap held -n NS
    ");
    insta::assert_snapshot!(run(&ns, &["delete", "cm/held", "--timeout", "100ms", "--remove-finalizers"]), @"
    exit 0
    --- stdout
    - ConfigMap NS/held is gone
    --- stderr
    warning[deletion-forced]: Force Destroying Resource with Finalizers
      object: ConfigMap NS/held

      ConfigMap NS/held was held by finalizers, which were removed:

        - example.org/backup

      The cleanup they guard did not run.

    hint: Check for leftovers, for example in the cloud.
    ");
    assert_eq!(ns.get(&object("held", &[])).await, None);
}

#[tokio::test]
async fn a_delete_can_return_without_waiting() {
    let ns = namespace().await;
    ns.apply_as("another-manager", &object("a", &[])).await;
    assert_eq!(run(&ns, &["delete", "cm/a", "--no-wait", "-o", "name"]), "exit 0\n--- stdout\nconfigmap/a\n");
    insta::assert_snapshot!(run(&ns, &["delete"]), @"
    exit 1
    --- stderr
    error[objects-unclear]: no object is named

    hint: Name objects, as in `deploy/web` or `deploy web`, select them, as in `pods -l app=web` or
          `pods --all`, or pass files with -f.
    ");
    insta::assert_snapshot!(run(&ns, &["delete", "cm/a", "--as", "guest"]), @r#"
    exit 1
    --- stdout
    ! ConfigMap NS/a was not deleted
    --- stderr
    error[permission-denied]: Delete: Insufficient Permissions
      object: ConfigMap NS/a

      Could not read ConfigMap NS/a. The server says: configmaps "a" is forbidden: User
      "guest" cannot get resource "configmaps" in API group "" in the namespace "NS"

    hint: Ask an administrator of the cluster for a Role or ClusterRole with the verb and resource named
          above; `kubectl auth can-i` shows what is granted.
    "#);
}

#[tokio::test]
async fn a_dry_run_deletes_nothing() {
    let ns = namespace().await;
    ns.apply_as("another-manager", &object("a", &[])).await;
    insta::assert_snapshot!(run(&ns, &["delete", "cm/a", "--dry-run=server"]), @"
    exit 0
    --- stdout
    - ConfigMap NS/a would be deleted
    ");
    assert!(run(&ns, &["delete", "cm/none", "--dry-run"]).starts_with("exit 1\n"));
    assert!(run(&ns, &["delete", "cm/a", "--dry-run", "-o", "json"]).contains(r#""outcome": "possible""#));
    let refused = run(&ns, &["delete", "cm/a", "--dry-run", "-o", "json", "--as", "guest"]);
    assert!(
        refused.starts_with("exit 1\n") && refused.contains(r#""code": "permission-denied""#),
        "{refused}"
    );
    assert!(ns.get(&object("a", &[])).await.is_some());
}

#[tokio::test]
async fn each_result_is_shown_as_it_ends_and_an_interruption_leaves_a_report() {
    let ns = namespace().await;
    ns.apply_as("another-manager", &object("a", &[])).await;
    ns.apply_as("another-manager", &object("held", &["example.org/backup"])).await;
    let mut delete = plimsoll(&ns, &["delete", "cm/a", "cm/held"]);
    let mut delete = delete.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(delete.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    assert_eq!(first.replace(ns.name(), "NS"), "- ConfigMap NS/a is gone\n");
    let interrupt = ["-INT", &delete.id().to_string()];
    assert!(std::process::Command::new("kill").args(interrupt).status().unwrap().success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    insta::assert_snapshot!(format!("{rest}{}", transcript(&delete.wait_with_output().unwrap(), &ns)).replace(ns.name(), "NS"), @"
    ? ConfigMap NS/held may still exist
    exit 130
    --- stderr
    error[interrupted]: interrupted: 1 deletion has not ended

      A deletion that has begun goes on without this program; others were not requested.

    hint: Delete again to see how they end.
    ");
    ns.apply_as("another-manager", &object("held", &[])).await;
}
