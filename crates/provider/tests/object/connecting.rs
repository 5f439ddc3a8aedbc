//! Connections that are not known yet, have expired, or lead elsewhere.

use serde_json::{Value, json};
use testkit::Sandbox;
use testkit::terraform::{Client, Run};

use crate::case::Case;

const BODY: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}\ndata: {k: v}";

#[tokio::test(flavor = "multi_thread")]
async fn ignore_fields_may_be_known_only_at_apply() {
    for client in Client::all() {
        let case = Case::new("ignoring", client).await;
        let write = |trigger: &str, fields: &str| {
            let data = format!(
                "resource \"terraform_data\" \"x\" {{\n  triggers_replace = {trigger:?}\n  input = [{fields}]\n}}\n"
            );
            case.workspace.write("x.tf", &data);
        };
        write("one", "\"data.k\"");
        case.object("a", &BODY.replace("k: v", "k: v, l: v"), "ignore_fields = terraform_data.x.output");
        case.workspace.apply(&[]).expect_success();
        let projection = case.workspace.attributes("k8sconnect_object.a")["managed_state_projection"].clone();
        assert!(projection["data.k"].is_null() && projection["data.l"] == "v", "{projection}");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        write("two", "\"data.l\"");
        case.workspace.apply(&[]).expect_success();
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_known_only_at_apply_are_planned_without_warnings() {
    let case = Case::new("unknown", Client::any()).await;
    let kubeconfig = Sandbox::shared().kubeconfig();
    case.workspace.write("provider.tf", "");
    case.workspace.write(
        "cluster.tf",
        &format!(
            "resource \"terraform_data\" \"cluster\" {{\n  input = file({:?})\n}}\n",
            kubeconfig.display().to_string()
        ),
    );
    let context = Sandbox::shared().kubectl(&["config", "current-context"]).stdout;
    let context = String::from_utf8(context).unwrap();
    case.object(
        "a",
        &BODY.replace("k: v", "k: ${terraform_data.cluster.id}"),
        &format!(
            "cluster = {{ kubeconfig = terraform_data.cluster.output, context = {:?} }}",
            context.trim()
        ),
    );
    case.workspace.apply(&[]).expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();

    // Expired credentials in the state: the prior state is used, and the new credentials are stored.
    let view = Sandbox::shared().kubectl(&["config", "view", "--raw", "--minify", "-o", "json"]).stdout;
    let mut expired: Value = serde_json::from_slice(&view).unwrap();
    expired["users"][0]["user"] = json!({"token": "expired"});
    case.edit_state("k8sconnect_object", |instance| {
        instance["attributes"]["cluster"]["kubeconfig"] = json!(expired.to_string());
    });
    let renewed = case.workspace.apply(&[]).expect_success().text();
    assert!(renewed.contains("Read: Using Prior State — Authentication Failed"), "{renewed}");
    assert!(!renewed.contains("destroyed") || renewed.contains("0 destroyed"), "{renewed}");
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_or_different_connection_removes_nothing_from_the_state() {
    let case = Case::new("elsewhere", Client::any()).await;
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    case.object("a", BODY, "");
    case.workspace.apply(&[]).expect_success();
    let provider = std::fs::read_to_string(case.workspace.path("provider.tf")).unwrap();

    // A host that does not respond: neither a read nor a destroy concludes anything from that.
    let nowhere = "provider \"k8sconnect\" {\n  cluster = { host = \"https://127.0.0.1:1\", insecure = true, token = \"x\" }\n}\n";
    case.workspace.write("provider.tf", nowhere);
    let destroyed = case
        .workspace
        .run(&["destroy", "-no-color", "-auto-approve", "-refresh=false"])
        .expect_failure()
        .text();
    assert!(destroyed.contains("Cluster Connection Failed"), "{destroyed}");
    let planned = case.workspace.plan(&[]).expect_failure().text();
    assert!(planned.contains("Cluster Connection Failed"), "{planned}");
    case.workspace.write("provider.tf", &provider);

    // Another cluster, by the stored uid of the right one: {"cluster_uid": base64("\"elsewhere\"")}.
    case.edit_state("k8sconnect_object", |instance| {
        instance["private"] = json!("eyJjbHVzdGVyX3VpZCI6IkltVnNjMlYzYUdWeVpTST0ifQ==");
    });
    case.namespace.kubectl(&["delete", "configmap", "a"]).unwrap();
    let planned = case.workspace.plan(&[]).expect_failure().text();
    assert!(planned.contains("Cluster Changed"), "{planned}");
    assert!(!case.workspace.attributes("k8sconnect_object.a").is_null());

    // A resource's own connection that leads elsewhere replaces the object.
    case.namespace.apply_as("k8sconnect", &json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}, "metadata": {"name": "a", "annotations": {
            "k8sconnect.terraform.io/terraform-id": case.workspace.attributes("k8sconnect_object.a")["id"],
        }},
    })).await;
    let context = Sandbox::shared().kubectl(&["config", "current-context"]).stdout;
    let kubeconfig = Sandbox::shared().kubeconfig();
    let cluster = format!(
        "cluster = {{ kubeconfig = file({:?}), context = {:?} }}",
        kubeconfig.display().to_string(),
        String::from_utf8(context).unwrap().trim()
    );
    case.object("a", BODY, &cluster);
    let change = case.workspace.change("k8sconnect_object.a");
    assert_eq!(change["actions"], json!(["delete", "create"]), "{change}");
    assert_eq!(change["replace_paths"], json!([["cluster"]]), "{change}");
    assert!(case.namespace.get(&wanted).await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inline_kubeconfig_is_used_with_its_current_context() {
    let case = Case::new("current", Client::any()).await;
    let text = std::fs::read_to_string(Sandbox::shared().kubeconfig()).unwrap();
    let view = Sandbox::shared().kubectl(&["config", "view", "--raw", "-o", "json"]).stdout;
    let mut kubeconfig: Value =
        serde_json::from_slice(&view).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut other = kubeconfig["contexts"][0].clone();
    other["name"] = json!("other");
    kubeconfig["contexts"].as_array_mut().unwrap().push(other);
    case.workspace.write("kubeconfig.json", &kubeconfig.to_string());
    case.provider("");
    let own = |more: &str| format!("cluster = {{ kubeconfig = file(\"kubeconfig.json\"){more} }}");
    case.object("a", BODY, &own(""));
    case.workspace.apply(&[]).expect_success();

    // `exec` beside a kubeconfig replaces its user, and the message says so.
    let exec = "exec = { api_version = \"client.authentication.k8s.io/v1\", command = \"true\" }";
    case.object("a", BODY, &own(&format!(", {exec}")));
    let failed = case.workspace.plan(&["-refresh=false"]).expect_failure().text();
    let text = failed.replace("│", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("`exec` overrides the user of the kubeconfig"), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_problem_of_a_kubeconfig_is_reported_once() {
    let case = Case::new("once", Client::any()).await;
    case.provider("cluster = { config_paths = [\"/nowhere/kubeconfig\"] }");
    for name in ["a", "b", "c"] {
        case.object(name, &BODY.replace("name: a", &format!("name: {name}")), "");
    }
    let failed = case.workspace.plan(&[]).expect_failure().text();
    assert_eq!(failed.matches("Error: ").count(), 1, "{failed}");
    assert!(failed.contains("/nowhere/kubeconfig"), "{failed}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_long_temporary_folder_is_no_obstacle() {
    for client in Client::all() {
        let case = Case::new("long-path", client).await;
        case.object("a", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}", "");
        // The path of a socket has at most about 100 bytes.
        let long = case.workspace.path(&"x".repeat(120));
        std::fs::create_dir(&long).unwrap();
        let mut command = case.workspace.command();
        command.env("TMPDIR", &long).args(["apply", "-no-color", "-input=false", "-auto-approve"]);
        Run::from_output("apply", &command.output().unwrap()).expect_success();
    }
}
