//! Plans in files, plans that are confirmed, and objects that are replaced.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{in_one_line, in_terminal, plimsoll, run, run_with, transcript, with_input};
use crate::replacements::claim;

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-saved").await
}

fn map(name: &str, value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "k": value } })
}

fn written(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
}

/// `plimsoll` without `--namespace`, which a plan has.
fn apply_plan(ns: &Namespace, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.arg("apply").args(arguments).env("KUBECONFIG", Sandbox::shared().kubeconfig());
    command.env("COLUMNS", "100").env("NO_COLOR", "1").stdin(Stdio::null());
    transcript(&command.output().expect("plimsoll starts"), ns)
}

fn plan(ns: &Namespace, file: &Path, objects: &[Value], more: &[&str]) -> String {
    let out = file.to_str().expect("a simple path");
    run_with(ns, &[&["plan", "-f", "-", "--out", out], more].concat(), &written(objects))
}

#[tokio::test]
async fn a_plan_in_a_file_does_what_was_planned_or_nothing() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.plan");
    let path = file.to_str().unwrap();
    ns.apply_as("plimsoll", &map("a", "old")).await;
    let objects = [map("a", "new"), map("b", "new")];
    let planned = plan(&ns, &file, &objects, &[]);
    assert!(planned.starts_with("exit 2\n"), "{planned}");
    assert!(planned.contains(&format!("To carry out this plan: plimsoll apply {path}")), "{planned}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    // The status of an object, and fields that the plan is not about, may change meanwhile.
    ns.merge_as(
        "other",
        &map("a", ""),
        &json!({ "data": { "more": "x" }, "metadata": { "annotations": { "x": "y" } } }),
    )
    .await;
    let applied = apply_plan(&ns, &[path]);
    assert!(applied.starts_with("exit 0\n") && applied.contains("1 created, 1 changed"), "{applied}");
    assert_eq!(ns.get(&map("a", "")).await.unwrap()["data"], json!({ "k": "new", "more": "x" }));

    // The same plan again would not do the same.
    let again = apply_plan(&ns, &[path]);
    insta::assert_snapshot!(again.replace(path, "PLAN"), @"
    exit 1
    --- stderr
    error[plan-stale]: the cluster has changed since the plan was made

      Nothing was applied, because the result would differ from the plan:

        - ConfigMap NS/a has been changed
        - ConfigMap NS/b exists now

    hint: Plan again.
    ");
    // A field that it is about has changed.
    assert!(plan(&ns, &file, &[map("a", "newer")], &[]).starts_with("exit 2\n"));
    ns.merge_as("plimsoll", &map("a", ""), &json!({ "data": { "k": "other" } })).await;
    let moved = apply_plan(&ns, &[path]);
    assert!(moved.contains("- ConfigMap NS/a has been changed"), "{moved}");
    assert_eq!(ns.get(&map("a", "")).await.unwrap()["data"]["k"], "other");
}

#[tokio::test]
async fn a_plan_keeps_the_set_and_the_options_it_was_made_with() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.plan");
    let path = file.to_str().unwrap();
    let set = ["--applyset", "shop", "--prune"];
    let apply =
        |objects: &[Value]| run_with(&ns, &[&["apply", "-f", "-"], &set[..]].concat(), &written(objects));
    assert!(apply(&[map("a", "1"), map("b", "1")]).starts_with("exit 0"));
    let planned = plan(&ns, &file, &[map("a", "2")], &set);
    assert!(planned.contains("1 to delete, 1 to change"), "{planned}");
    // Another member appears after the review.
    assert!(apply(&[map("a", "1"), map("b", "1"), map("c", "1")]).starts_with("exit 0"));
    let moved = apply_plan(&ns, &[path]);
    assert!(moved.contains("the set's prune candidates changed"), "{moved}");
    assert!(ns.get(&map("b", "")).await.is_some());
    assert!(plan(&ns, &file, &[map("a", "2")], &set).contains("2 to delete, 1 to change"));
    let applied = apply_plan(&ns, &[path]);
    assert!(applied.contains("2 deleted, 1 changed"), "{applied}");
    assert!(ns.get(&map("b", "")).await.is_none());
    // A field of another manager, taken because the plan says so.
    ns.merge_as("kubectl-edit", &map("a", ""), &json!({ "data": { "k": "3" } })).await;
    assert!(plan(&ns, &file, &[map("a", "2")], &["--take", "data.k"]).starts_with("exit 2"));
    assert!(apply_plan(&ns, &[path]).starts_with("exit 0"));
    assert_eq!(ns.get(&map("a", "")).await.unwrap()["data"]["k"], "2");
}

