//! `--replace`: what an object that is created again loses, and what keeps it from being deleted.

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{in_one_line, run_with};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-replace").await
}

fn map(value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "immutable": true, "data": { "k": value },
    })
}

#[tokio::test]
async fn what_other_managers_have_set_is_lost_and_the_plan_says_so() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &map("one")).await;
    let note = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "a", "annotations": { "example.org/note": "theirs" } },
    });
    ns.apply_as("other-manager", &note).await;
    let input = map("two").to_string();
    insta::assert_snapshot!(run_with(&ns, &["plan", "-f", "-", "--replace"], &input), @r#"
    exit 2
    --- stdout
    ± ConfigMap NS/a
        data.k: "one" → "two"   cannot be changed
        metadata.annotations["example.org/note"]: "theirs" → (none)   lost, held by other-manager
        is deleted and created again; what it owns is deleted
    --- stderr
    warning[replaces-fields]: ConfigMap NS/a is replaced, and loses fields of other
                              managers
      object: ConfigMap NS/a

      The new object does not have what other managers hold now:

        metadata.annotations["example.org/note"] (other-manager)

    hint: Write the fields that have to stay into the file.
    1 to replace
    "#);
    let diff = run_with(&ns, &["plan", "-f", "-", "--replace", "-o", "diff"], &input);
    for line in ["\n-    example.org/note: theirs\n", "\n-  k: one\n", "\n+  k: two\n"] {
        assert!(diff.contains(line), "{diff}");
    }
    let report = run_with(&ns, &["plan", "-f", "-", "--replace", "-o", "json"], &input);
    assert!(in_one_line(&report).contains(r#""lost": [ "metadata.annotations"#), "{report}");
    let applied = run_with(&ns, &["apply", "-f", "-", "--replace"], &input);
    assert!(applied.starts_with("exit 0") && applied.contains("lost, held by other-manager"), "{applied}");
    let live = ns.get(&map("")).await.unwrap();
    assert!(live["data"]["k"] == "two" && live["metadata"]["annotations"].is_null(), "{live}");
}

/// A claim whose class cannot be changed.
pub(super) fn claim(class: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "data" },
        "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": { "requests": { "storage": "1Gi" } } },
    })
}

#[tokio::test]
async fn an_object_that_could_not_be_created_again_stays() {
    let ns = namespace().await;
    ns.apply_as("plimsoll", &claim("one")).await;
    let limit = json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": { "name": "large" },
        "spec": { "limits": [{ "type": "PersistentVolumeClaim", "min": { "storage": "5Gi" } }] },
    });
    ns.apply_as("administrator", &limit).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.json");
    let mut other = claim("one");
    other["metadata"]["name"] = "other".into();
    std::fs::write(&file, other.to_string()).unwrap();
    // The API server learns of the limit a moment later.
    while ns.kubectl(&["create", "--dry-run=server", "-f", file.to_str().unwrap()]).is_ok() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let before = ns.get(&claim("")).await.unwrap();
    for command in ["plan", "apply"] {
        let refused = run_with(&ns, &[command, "-f", "-", "--replace"], &claim("two").to_string());
        assert!(refused.starts_with("exit 1"), "{command}: {refused}");
        let refused = in_one_line(&refused);
        assert!(refused.contains("minimum storage usage"), "{command}: {refused}");
        assert!(refused.contains("The object stays: it could not be recreated."), "{command}: {refused}");
    }
    let after = ns.get(&claim("")).await.unwrap();
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert!(after["metadata"]["deletionTimestamp"].is_null(), "{after}");
}
