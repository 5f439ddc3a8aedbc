//! What is kept with a set: drift is told from taking, answered dry runs are remembered, and no value is kept.

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{in_one_line, run, run_with, webhook_for};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-records").await
}

fn map(value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "colour": value, "size": "s" } })
}

fn command(ns: &Namespace, words: &[&str], objects: &str) -> String {
    let (first, more) = words.split_first().expect("a command");
    run_with(ns, &[&[first, "-f", "-", "--applyset", "shop"], more].concat(), objects)
}

/// The Secrets of the namespace, as they are stored.
fn secrets(ns: &Namespace) -> Vec<Value> {
    let printed = ns.kubectl(&["get", "secrets", "-o", "json"]).expect("Secrets can be read");
    let list: Value = serde_json::from_str(&printed).expect("kubectl prints JSON");
    list["items"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn a_change_by_hand_is_drift_and_not_a_conflict_with_an_active_manager() {
    let ns = namespace().await;
    assert!(command(&ns, &["apply"], &map("red").to_string()).starts_with("exit 0"));
    ns.merge_as("kubectl-edit", &map(""), &json!({ "data": { "colour": "green" } })).await;
    insta::assert_snapshot!(command(&ns, &["plan", "--force-conflicts"], &map("red").to_string()), @r#"
    exit 2
    --- stdout
    ~ ConfigMap NS/a
        data.colour: "green" → "red"
          held by kubectl-edit, then by plimsoll (revert another manager's change)
    --- stderr
    warning[ownership-drift]: Drift Detected - Reverting External Changes (ConfigMap
                              NS/a)
      object: ConfigMap NS/a

      These fields were changed outside of this configuration and will be set back to it:

        data.colour: "green" → "red" (modified by: kubectl-edit)

      If the other manager keeps changing them, every plan will show this again.

    hint: To leave them to the other manager, remove them from the file, or pass --ignore or --leave-to.

    help: plimsoll explain ownership-drift
    1 to change
    "#);
    let edited = command(&ns, &["plan", "--force-conflicts"], &map("blue").to_string());
    assert!(edited.contains("(overwrite another manager's change)"), "{edited}");
    let drift = command(&ns, &["drift"], &map("red").to_string());
    assert!(drift.starts_with("exit 2") && drift.contains("(revert another manager's change)"), "{drift}");
    insta::assert_snapshot!(run(&ns, &["owners", "cm/a", "--since"]), @"
    exit 0
    --- stdout
    FIELD         HELD THEN   HELD NOW       VALUE     SET
    data.colour   plimsoll    kubectl-edit   changed   TIME
    --- stderr
    since the apply of TIME
    ");
    let json: Value = serde_json::from_str(
        run(&ns, &["owners", "cm/a", "--since", "-o", "json"]).split_once("--- stdout\n").unwrap().1,
    )
    .unwrap();
    assert_eq!(json["changes"][0]["field"], "data.colour");
    // Without the set there is no record, and no claim that the other manager is active.
    let unrecorded = run_with(&ns, &["plan", "-f", "-", "--force-conflicts"], &map("red").to_string());
    assert!(unrecorded.contains("Fields Set by Another Manager"), "{unrecorded}");
    assert!(!unrecorded.contains("active"), "{unrecorded}");

    assert!(command(&ns, &["apply", "--force-conflicts"], &map("red").to_string()).starts_with("exit 0"));
    let nothing = run(&ns, &["owners", "cm/a", "--since"]);
    assert!(nothing.contains("nothing has changed since the apply of"), "{nothing}");
}

#[tokio::test]
async fn a_record_has_no_values_belongs_to_the_parent_and_is_no_member() {
    let ns = namespace().await;
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "login" }, "stringData": { "p": "hunter2" } });
    let files = format!("{}\n---\n{secret}", map("magenta"));
    assert!(command(&ns, &["apply", "--prune"], &files).starts_with("exit 0"));
    let all = secrets(&ns);
    let parent = all.iter().find(|it| it["metadata"]["name"] == "shop").unwrap();
    let records: Vec<&Value> = all.iter().filter(|it| it["type"] == "plimsoll.dev/applyset-record").collect();
    let [record] = records[..] else { panic!("{all:?}") };
    assert_eq!(record["metadata"]["ownerReferences"][0]["uid"], parent["metadata"]["uid"]);
    assert!(record["metadata"]["labels"]["applyset.kubernetes.io/part-of"].is_null());
    let packed = manifest::secret::decoded_entry(record.as_object().unwrap(), "record").unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::DeflateDecoder::new(&packed[..]), &mut text).unwrap();
    assert!(text.contains("f:colour"), "{text}");
    for value in ["magenta", "hunter2", "aHVudGVyMg"] {
        assert!(!text.contains(value), "{text}");
    }
    // Unchanged, it is not written again; and pruning leaves it alone.
    let version = &record["metadata"]["resourceVersion"];
    assert!(command(&ns, &["apply", "--prune"], &files).contains("2 unchanged"));
    assert!(command(&ns, &["apply", "--prune"], &files).contains("2 unchanged"));
    let name = record["metadata"]["name"].as_str().unwrap();
    assert_eq!(
        secrets(&ns).iter().find(|it| it["metadata"]["name"] == name).unwrap()["metadata"]["resourceVersion"],
        *version
    );
    assert!(command(&ns, &["apply", "--prune"], &map("red").to_string()).contains("1 deleted"));
    assert!(secrets(&ns).iter().any(|it| it["metadata"]["name"] == name));
}

#[tokio::test]
async fn a_record_counts_only_while_our_entry_is_the_one_it_recorded() {
    let ns = namespace().await;
    assert!(command(&ns, &["apply"], &map("red").to_string()).starts_with("exit 0"));
    // The same manager applies again without the set.
    let before = ns.get(&map("")).await.unwrap();
    let mut again = map("yellow");
    again["metadata"]["labels"] = before["metadata"]["labels"].clone();
    again["data"]["extra"] = "x".into();
    ns.apply_as("plimsoll", &again).await;
    ns.merge_as("kubectl-edit", &map(""), &json!({ "data": { "colour": "green" } })).await;
    let planned = command(&ns, &["plan", "--force-conflicts"], &map("red").to_string());
    assert!(planned.contains("Fields Set by Another Manager"), "{planned}");
    let since = run(&ns, &["owners", "cm/a", "--since"]);
    assert!(since.starts_with("exit 1"), "{since}");
    assert!(in_one_line(&since).contains("it was applied again without the set"), "{since}");
}

#[tokio::test]
async fn an_answered_dry_run_is_remembered_where_a_webhook_concerns_the_kind() {
    let ns = namespace().await;
    let hook = webhook_for(&ns, "podtemplates");
    let template = |number: usize| {
        json!({
            "apiVersion": "v1", "kind": "PodTemplate", "metadata": { "name": format!("t{number}") },
            "template": { "spec": { "containers": [{ "name": "a", "image": "b" }] } },
        })
    };
    let files = (0..6).map(|number| template(number).to_string()).collect::<Vec<_>>().join("\n---\n");
    assert!(command(&ns, &["apply"], &files).contains("6 created"));
    let reader = format!("reader-of-{}", ns.name());
    ns.kubectl(&["create", "role", "reader", "--verb=get,list", "--resource=podtemplates,secrets"]).unwrap();
    ns.kubectl(&["create", "rolebinding", "reader", "--role=reader", &format!("--user={reader}")]).unwrap();
    // A reader may neither dry-run nor list webhooks, and still gets an answer.
    let planned = command(&ns, &["plan", "--as", &reader], &files);
    let with_hook = command(&ns, &["plan"], &files);
    ns.kubectl(&["delete", "-f", hook.path().to_str().unwrap()]).unwrap();
    assert!(planned.starts_with("exit 0") && planned.contains("6 unchanged\n"), "{planned}");
    assert!(with_hook.contains("6 unchanged"), "{with_hook}");
    let log = std::fs::read_to_string(Sandbox::shared().layout().audit_log()).unwrap();
    let is_dry_run = |line: &&str| {
        line.contains(ns.name()) && line.contains("podtemplates") && line.contains("dryRun=All")
    };
    assert_eq!(log.lines().filter(is_dry_run).count(), 0);
}

#[tokio::test]
async fn members_that_are_not_in_the_files_are_drift() {
    let ns = namespace().await;
    let mut other = map("red");
    other["metadata"]["name"] = "b".into();
    assert!(command(&ns, &["apply"], &format!("{}\n---\n{other}", map("red"))).starts_with("exit 0"));
    insta::assert_snapshot!(command(&ns, &["drift"], &map("red").to_string()), @"
    exit 2
    --- stdout
    - ConfigMap NS/b
    --- stderr
    1 no longer in the files, 1 in sync
    ");
    assert!(ns.get(&other).await.is_some());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("drift.xml");
    command(&ns, &["drift", "--junit", file.to_str().unwrap()], &map("red").to_string());
    let junit = std::fs::read_to_string(file).unwrap();
    assert!(junit.contains(r#"tests="3" failures="1" errors="0""#), "{junit}");
    assert!(junit.contains(r#"<failure message="it is not in the files">"#), "{junit}");
}
