//! `plimsoll owners`

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{plimsoll, run, transcript};

fn settings(value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "colour": value, "size": "9" } })
}

/// A ConfigMap that argocd applied and a user edited, with one field held by both.
async fn contended() -> Namespace {
    let ns = Sandbox::shared().namespace("cli-owners").await;
    ns.apply_as("argocd", &settings("red")).await;
    ns.merge_as("kubectl-edit", &settings(""), &json!({ "data": { "colour": "blue", "note": "a\nb\n" } }))
        .await;
    let both = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "size": "9" } });
    ns.apply_as("plimsoll", &both).await;
    ns
}

/// The output without the lines that differ between clusters.
fn less_generated(text: &str) -> String {
    let generated = ["creationTimestamp", "resourceVersion", "uid:"];
    text.lines()
        .filter(|line| !generated.iter().any(|word| line.contains(word)))
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn every_field_has_its_manager_in_the_margin() {
    let ns = contended().await;
    insta::assert_snapshot!(less_generated(&run(&ns, &["owners", "cm/settings"])), @r#"
    exit 0
    --- stdout
                       │ apiVersion: v1
                       │ data:
    kubectl-edit       │   colour: blue
    kubectl-edit       │   note: |
    kubectl-edit       │     a
    kubectl-edit       │     b
    argocd, plimsoll * │   size: "9"
                       │ kind: ConfigMap
                       │ metadata:
                       │   name: settings
                       │   namespace: NS
    --- stderr
    plimsoll: Apply, 1 field
    argocd: Apply, 1 field
    kubectl-edit: Update, 2 fields
    "#);
    insta::assert_snapshot!(run(&ns, &["owners", "cm/settings", "--manager", "kubectl-edit", "-q"]), @"
    exit 0
    --- stdout
                   │ apiVersion: v1
                   │ data:
    kubectl-edit   │   colour: blue
    kubectl-edit   │   note: |
    kubectl-edit   │     a
    kubectl-edit   │     b
                   │ kind: ConfigMap
                   │ metadata:
                   │   name: settings
                   │   namespace: NS
    ");
    insta::assert_snapshot!(run(&ns, &["owners", "cm/settings", "--manager", "flux"]), @"
    exit 1
    --- stderr
    error[manager-unknown]: flux holds no field of ConfigMap NS/settings

    hint: Choose one of its managers: plimsoll, argocd, kubectl-edit.
    ");
    insta::assert_snapshot!(run(&ns, &["owners", "cm/settings", "-o", "name"]), @"
    exit 0
    --- stdout
    plimsoll
    argocd
    kubectl-edit
    ");
}

#[tokio::test]
async fn on_forty_columns_the_margin_has_letters() {
    let ns = contended().await;
    let output = plimsoll(&ns, &["owners", "cm/settings"]).env("COLUMNS", "40").output().unwrap();
    insta::assert_snapshot!(less_generated(&transcript(&output, &ns)), @r#"
    exit 0
    --- stdout
         │ apiVersion: v1
         │ data:
    C    │   colour: blue
    C    │   note: |
    C    │     a
    C    │     b
    BA * │   size: "9"
         │ kind: ConfigMap
         │ metadata:
         │   name: settings
         │   namespace: NS
    --- stderr
    A = plimsoll: Apply, 1 field
    B = argocd: Apply, 1 field
    C = kubectl-edit: Update, 2 fields
    "#);
}

#[tokio::test]
async fn one_field_can_be_selected() {
    let ns = contended().await;
    insta::assert_snapshot!(run(&ns, &["owners", "cm/settings", "--who", "data.size"]), @"
    exit 0
    --- stdout
    FIELD       MANAGER    OPERATION   SUBRESOURCE   SINCE
    data.size   plimsoll   Apply       -
    data.size   argocd     Apply       -             TIME
    ");
    insta::assert_snapshot!(run(&ns, &["owners", "cm/settings", "--who", "data.size", "-o", "name"]), @"
    exit 0
    --- stdout
    plimsoll
    argocd
    ");
    insta::assert_snapshot!(run(&ns, &["owners", "cm/settings", "--who", "data.weight"]), @r#"
    exit 1
    --- stderr
    error[field-unknown]: data.weight is not a field of the object

      It selects nothing: weight is not found.

    hint: Write a path such as spec.replicas or spec.template.spec.containers[name="web"].image.
    "#);
    let shown = run(&ns, &["owners", "cm/settings", "--who", "data.colour", "-o", "yaml"]);
    insta::assert_snapshot!(shown, @r#"
    exit 0
    --- stdout
    - field: data.colour
      manager: kubectl-edit
      operation: Update
      subresource: ""
      time: "TIME"
    "#);
}

#[tokio::test]
async fn managers_differ_by_colour() {
    let ns = contended().await;
    let output = plimsoll(&ns, &["owners", "cm/settings", "--color", "always"])
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let painted = |manager: &str| {
        let at = text.find(manager).unwrap_or_else(|| panic!("{manager} is in {text}"));
        text[..at].rsplit_once('\u{1b}').unwrap().1.to_owned()
    };
    assert_ne!(painted("argocd"), painted("kubectl-edit"));
}

#[tokio::test]
async fn values_of_secrets_are_masked() {
    let ns = Sandbox::shared().namespace("cli-owners").await;
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db" }, "stringData": { "password": "hunter2" } });
    ns.apply_as("argocd", &secret).await;
    for arguments in [&["owners", "secret/db"][..], &["owners", "secret/db", "-o", "json"]] {
        let transcript = run(&ns, arguments);
        assert!(!transcript.contains("aHVudGVyMg") && !transcript.contains("hunter2"), "{transcript}");
        assert!(transcript.contains("data"), "{transcript}");
    }
    assert!(run(&ns, &["owners", "secret/db"]).contains("password: (sensitive hmac:"));
}