#[tokio::test]
async fn secrets_in_a_plan_are_announced_and_guarded() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.plan");
    let path = file.to_str().unwrap();
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" }, "stringData": { "p": "hunter2" } });
    let planned = plan(&ns, &file, std::slice::from_ref(&secret), &[]);
    assert!(
        planned.contains("It has the values of a Secret in clear. Only you may read the file."),
        "{planned}"
    );
    assert!(!planned.contains("hunter2"), "{planned}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let applied = apply_plan(&ns, &[path]);
    assert!(applied.starts_with("exit 0") && applied.contains("warning[plan-exposed]"), "{applied}");
    assert!(!applied.contains("hunter2"), "{applied}");
}

#[tokio::test]
async fn a_plan_with_errors_and_a_file_that_is_no_plan_are_refused() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.plan");
    let mut broken = map("a", "1");
    broken["dta"] = json!({});
    let planned = plan(&ns, &file, &[broken], &[]);
    assert!(planned.starts_with("exit 1") && planned.contains("error[nothing-planned]"), "{planned}");
    assert!(!file.exists());
    let manifest = folder.path().join("shop.yaml");
    fs::write(&manifest, map("a", "1").to_string()).unwrap();
    let refused = apply_plan(&ns, &[manifest.to_str().unwrap()]);
    insta::assert_snapshot!(refused.replace(folder.path().to_str().unwrap(), "DIR"), @"
    exit 1
    --- stderr
    error[plan-unreadable]: DIR/shop.yaml is not a saved plan

      Its field schema should be plimsoll.dev/plan/v1; found: none.

    hint: To apply manifests, write: plimsoll apply -f DIR/shop.yaml
    ");
    assert!(plan(&ns, &file, &[map("a", "1")], &[]).starts_with("exit 2"));
    let mixed = apply_plan(&ns, &[file.to_str().unwrap(), "--force-conflicts"]);
    assert!(mixed.contains("cannot be used with"), "{mixed}");
    let elsewhere = run(&ns, &["apply", file.to_str().unwrap()]);
    assert!(elsewhere.starts_with("exit 1"), "{elsewhere}");
}

/// Runs a command on a terminal, with these keys typed.
fn on_terminal(command: &Command, keys: &str) -> (Option<i32>, String) {
    let output = with_input(in_terminal(command), keys);
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[tokio::test]
async fn a_plan_is_confirmed_on_the_terminal() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("shop.yaml");
    fs::write(&manifest, map("a", "1").to_string()).unwrap();
    let apply = plimsoll(&ns, &["apply", "-f", manifest.to_str().unwrap(), "--confirm"]);
    let (status, shown) = on_terminal(&apply, "n\n");
    assert_eq!(status, Some(1), "{shown}");
    assert!(shown.contains("1 to create") && shown.contains("Apply this? [y/N]"), "{shown}");
    assert!(shown.contains("nothing was applied"), "{shown}");
    assert!(ns.get(&map("a", "")).await.is_none());
    let (status, shown) = on_terminal(&apply, "y\n");
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.contains("1 created"), "{shown}");
    assert!(ns.get(&map("a", "")).await.is_some());
    // Nothing to confirm.
    assert_eq!(on_terminal(&apply, "").0, Some(0));
    let mut detached = plimsoll(&ns, &["apply", "-f", manifest.to_str().unwrap(), "--confirm"]);
    let mut setsid = Command::new("setsid");
    setsid.arg("--wait").arg(detached.get_program()).args(detached.get_args());
    for (name, value) in detached.env("NO_COLOR", "1").get_envs() {
        setsid.env(name, value.unwrap_or_default());
    }
    let refused = transcript(&setsid.stdin(Stdio::null()).output().unwrap(), &ns);
    assert!(refused.starts_with("exit 1") && refused.contains("--confirm needs a terminal"), "{refused}");
}

