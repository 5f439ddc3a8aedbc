//! Write-only fields whose values are known only at apply, as those of an ephemeral resource may be.

use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;

const BODY: &str = "apiVersion: v1
kind: Secret
metadata: {name: db, namespace: NS}
stringData: {user: shop, password: placeholder}";
const DRIFT: &str = "Drift Detected - Reverting External Changes";

/// The base64 forms of the passwords in this file.
const HUNTER2: &str = "aHVudGVyMg==";
const HUNTER3: &str = "aHVudGVyMw==";

/// The password is read from another Secret, whose name a plan does not know while `trigger` changes.
fn unknown(case: &Case, trigger: &str) {
    let text = r#"
        resource "terraform_data" "x" {
          triggers_replace = "TRIGGER"
        }

        ephemeral "k8sconnect_object" "source" {
          api_version = "v1"
          kind        = "Secret"
          namespace   = "NAMESPACE"
          name        = terraform_data.x.id == "" ? "" : "source"
        }

        locals {
          password = base64decode(ephemeral.k8sconnect_object.source.object.data.password)
        }
        "#;
    let text = text.replace("TRIGGER", trigger).replace("NAMESPACE", case.namespace.name());
    case.workspace.write("source.tf", &text);
}

fn with(case: &Case, body: &str, fields: &str, version: &str, more: &str) {
    let version =
        if version.is_empty() { String::new() } else { format!("  yaml_body_wo_version = {version}\n") };
    let write_only = format!("  yaml_body_wo = yamlencode({{ stringData = {{ {fields} }} }})\n");
    case.object("db", body, &format!("{write_only}{version}{more}"));
}

async fn set(case: &Case, manager: &str, name: &str, data: Value) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data});
    case.namespace.apply_as(manager, &secret).await;
}

async fn live(case: &Case) -> Value {
    let wanted = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}});
    case.namespace.get(&wanted).await.expect("the Secret exists")["data"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_named_while_the_value_of_the_same_version_is_not_known() {
    for client in Client::all() {
        let case = Case::new("write-only-unknown", client).await;
        let password = "password = local.password";
        set(&case, "team", "source", json!({"password": HUNTER2})).await;
        unknown(&case, "one");
        with(&case, BODY, password, "1", "");
        case.workspace.apply(&[]).expect_success();
        assert_eq!(live(&case).await["password"], HUNTER2);

        // Nothing has changed, and nothing is said.
        unknown(&case, "two");
        let unchanged = case.workspace.plan(&[]).expect_success();
        assert!(unchanged.text().contains("1 to add, 0 to change, 1 to destroy"), "{}", unchanged.output());
        assert!(!unchanged.text().contains(DRIFT), "{}", unchanged.output());

        set(&case, "rotator", "db", json!({"password": HUNTER3})).await;
        let drifted = case.workspace.plan(&[]).expect_success();
        assert!(drifted.text().contains("1 to add, 1 to change, 1 to destroy"), "{}", drifted.output());
        for part in [
            &format!("Warning: {DRIFT}"),
            "data.password: the value differs (modified by: rotator)",
            "(write-only, changed outside by rotator)",
        ] {
            assert!(drifted.text().contains(part), "{part}: {}", drifted.output());
        }
        with(&case, BODY, password, "1", "  conflict_policy = \"fail\"");
        let failed = case.workspace.plan(&[]).expect_failure();
        assert!(failed.text().contains(&format!("Error: {DRIFT}")), "{}", failed.output());

        with(&case, BODY, password, "1", "");
        let applied = case.workspace.apply(&[]).expect_success();
        assert_eq!(live(&case).await["password"], HUNTER2);

        // What another manager removes is drift as well.
        case.namespace
            .merge_as(
                "remover",
                &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}}),
                &json!({"data": {"password": null}}),
            )
            .await;
        unknown(&case, "three");
        let removed = case.workspace.plan(&[]).expect_success();
        assert!(removed.text().contains("1 to add, 1 to change, 1 to destroy"), "{}", removed.output());
        assert!(removed.text().contains(&format!("Warning: {DRIFT}")), "{}", removed.output());
        let restored = case.workspace.apply(&[]).expect_success();
        assert_eq!(live(&case).await["password"], HUNTER2);
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        for run in [&drifted, &failed, &applied, &removed, &restored] {
            for secret in ["hunter", HUNTER2, HUNTER3] {
                assert!(!run.output().contains(secret), "{}", run.output());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_without_a_version_that_is_not_known_is_compared_at_apply() {
    for client in Client::all() {
        let case = Case::new("write-only-later", client).await;
        let title = "Warning: Write-Only Values Not Known Yet";
        set(&case, "team", "source", json!({"password": HUNTER2})).await;
        unknown(&case, "one");
        with(&case, BODY, "password = local.password", "", "");
        let created = case.workspace.apply(&[]).expect_success().text();
        assert!(!created.contains(title), "{created}");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();

        unknown(&case, "two");
        set(&case, "rotator", "db", json!({"password": HUNTER3})).await;
        let planned = case.workspace.plan(&[]).expect_success().text();
        assert!(planned.contains(title) && planned.contains("The apply compares them"), "{planned}");
        case.workspace.apply(&[]).expect_success();
        assert_eq!(live(&case).await["password"], HUNTER2);
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_only_the_apply_knows_of_is_sent_with_what_changes() {
    for client in Client::all() {
        let case = Case::new("write-only-more", client).await;
        set(&case, "team", "source", json!({"password": HUNTER2})).await;
        unknown(&case, "one");
        with(&case, BODY, "password = local.password", "1", "");
        case.workspace.apply(&[]).expect_success();
        unknown(&case, "two");
        with(&case, &BODY.replace("shop", "web"), "password = local.password, pin = local.password", "1", "");
        case.workspace.apply(&[]).expect_success();
        assert_eq!(live(&case).await, json!({"user": "d2Vi", "password": HUNTER2, "pin": HUNTER2}));
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_names_drift_and_what_it_compares_later() {
    let case = Case::new("write-only-patch", Client::any()).await;
    set(&case, "team", "source", json!({"password": HUNTER2})).await;
    set(&case, "team", "db", json!({"user": "c2hvcA=="})).await;
    let write = |version: &str| {
        let namespace = case.namespace.name();
        let text = format!(
            "resource \"k8sconnect_patch\" \"db\" {{\n  target = {{ api_version = \"v1\", kind = \"Secret\", name = \"db\", \
             namespace = {namespace:?} }}\n  patch_wo = yamlencode({{ data = {{ password = base64encode(local.password) }} }})\n  \
             {version}\n}}\n"
        );
        case.workspace.write("patch.tf", &text);
    };
    unknown(&case, "one");
    write("patch_wo_version = 1");
    case.workspace.apply(&[]).expect_success();
    assert_eq!(live(&case).await["password"], HUNTER2);
    unknown(&case, "two");
    set(&case, "rotator", "db", json!({"password": HUNTER3})).await;
    let drifted = case.workspace.plan(&[]).expect_success().text();
    assert!(drifted.contains("data.password: the value differs (modified by: rotator)"), "{drifted}");
    assert!(drifted.contains("(write-only, changed outside by rotator)"), "{drifted}");
    case.workspace.apply(&[]).expect_success();
    assert_eq!(live(&case).await["password"], HUNTER2);
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();

    write("");
    case.workspace.apply(&[]).expect_success();
    unknown(&case, "three");
    let planned = case.workspace.plan(&[]).expect_success().text();
    assert!(planned.contains("Warning: Write-Only Values Not Known Yet"), "{planned}");
    case.workspace.apply(&[]).expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}
