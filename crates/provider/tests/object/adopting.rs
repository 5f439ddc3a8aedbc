//! Existing objects: found, imported, or moved from other providers.

use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;

const BODY: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}\ndata: {k: v}";

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_exists_is_named_in_the_plan_and_can_be_imported() {
    for client in Client::all() {
        let case = Case::new("import", client).await;
        let wanted =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        case.namespace.apply_as("argocd", &wanted).await;
        case.object("a", BODY, "");
        let plan = case.workspace.plan(&[]).expect_success().text();
        assert!(plan.contains("Resource Already Exists"), "{plan}");
        let refused = case.workspace.apply(&[]).expect_failure().text();
        let id = format!(":{}:v1/ConfigMap:a", case.namespace.name());
        assert!(refused.contains("Error: Resource Already Exists") && refused.contains(&id), "{refused}");

        case.workspace.import("k8sconnect_object.a", &id).expect_success();
        let change = case.workspace.change("k8sconnect_object.a");
        assert_eq!(change["actions"], json!(["update"]), "{change}");
        case.workspace.apply(&[]).expect_success();
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        let live = case.namespace.get(&wanted).await.unwrap();
        let id = case.workspace.attributes("k8sconnect_object.a")["id"].clone();
        assert_eq!(live["metadata"]["annotations"]["k8sconnect.terraform.io/terraform-id"], id);
    }
}