fn service_set(service: &str, replicas: u8) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": "db" },
        "spec": {
            "serviceName": service, "replicas": replicas, "selector": { "matchLabels": { "app": "db" } },
            "template": { "metadata": { "labels": { "app": "db" } }, "spec": { "containers": [{ "name": "db", "image": "db:1" }] } },
        },
    })
}

#[tokio::test]
async fn fields_that_cannot_be_changed_are_named_one_by_one() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &service_set("one", 0)).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("db.yaml");
    fs::write(&file, manifest::to_yaml(&service_set("two", 1))).unwrap();
    let plan = |more: &[&str]| {
        let arguments = [&["plan", "-f", file.to_str().unwrap()], more].concat();
        run(&ns, &arguments).replace(folder.path().to_str().unwrap(), "DIR")
    };
    insta::assert_snapshot!(plan(&[]), @r#"
    exit 1
    --- stdout
    ! StatefulSet NS/db
    --- stderr
    error[field-immutable]: Plan: Immutable Field Changed
      --> DIR/db.yaml:10:3
       |
    10 |   serviceName: two
       |   ^^^^^^^^^^^
       |
       = object: StatefulSet NS/db
       = field: spec.serviceName

      These fields of StatefulSet NS/db cannot be changed:

        spec.serviceName: "one" → "two"

      The server rejected StatefulSet NS/db:

        Field: spec
        Error: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals',
        'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and
        'minReadySeconds' are forbidden

    hint: Revert the change, or delete the object and create it again with --replace.
    1 refused
    "#);
    insta::assert_snapshot!(plan(&["--replace", "--cascade", "orphan"]), @r#"
    exit 2
    --- stdout
    ± StatefulSet NS/db
        spec.replicas: 0 → 1
        spec.serviceName: "one" → "two"   cannot be changed
        is deleted and created again; what it owns stays
    --- stderr
    1 to replace
    "#);
    let drift = run(&ns, &["drift", "-f", file.to_str().unwrap()]);
    assert!(drift.starts_with("exit 2") && drift.contains(r#"spec.serviceName: "one" → "two""#), "{drift}");
}

#[tokio::test]
async fn an_object_is_replaced_and_what_it_owns_stays_if_that_is_wanted() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &service_set("one", 1)).await;
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "db-0" } });
    ns.until(&pod, "its pod is there", |pod| pod.is_some()).await;
    let uid = ns.get(&service_set("", 0)).await.unwrap()["metadata"]["uid"].clone();
    let input = service_set("two", 1).to_string();
    let refused = run_with(&ns, &["apply", "-f", "-"], &input);
    assert!(refused.starts_with("exit 1") && refused.contains("spec.serviceName"), "{refused}");
    let applied = run_with(&ns, &["apply", "-f", "-", "--replace", "--cascade", "orphan"], &input);
    assert!(applied.starts_with("exit 0") && applied.contains("1 replaced"), "{applied}");
    let live = ns.get(&service_set("", 0)).await.unwrap();
    assert_eq!(live["spec"]["serviceName"], "two");
    assert_ne!(live["metadata"]["uid"], uid);
    let now = ns.get(&pod).await.unwrap();
    assert!(now["metadata"]["deletionTimestamp"].is_null(), "{now}");
    assert!(run_with(&ns, &["plan", "-f", "-"], &input).starts_with("exit 0"));
}

#[tokio::test]
async fn what_contains_other_objects_is_not_replaced_and_a_claim_is_with_a_warning() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &claim("one")).await;
    let planned = run_with(&ns, &["plan", "-f", "-", "--replace"], &claim("two").to_string());
    assert!(
        planned.starts_with("exit 2") && planned.contains("± PersistentVolumeClaim NS/data"),
        "{planned}"
    );
    assert!(in_one_line(&planned).contains("is replaced, and its data may be lost"), "{planned}");
    let group = format!("{}.example.org", ns.name());
    let definition = |scope: &str| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("things.{group}") },
            "spec": {
                "group": group, "scope": scope, "names": { "kind": "Thing", "plural": "things" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }],
            },
        })
    };
    assert!(
        run_with(&ns, &["apply", "-f", "-"], &definition("Namespaced").to_string()).starts_with("exit 0")
    );
    let kept = run_with(&ns, &["apply", "-f", "-", "--replace"], &definition("Cluster").to_string());
    assert!(kept.starts_with("exit 1"), "{kept}");
}
