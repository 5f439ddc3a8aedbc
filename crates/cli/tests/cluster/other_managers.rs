//! What becomes of fields that other managers hold: `--take`, `--leave-to`, `--ignore` and `drift --additions`.

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::run_with;

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-managers").await
}

fn deployment(replicas: u8, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "nodeSelector": { "disk": "none-such" }, "containers": [{ "name": "web", "image": image }] },
            },
        },
    })
}

/// What `manager` holds of the object.
fn held(object: &Value, manager: &str) -> String {
    let entries = object["metadata"]["managedFields"].as_array().expect("there are managers").iter();
    entries.filter(|entry| entry["manager"] == manager).map(|entry| entry["fieldsV1"].to_string()).collect()
}

const IMAGE: &str = r#"spec.template.spec.containers[name="web"].image"#;

#[tokio::test]
async fn a_field_is_taken_without_the_others() {
    let ns = namespace().await;
    ns.apply_as("scaler", &deployment(2, "web:1")).await;
    let written = deployment(3, "web:2").to_string();
    let apply = |more: &[&str]| run_with(&ns, &[&["apply", "-f", "-"], more].concat(), &written);
    let conflict = apply(&["--take", "spec.replicas"]);
    assert!(conflict.starts_with("exit 1\n") && conflict.contains(IMAGE), "{conflict}");
    assert!(!conflict.contains("spec.replicas (managed"), "{conflict}");
    let live = ns.get(&deployment(0, "")).await.unwrap();
    assert_eq!(live["spec"]["replicas"], 2, "nothing is half applied");
    // The path is the one that the conflict names.
    let plan = run_with(&ns, &["plan", "-f", "-", "--take", "spec.replicas", "--take", IMAGE], &written);
    assert!(plan.starts_with("exit 2\n"), "{plan}");
    assert!(plan.contains(&format!("{IMAGE}: \"web:1\" → \"web:2\"")), "{plan}");
    let taken = apply(&["--take", "spec.replicas", "--take", IMAGE]);
    assert!(taken.starts_with("exit 0\n"), "{taken}");
    let live = ns.get(&deployment(0, "")).await.unwrap();
    assert_eq!(live["spec"]["replicas"], 3);
    assert!(!held(&live, "scaler").contains("f:replicas"), "{live}");
}

#[tokio::test]
async fn fields_are_left_to_a_manager_or_by_path() {
    let ns = namespace().await;
    let apply = |object: &Value, more: &[&str]| {
        run_with(&ns, &[&["apply", "-f", "-"], more].concat(), &object.to_string())
    };
    assert!(apply(&deployment(2, "web:1"), &[]).starts_with("exit 0\n"));
    ns.kubectl(&["scale", "deployment/web", "--replicas", "5"]).unwrap();
    for choice in [["--leave-to", "kubectl"], ["--ignore", "spec.replicas"]] {
        let planned =
            run_with(&ns, &[&["plan", "-f", "-"][..], &choice].concat(), &deployment(2, "web:2").to_string());
        assert!(planned.starts_with("exit 2\n") && !planned.contains("spec.replicas:"), "{planned}");
    }
    let applied = apply(&deployment(2, "web:2"), &["--leave-to", "kubectl"]);
    assert!(applied.starts_with("exit 0\n"), "{applied}");
    let live = ns.get(&deployment(0, "")).await.unwrap();
    assert_eq!(
        (&live["spec"]["replicas"], held(&live, "plimsoll").contains("f:replicas")),
        (&json!(5), false)
    );
    // A field that only we hold is given up before, or its value would go with it.
    let ignored = apply(&deployment(2, "web:3"), &["--ignore", "spec.replicas", "--ignore", IMAGE]);
    assert!(ignored.starts_with("exit 0\n"), "{ignored}");
    let live = ns.get(&deployment(0, "")).await.unwrap();
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], "web:2");
    assert!(!held(&live, "plimsoll").contains("f:image"), "{live}");
    let nothing = run_with(
        &ns,
        &["plan", "-f", "-", "--ignore", "spec.replicas", "--ignore", IMAGE],
        &deployment(1, "web:9").to_string(),
    );
    assert!(nothing.starts_with("exit 0\n"), "{nothing}");
    let wrong = apply(&deployment(2, "web:3"), &["--ignore", "spec["]);
    assert!(wrong.contains("error[option-unusable]: --ignore spec[ is not a path to fields"), "{wrong}");
}

