//! Masks of Secret values: keyed by resource, and those of version 0.1.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use manifest::secret::MaskKey;
use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;

const ADDRESS: &str = "k8sconnect_object.db";

fn secret_with(password: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: db, namespace: NS}}\nstringData: {{password: {password}, user: shop}}"
    )
}

fn mask(case: &Case, field: &str) -> String {
    let projection = case.workspace.attributes(ADDRESS)["managed_state_projection"].clone();
    projection[field].as_str().expect("a text").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_value_has_another_mask_in_every_resource_and_a_changed_one_is_a_change() {
    for client in Client::all() {
        let case = Case::new("masks", client).await;
        case.object("db", &secret_with("hunter2"), "");
        let mut masks = Vec::new();
        for _ in 0..2 {
            case.workspace.plan(&["-out=kept"]).expect_success();
            case.workspace.run(&["apply", "-no-color", "kept"]).expect_success();
            masks.push(mask(&case, "data.password"));
            case.workspace.plan(&["-detailed-exitcode"]).expect_success();
            case.workspace.plan(&["-detailed-exitcode", "-refresh=false"]).expect_success();
            if masks.len() < 2 {
                case.workspace.destroy().expect_success();
            }
        }
        assert!(masks.iter().all(|mask| mask.starts_with("(sensitive hmac:")), "{masks:?}");
        assert_ne!(masks[0], masks[1]);

        let user = mask(&case, "data.user");
        case.object("db", &secret_with("sesame"), "");
        let plan = case.workspace.plan(&[]).expect_success().text();
        assert!(
            plan.contains(&format!("~ \"data.password\" = {:?} -> \"(sensitive hmac:", masks[1])),
            "{plan}"
        );
        assert!(!plan.contains("data.user"), "{plan}");
        case.workspace.apply(&[]).expect_success();
        assert_ne!(mask(&case, "data.password"), masks[1]);
        assert_eq!(mask(&case, "data.user"), user);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn masks_of_version_0_1_plan_as_no_changes_and_the_next_apply_renews_them() {
    let case = Case::new("former-masks", Client::any()).await;
    case.object("db", &secret_with("hunter2"), "");
    case.workspace.apply(&[]).expect_success();
    case.edit_state("k8sconnect_object", |instance| {
        let private = instance["private"].as_str().unwrap();
        instance["private"] = json!(without_mask_key(private));
        let (namespace, projection) =
            (case.namespace.name(), &mut instance["attributes"]["managed_state_projection"]);
        for (key, value) in [("password", "aHVudGVyMg=="), ("user", "c2hvcA==")] {
            projection[format!("data.{key}")] = MaskKey::FORMER.mask(namespace, "db", key, value).into();
        }
    });
    for refresh in ["-refresh=true", "-refresh=false"] {
        case.workspace.plan(&["-detailed-exitcode", refresh]).expect_success();
    }
    // Drift is recognised by the old masks.
    let wanted = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}});
    case.namespace.merge_as("intruder", &wanted, &json!({"data": {"user": "cm9vdA=="}})).await;
    let plan = case.workspace.plan(&[]).expect_success().text();
    assert!(plan.contains("data.user: the value differs (modified by: intruder)"), "{plan}");
    assert!(!plan.contains("data.password: the value differs"), "{plan}");
    case.workspace.plan(&["-out=kept"]).expect_success();
    case.workspace.run(&["apply", "-no-color", "kept"]).expect_success();
    for field in ["data.password", "data.user"] {
        assert!(mask(&case, field).starts_with("(sensitive hmac:"), "{}", mask(&case, field));
    }
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

/// Terraform stores private state as base64 of a JSON object.
fn without_mask_key(private: &str) -> String {
    let mut keys: Value =
        serde_json::from_slice(&BASE64_STANDARD.decode(private).expect("base64")).expect("JSON");
    keys.as_object_mut().expect("an object").remove("mask_key").expect("a Secret has a key");
    BASE64_STANDARD.encode(keys.to_string())
}
