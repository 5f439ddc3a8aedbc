//! Reports for programs and pull requests: `-o diff`, `-o markdown`, and `-o json` by its published schema.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{plimsoll, run, run_with, with_input};
use crate::schema;
use crate::wait::unschedulable;

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-formats").await
}

fn map(value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "m" }, "data": { "k": value, "text": "a\nb\nc\n" } })
}

fn output(ns: &Namespace, arguments: &[&str], input: &str) -> String {
    let output = with_input(plimsoll(ns, arguments), input);
    String::from_utf8(output.stdout).expect("text")
}

/// Applies a diff to the files of a folder with the real `patch`.
fn patch(folder: &Path, diff: &str) {
    let mut child = Command::new("patch")
        .args(["--strip=1", "--no-backup-if-mismatch", "--fuzz=0"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("patch is installed");
    child.stdin.take().expect("a pipe").write_all(diff.as_bytes()).expect("patch reads the diff");
    let output = child.wait_with_output().expect("patch ends");
    assert!(output.status.success(), "{}\n{diff}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test]
async fn a_diff_applies_with_patch() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("v1.ConfigMap.{}.m", ns.name()));
    let set = ["-f", "-", "--applyset", "shop", "--prune"];
    let plan =
        |object: &Value| output(&ns, &[&["plan"], &set[..], &["-o", "diff"]].concat(), &object.to_string());
    let apply = |object: &Value| {
        let applied = run_with(&ns, &[&["apply"], &set[..]].concat(), &object.to_string());
        assert!(applied.starts_with("exit 0\n"), "{applied}");
    };
    patch(folder.path(), &plan(&map("one")));
    assert!(std::fs::read_to_string(&file).unwrap().contains("k: one\n"));
    apply(&map("one"));
    let change = plan(&map("two"));
    assert!(change.contains("\n-  k: one\n+  k: two\n"), "{change}");
    patch(folder.path(), &change);
    apply(&map("two"));
    let patched: Value = serde_json::to_value(
        manifest::read(
            &diag::Source::new("patched", std::fs::read_to_string(&file).unwrap()),
            &manifest::Limits::default(),
        )
        .single()
        .unwrap()
        .value(),
    )
    .unwrap();
    let live = ns.get(&map("")).await.unwrap();
    assert_eq!(
        (&patched["data"], &patched["metadata"]["labels"]),
        (&live["data"], &live["metadata"]["labels"])
    );
    // A member that is no longer in the files goes.
    let mut other = map("x");
    other["metadata"]["name"] = "other".into();
    let deletion = plan(&other);
    assert!(deletion.contains("+++ /dev/null\n"), "{deletion}");
    patch(folder.path(), &deletion);
    assert!(!file.exists());
    assert_eq!(plan(&map("two")), "");
}

#[tokio::test]
async fn a_diff_and_a_comment_mask_secrets() {
    let ns = namespace().await;
    let secret = |value: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db" }, "stringData": { "password": value } });
    ns.apply_as("plimsoll", &secret("hunter2")).await;
    for format in ["diff", "markdown"] {
        let shown = output(&ns, &["plan", "-f", "-", "-o", format], &secret("hunter3").to_string());
        assert!(shown.contains("(sensitive hmac:"), "{shown}");
        for value in ["hunter", "aHVudGVyM"] {
            assert!(!shown.contains(value), "{shown}");
        }
    }
}

#[tokio::test]
async fn a_comment_has_the_summary_first_and_collapsed_objects() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &map("one")).await;
    let mut new = map("x");
    new["metadata"]["name"] = "new".into();
    new["data"] = json!({ "fence": "```\n</details>" });
    let files = format!("{}\n---\n{new}", map("two"));
    let shown = output(&ns, &["plan", "-f", "-", "-o", "markdown"], &files).replace(ns.name(), "NS");
    insta::assert_snapshot!(shown, @r#"
    ### Plan: 1 to create, 1 to change

    <details><summary><code>~ ConfigMap NS/m</code></summary>

    ```diff
    - data.k: "one"
    + data.k: "two"
    # held by plimsoll
    ```

    </details>

    <details><summary><code>+ ConfigMap NS/new</code></summary>

    ````diff
    # data.fence =
    + ```
    + </details>
    ````

    </details>
    "#);
    let refused = run(&ns, &["tree", "cm/m", "-o", "markdown"]);
    assert!(refused.contains("error[format-unsupported]"), "{refused}");
}

#[tokio::test]
async fn json_is_as_its_schema_says() {
    let ns = namespace().await;
    let check = |arguments: &[&str], input: &str, action: &str| {
        let text = output(&ns, &[arguments, &["-f", "-", "-o", "json"]].concat(), input);
        let report = schema::check("report", &text);
        let actions: Vec<&str> =
            report["objects"].as_array().unwrap().iter().filter_map(|it| it["action"].as_str()).collect();
        assert!(action.is_empty() || actions.contains(&action), "{arguments:?}: {actions:?}");
    };
    check(&["plan"], &map("one").to_string(), "create");
    check(&["apply", "--wait"], &map("one").to_string(), "create");
    check(&["plan"], &map("one").to_string(), "none");
    check(&["plan", "--applyset", "shop", "--prune"], &map("two").to_string(), "change");
    ns.kubectl(&["patch", "cm/m", "--type", "merge", "--patch", r#"{"data":{"k":"x","more":"y"}}"#]).unwrap();
    check(&["apply"], &map("two").to_string(), "refused");
    check(&["plan", "--force-conflicts"], &map("two").to_string(), "change");
    check(&["plan"], &map("x").to_string(), "hold");
    check(&["drift", "--additions"], &map("x").to_string(), "addition");
    check(&["apply", "--wait", "--timeout", "1s"], &unschedulable("web").to_string(), "create");
    check(&["plan"], "a: [\n", "");
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "formats.cli.plimsoll.dev" },
        "spec": {
            "group": "cli.plimsoll.dev", "scope": "Namespaced",
            "names": { "kind": "Format", "plural": "formats", "singular": "format" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    });
    let object =
        json!({ "apiVersion": "cli.plimsoll.dev/v1", "kind": "Format", "metadata": { "name": "f" } });
    check(&["plan"], &format!("{crd}\n---\n{object}"), "pending");
    let held = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "h", "finalizers": ["example.org/x"] } });
    ns.apply_as("plimsoll", &held).await;
    ns.kubectl(&["delete", "cm/h", "--wait=false"]).unwrap();
    check(&["drift"], &held.to_string(), "going");
    ns.kubectl(&["patch", "cm/h", "--type", "merge", "--patch", r#"{"metadata":{"finalizers":null}}"#])
        .unwrap();
}