#[tokio::test]
async fn additions_of_others_are_drift_if_asked_for() {
    let ns = namespace().await;
    let map =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "m" }, "data": { "k": "v" } });
    ns.apply_as("plimsoll", &map).await;
    ns.kubectl(&["patch", "cm/m", "--type", "merge", "--patch", r#"{"data":{"more.conf":"x"}}"#]).unwrap();
    ns.kubectl(&["annotate", "cm/m", "team=a"]).unwrap();
    let drift = |more: &[&str]| run_with(&ns, &[&["drift", "-f", "-"], more].concat(), &map.to_string());
    assert!(drift(&[]).starts_with("exit 0\n"));
    insta::assert_snapshot!(drift(&["--additions"]), @r#"
    exit 2
    --- stdout
    ~ ConfigMap NS/m
        data["more.conf"] = "x"   not in the files, held by kubectl-patch
        metadata.annotations.team = "a"   not in the files, held by kubectl-annotate
    --- stderr
    1 with additions
    "#);
    assert!(
        drift(&["--additions", "--ignore", "metadata.annotations[*]", "--leave-to", "kubectl-patch"])
            .starts_with("exit 0\n")
    );
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("drift.xml");
    drift(&["--additions", "--junit", junit.to_str().unwrap()]);
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("failure message=\"2 fields are not in the files\""), "{xml}");
}

#[tokio::test]
async fn a_path_of_a_plan_can_be_pasted_into_owners() {
    let ns = namespace().await;
    let mut written = deployment(1, "web:1");
    written["metadata"]["annotations"] = json!({ "example.com/team": "a" });
    let planned = run_with(&ns, &["plan", "-f", "-", "-o", "json"], &written.to_string());
    let (_, data) = planned.split_once("--- stdout\n").unwrap();
    let plan: Value = serde_json::from_str(data.split("--- stderr").next().unwrap()).unwrap();
    ns.apply_as("plimsoll", &written).await;
    let fields = plan["objects"][0]["fields"].as_array().unwrap();
    let fields: Vec<&str> = fields.iter().map(|field| field["field"].as_str().unwrap()).collect();
    assert!(
        fields.contains(&IMAGE) && fields.contains(&r#"metadata.annotations["example.com/team"]"#),
        "{plan}"
    );
    for field in fields {
        let holders = run_with(&ns, &["owners", "deploy/web", "--who", field, "-o", "name"], "");
        assert_eq!(holders, "exit 0\n--- stdout\nplimsoll\n", "{field}");
    }
}

#[tokio::test]
async fn quiet_commands_print_only_errors_and_data() {
    let ns = namespace().await;
    let map =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "m" }, "data": { "k": "v" } });
    assert_eq!(run_with(&ns, &["apply", "-f", "-", "-q"], &map.to_string()), "exit 0\n");
    ns.kubectl(&["patch", "cm/m", "--type", "merge", "--patch", r#"{"data":{"k":"w"}}"#]).unwrap();
    let planned = run_with(&ns, &["plan", "-f", "-", "-q", "--force-conflicts"], &map.to_string());
    assert!(planned.contains("data.k") && !planned.contains("stderr"), "{planned}");
    assert_eq!(
        run_with(&ns, &["apply", "-f", "-", "-q", "-o", "name", "--force-conflicts"], &map.to_string()),
        "exit 0\n--- stdout\nconfigmap/m\n"
    );
    assert_eq!(run_with(&ns, &["delete", "-f", "-", "-q"], &map.to_string()), "exit 0\n");
}
