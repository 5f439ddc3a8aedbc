//! What a plan does not hide, and what validation says with a place.

use testkit::terraform::Client;

use crate::case::Case;

#[tokio::test(flavor = "multi_thread")]
async fn bug_10_a_plan_shows_what_the_server_would_refuse() {
    let case = Case::new("refuse", Client::any()).await;
    case.namespace.kubectl(&["create", "quota", "none", "--hard=count/services=0"]).unwrap();
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: NS}\nspec: {ports: [{port: 80}]}";
    case.namespace
        .until(
            &serde_json::json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}),
            "the quota is counted",
            |quota| quota.is_some_and(|quota| quota["status"]["hard"].is_object()),
        )
        .await;
    case.object("a", service, "");
    let refused = case.workspace.plan(&[]).expect_failure().text();
    assert!(
        refused.contains("Plan: Insufficient Permissions") && refused.contains("exceeded quota"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_has_the_title_people_know_and_a_place() {
    let case = Case::new("invalid", Client::any()).await;
    let good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}";
    let check = |body: &str, attributes: &str, expected: &[&str]| {
        case.object("a", body, attributes);
        let refused = case.workspace.validate().expect_failure().text();
        for words in expected {
            assert!(refused.contains(words), "{words}: {refused}");
        }
    };
    check(&format!("{good}\ndata: ["), "", &["Invalid YAML", "line 4, column 7 of yaml_body"]);
    check(
        &format!("{good}\nstatus: {{}}"),
        "ignore_fields = [\"spec[\"]\ndelete_timeout = \"soon\"\ndelete_protection = true\nforce_destroy = true",
        &[
            "Server-managed fields not allowed in yaml_body",
            "Invalid Field Path Syntax",
            "Invalid Duration",
            "Conflicting Deletion Settings",
        ],
    );
    check(
        good,
        "ignore_fields = [\"metadata.annotations.k8sconnect.terraform.io/terraform-id\"]\ncluster = { host = \"nowhere\" }",
        &[
            "Cannot ignore provider internal annotations",
            "Invalid URL",
            "Invalid Cluster Connection Configuration",
            "inline connection incomplete",
        ],
    );
    check(
        good,
        "cluster = {}",
        &["Missing Cluster Connection Configuration", "Missing Required Configuration Block"],
    );
    case.workspace.write("a.tf", "resource \"k8sconnect_object\" \"a\" {\n  yaml_body = \"\"\n}\n");
    case.workspace.validate().expect_success();
    let empty = case.workspace.apply(&[]).expect_failure().text();
    assert!(
        empty.contains("Invalid Configuration") && empty.contains("yaml_body attribute cannot be empty"),
        "{empty}"
    );
}
