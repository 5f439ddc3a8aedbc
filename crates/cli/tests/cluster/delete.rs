//! `plimsoll delete`

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{run, run_with};

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
    insta::assert_snapshot!(run(&ns, &["delete", "cm/a", "cm/none"]), @"
    exit 1
    --- stdout
    - ConfigMap NS/a is gone
      ConfigMap NS/none did not exist
    --- stderr
    error[object-missing]: ConfigMap NS/none does not exist

      Only namespace NS was searched.

    hint: Choose another namespace with --namespace.
    ");
    assert_eq!(ns.get(&object("a", &[])).await, None);
    ns.apply_as("another-manager", &object("a", &[])).await;
    let files = format!("{}\n---\n{}", object("a", &[]), object("b", &[]));
    insta::assert_snapshot!(run_with(&ns, &["delete", "-f", "-"], &files), @"
    exit 0
    --- stdout
    - ConfigMap NS/a is gone
      ConfigMap NS/b did not exist
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
          finalizers with --force.

    help: kubectl describe configmap held -n NS
    ");
    insta::assert_snapshot!(run(&ns, &["delete", "cm/held", "--timeout", "100ms", "--force"]), @"
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
