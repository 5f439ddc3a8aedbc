//! Errors that a plan does not hide, and validation errors with a position.

use testkit::terraform::Client;

use crate::case::Case;

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_shows_what_the_server_would_refuse() {
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
async fn a_reader_plans_an_object_that_is_as_written() {
    let case = Case::new("reader", Client::any()).await;
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}\ndata: {k: v}";
    case.object("a", body, "");
    case.workspace.apply(&[]).expect_success();

    let kubectl = |arguments: &[&str]| case.namespace.kubectl(arguments).unwrap();
    kubectl(&["create", "serviceaccount", "reader"]);
    kubectl(&["create", "role", "reader", "--verb=get,list", "--resource=configmaps"]);
    let account = format!("--serviceaccount={}:reader", case.namespace.name());
    kubectl(&["create", "rolebinding", "reader", "--role=reader", &account]);
    let token = kubectl(&["create", "token", "reader"]);
    let host = kubectl(&["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    let (host, token) = (host.trim(), token.trim());
    case.provider(&format!("cluster = {{ host = {host:?}, insecure = true, token = {token:?} }}"));

    // The last answer is outdated, and no dry run is allowed; what is written is there.
    case.object("a", body, "ignore_fields = [\"data.other\"]");
    let planned = case.workspace.plan(&[]).expect_success().text();
    assert!(planned.contains("0 to add, 1 to change, 0 to destroy"), "{planned}");
    let warning = format!("ConfigMap {}/a was only compared locally", case.namespace.name());
    assert!(planned.contains(&warning), "{planned}");

    // With the list of webhooks and policies, none of which concerns the kind, the local comparison is enough.
    let role = format!("lister-of-{}", case.namespace.name());
    let kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations,mutatingadmissionpolicies,validatingadmissionpolicies";
    kubectl(&["create", "clusterrole", &role, "--verb=list", &format!("--resource={kinds}")]);
    kubectl(&["create", "clusterrolebinding", &role, &format!("--clusterrole={role}"), &account]);
    let planned = case.workspace.plan(&[]).expect_success().text();
    kubectl(&["delete", "clusterrole,clusterrolebinding", &role]);
    assert!(planned.contains("0 to add, 1 to change, 0 to destroy"), "{planned}");
    assert!(!planned.contains("was only compared locally"), "{planned}");

    case.object("a", &body.replace("k: v", "k: w"), "");
    let refused = case.workspace.plan(&[]).expect_failure().text();
    assert!(refused.contains("Plan: Insufficient Permissions"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_has_the_known_title_and_a_path() {
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

/// Regular expressions from users' tests for a client's output, where `.` does not match line ends.
#[tokio::test(flavor = "multi_thread")]
async fn texts_that_users_match_are_not_broken_by_line_ends() {
    for client in Client::all() {
        let case = Case::new("texts", client).await;
        let check = |output: String, expression: &str| {
            let expression = regex::Regex::new(expression).unwrap();
            assert!(expression.is_match(&output), "{expression}: {output}");
        };
        let good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}";
        case.object("a", good, "cluster = { host = \"https://127.0.0.1:99999\" }");
        let refused = || case.workspace.plan(&[]).expect_failure().output();
        check(refused(), "(?i)(connection.*failed|connect.*cluster|dial tcp)");
        case.workspace.write("a.tf", "resource \"k8sconnect_object\" \"a\" {\n  yaml_body = \"\"\n}\n");
        let empty = case.workspace.apply(&[]).expect_failure().output();
        check(empty, "yaml_body.*empty|cannot be empty");

        case.workspace.write(
            "a.tf",
            r#"
            data "k8sconnect_yaml_split" "several" {
              content = "a"
              pattern = "b"
            }
            "#,
        );
        check(
            refused(),
            r"Exactly one of 'content', 'pattern', or\s+'kustomize_path'\s+must\s+be\s+specified",
        );
        case.workspace.write(
            "a.tf",
            r#"
            data "k8sconnect_yaml_split" "files" {
              pattern = "nothing/**/*.yaml"
            }
            data "k8sconnect_yaml_scoped" "built" {
              kustomize_path = "nowhere"
            }
            data "k8sconnect_yaml_split" "empty" {
              content = "\# nothing"
            }
            data "k8sconnect_yaml_split" "twice" {
              content = "kind: A\nmetadata: {name: a}\n---\nkind: A\nmetadata: {name: a}\n"
            }
            "#
            .replace("\\#", "#")
            .as_str(),
        );
        let all = refused();
        for text in [
            "No files matched pattern",
            "failed to build kustomization",
            "No Kubernetes resources found in YAML content",
            "duplicate resource ID \"a.a\"",
            "Manifest Generation Error",
            "Document Loading Error",
        ] {
            check(all.clone(), &regex::escape(text));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_value_a_missing_field_and_a_bad_quantity_are_called_that() {
    let case = Case::new("advice", Client::any()).await;
    let check = |body: &str, expected: &[&str]| {
        case.object("a", body, "");
        let refused = case.workspace.plan(&[]).expect_failure().text();
        let text = refused.replace("│", " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(expected.iter().all(|words| text.contains(words)), "{refused}");
        assert!(!text.contains("Check the spelling"), "{refused}");
    };
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: NS}\nspec: ";
    check(
        &format!("{service}{{type: Balancer, ports: [{{port: 80}}]}}"),
        &["Set spec.type to one of its allowed values: ", "\"LoadBalancer\""],
    );
    check(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: NS}\nspec: {containers: [{name: a}]}",
        &["Set spec.containers[0].image, which is required."],
    );
    check(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: NS}\nspec: {containers: [{name: a, image: a, resources: \
         {limits: {memory: 128 MB}}}]}",
        &["Field: spec.containers[name=a].resources.limits.memory", "\"128 MB\" is not a quantity"],
    );
}