/// A state of another provider with one resource named `old`, and a block that moves it to `k8sconnect_object.a`.
fn moved(case: &Case, provider: &str, type_name: &str, version: u8, attributes: &Value) {
    let host = case.workspace.registry();
    let state = json!({
        "version": 4, "terraform_version": "1.11.4", "serial": 1, "lineage": "00000000-0000-0000-0000-000000000000",
        "outputs": {}, "resources": [{
            "mode": "managed", "type": type_name, "name": "old", "provider": format!("provider[\"{host}/{provider}\"]"),
            "instances": [{"schema_version": version, "attributes": attributes, "sensitive_attributes": []}],
        }],
    });
    case.workspace.write("terraform.tfstate", &state.to_string());
    let block = format!("moved {{\n  from = {type_name}.old\n  to   = k8sconnect_object.a\n}}\n");
    case.workspace.write("moved.tf", &block);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_manifest_becomes_ours_with_everything_its_provider_held() {
    let strings = |names: &[&str]| -> serde_json::Map<String, Value> {
        names.iter().map(|name| ((*name).to_owned(), json!("string"))).collect()
    };
    let types = json!(["object", {
        "apiVersion": "string", "kind": "string", "metadata": ["object", strings(&["name", "namespace"])],
        "data": ["object", strings(&["k", "dropped"])],
    }]);
    for (client, source) in Client::all()
        .into_iter()
        .flat_map(|client| [(client.clone(), "kubernetes_manifest"), (client, "kubectl_manifest")])
    {
        let case = Case::new("moved", client).await;
        let manifest = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": case.namespace.name()},
            "data": {"k": "v", "dropped": "x"},
        });
        let former = if source == "kubectl_manifest" {
            let attributes = json!({
                "id": "/api/v1/x", "api_version": "v1", "kind": "ConfigMap", "name": "a", "namespace": case.namespace.name(),
                "yaml_body": manifest.to_string(), "server_side_apply": true, "field_manager": "kubectl", "force_new": false,
            });
            moved(&case, "gavinbunney/kubectl", source, 1, &attributes);
            "kubectl"
        } else {
            let value = json!({"type": types, "value": manifest});
            let attributes = json!({"manifest": value, "object": null, "field_manager": []});
            moved(&case, "hashicorp/kubernetes", source, 1, &attributes);
            "Terraform"
        };
        case.namespace.apply_as(former, &manifest).await;
        case.object("a", &BODY.replace("{k: v}", "{k: v, dropped: x}"), "");
        let change = case.workspace.change("k8sconnect_object.a");
        assert_eq!(change["actions"], json!(["update"]), "{source}: {change}");
        case.workspace.apply(&[]).expect_success();
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        let live = case.namespace.get(&manifest).await.unwrap();
        let managers: Vec<_> =
            live["metadata"]["managedFields"].as_array().unwrap().iter().map(|it| &it["manager"]).collect();
        assert_eq!(managers, ["k8sconnect"], "{source}");
        // Otherwise fields of the former manager would stay forever once they are dropped here.
        case.object("a", BODY, "");
        case.workspace.apply(&[]).expect_success();
        assert_eq!(case.namespace.get(&manifest).await.unwrap()["data"], json!({"k": "v"}), "{source}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_resource_is_moved_with_the_body_its_object_has() {
    for client in Client::all() {
        let case = Case::new("typed", client).await;
        let wanted =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        case.namespace.apply_as("HashiCorp", &wanted).await;
        let attributes = json!({"id": format!("{}/a", case.namespace.name()), "data": {"k": "v"}});
        moved(&case, "hashicorp/kubernetes", "kubernetes_config_map_v1", 0, &attributes);
        case.object("a", BODY, "");
        let change = case.workspace.change("k8sconnect_object.a");
        assert_eq!(change["actions"], json!(["update"]), "{change}");
        assert!(change["before"]["yaml_body"].as_str().is_some_and(|body| body.contains("k: v")), "{change}");
        case.workspace.apply(&[]).expect_success();
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_terraform_could_not_record_is_found_and_imported_by_the_reported_command() {
    let case = Case::new("lost", Client::any()).await;
    case.object("a", BODY, "");
    case.workspace.apply(&[]).expect_success();
    let id = case.workspace.attributes("k8sconnect_object.a")["id"].clone();
    std::fs::remove_file(case.workspace.path("terraform.tfstate")).unwrap();
    let found = case.workspace.apply(&[]).expect_failure().text();
    assert!(
        found.contains("Error: Resource Already Managed") && found.contains(id.as_str().unwrap()),
        "{found}"
    );
    let command =
        format!("terraform import k8sconnect_object.<name> ':{}:v1/ConfigMap:a'", case.namespace.name());
    assert!(found.contains(&command), "{found}");

    let imported =
        case.workspace.import("k8sconnect_object.a", &format!(":{}:v1/ConfigMap:a", case.namespace.name()));
    let imported = imported.expect_success().text();
    assert!(imported.contains("Importing Already-Managed Resource"), "{imported}");
    assert_eq!(case.workspace.attributes("k8sconnect_object.a")["id"], id);
    case.workspace.apply(&[]).expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_resources_with_the_same_object_is_rejected() {
    for client in Client::all() {
        let case = Case::new("twice", client).await;
        case.object("a", BODY, "");
        case.object("b", &BODY.replace("k: v", "k: w"), "");
        let refused = case.workspace.apply(&[]).expect_failure().text();
        assert!(refused.contains("Error: Resource Already Managed"), "{refused}");
        let states = ["a", "b"].map(|name| case.workspace.attributes(&format!("k8sconnect_object.{name}")));
        assert_eq!(states.iter().filter(|state| state.is_null()).count(), 1, "{states:?}");
        // The current owner keeps it.
        let name = if states[0].is_null() { "a" } else { "b" };
        case.workspace.write(&format!("{name}.tf"), "");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_came_after_the_plan_is_named_by_the_apply() {
    for client in Client::all() {
        let case = Case::new("meanwhile", client).await;
        case.object("a", BODY, "");
        case.object("b", &BODY.replace("k: v", "k: w"), "depends_on = [k8sconnect_object.a]");
        let refused = case.workspace.apply(&[]).expect_failure().text();
        assert!(refused.contains("Error: Resource Already Managed"), "{refused}");
        assert!(!refused.contains("inconsistent"), "{refused}");

        // Another client creates it between a saved plan and its apply.
        case.workspace.write("b.tf", "");
        case.object("c", &BODY.replace("name: a", "name: c"), "");
        case.workspace.plan(&["-out=kept"]).expect_success();
        let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "theirs"}});
        case.namespace.apply_as("argocd", &theirs).await;
        let refused = case.workspace.run(&["apply", "-no-color", "kept"]).expect_failure().text();
        assert!(refused.contains("Error: Resource Already Exists"), "{refused}");
        assert!(!refused.contains("inconsistent"), "{refused}");
        assert_eq!(case.namespace.get(&theirs).await.unwrap()["data"], json!({"k": "theirs"}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_imported_by_context_and_by_identity() {
    let sandbox = testkit::Sandbox::shared();
    let context = String::from_utf8(sandbox.kubectl(&["config", "current-context"]).stdout).unwrap();
    let case = Case::new("by-context", Client::any()).await;
    let wanted =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    case.namespace.apply_as("argocd", &wanted).await;
    case.object("a", BODY, "");
    let id = format!("{}:{}:v1/ConfigMap:a", context.trim(), case.namespace.name());
    let mut command = case.workspace.command();
    command.env("KUBECONFIG", sandbox.kubeconfig());
    let output = command.args(["import", "-no-color", "k8sconnect_object.a", &id]).output().unwrap();
    testkit::terraform::Run::from_output("import", &output).expect_success();
    assert_eq!(case.workspace.attributes("k8sconnect_object.a")["cluster"]["context"], context.trim());

    // Only OpenTofu supports identities in import blocks.
    let case = Case::new("by-identity", Client::tofu()).await;
    case.namespace.apply_as("argocd", &wanted).await;
    case.object("a", BODY, "");
    let identity =
        format!("{{ kind = \"ConfigMap\", namespace = {:?}, name = \"a\" }}", case.namespace.name());
    case.workspace.write(
        "import.tf",
        &format!("import {{\n  to       = k8sconnect_object.a\n  identity = {identity}\n}}\n"),
    );
    case.workspace.apply(&[]).expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_namespace_in_an_import_id_is_ignored_for_cluster_scoped_kinds() {
    let case = Case::new("scopeless", Client::any()).await;
    case.object("a", "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS}", "");
    let id = format!(":default:v1/Namespace:{}", case.namespace.name());
    case.workspace.import("k8sconnect_object.a", &id).expect_success();
    assert!(case.workspace.attributes("k8sconnect_object.a")["object_ref"]["namespace"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_is_generated_for_an_import_can_be_applied() {
    for client in Client::all() {
        let case = Case::new("generate", client).await;
        let wanted =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        case.namespace.apply_as("argocd", &wanted).await;
        let id = format!(":{}:v1/ConfigMap:a", case.namespace.name());
        case.workspace
            .write("import.tf", &format!("import {{\n  to = k8sconnect_object.a\n  id = {id:?}\n}}\n"));
        case.workspace.plan(&["-generate-config-out=generated.tf"]).expect_success();
        case.workspace.apply(&[]).expect_success();
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
        assert!(case.workspace.attributes("k8sconnect_object.a")["cluster"].is_null());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_object_is_taken_over_from_kubectl_apply() {
    let case = Case::new("client-side", Client::any()).await;
    let applied = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v", "dropped": "x"},
    });
    case.workspace.write("object.json", &applied.to_string());
    let path = case.workspace.path("object.json");
    case.namespace.kubectl(&["apply", "-f", path.to_str().unwrap()]).unwrap();
    case.object("a", BODY, "");
    case.workspace
        .import("k8sconnect_object.a", &format!(":{}:v1/ConfigMap:a", case.namespace.name()))
        .expect_success();
    let plan = case.workspace.plan(&[]).expect_success().text();
    assert!(plan.contains("Taking Over from kubectl apply") && plan.contains("data.dropped"), "{plan}");
    case.workspace.apply(&[]).expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    let live = case.namespace.get(&applied).await.unwrap();
    assert_eq!(live["data"], json!({"k": "v"}), "{live}");
    assert!(!live.to_string().contains("last-applied-configuration"), "{live}");
}
