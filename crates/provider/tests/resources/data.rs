use serde_json::json;
use testkit::Sandbox;
use testkit::terraform::{Client, Run};

use crate::case::{Case, crd};

#[tokio::test(flavor = "multi_thread")]
async fn manifests_are_split_and_objects_are_read() {
    for client in Client::all() {
        let case = Case::new("data", client).await;
        let folder = case.workspace.path("base");
        std::fs::create_dir(&folder).unwrap();
        case.workspace.write("base/kustomization.yaml", "namePrefix: dev-\nresources: [config.yaml]\n");
        case.workspace
            .write("base/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: built\n");
        case.workspace.write(
            "main.tf",
            &r#"
            data "k8sconnect_yaml_split" "files" {
              pattern = "${path.module}/base/con*.yaml"
            }

            data "k8sconnect_yaml_scoped" "text" {
              content = <<-YAML
                apiVersion: v1
                kind: Namespace
                metadata:
                  name: shop
                ---
                apiVersion: v1
                kind: ConfigMap
                metadata:
                  name: settings
                  namespace: shop
              YAML
            }

            data "k8sconnect_yaml_split" "built" {
              kustomize_path = "${path.module}/base"
            }

            data "k8sconnect_object" "account" {
              api_version = "v1"
              kind        = "ServiceAccount"
              name        = "default"
              namespace   = "NS"
            }
            "#
            .replace("NS", case.namespace.name()),
        );
        // The control plane's own kubectl builds the kustomization, whatever else is installed.
        let bin = Sandbox::shared().layout().bin();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        let mut apply = case.workspace.command();
        apply.env("PATH", path).args(["apply", "-no-color", "-input=false", "-auto-approve"]);
        Run::from_output("apply", &apply.output().unwrap()).expect_success();
        let keys = |address: &str, attribute: &str| -> Vec<String> {
            let attributes = case.workspace.attributes(address);
            attributes[attribute]
                .as_object()
                .unwrap_or_else(|| panic!("{attributes}"))
                .keys()
                .cloned()
                .collect()
        };
        assert_eq!(keys("data.k8sconnect_yaml_split.files", "manifests"), ["configmap.built"]);
        assert_eq!(keys("data.k8sconnect_yaml_split.built", "manifests"), ["configmap.dev-built"]);
        assert_eq!(keys("data.k8sconnect_yaml_scoped.text", "cluster_scoped"), ["namespace.shop"]);
        assert_eq!(keys("data.k8sconnect_yaml_scoped.text", "namespaced"), ["configmap.shop.settings"]);
        let account = case.workspace.attributes("data.k8sconnect_object.account");
        assert_eq!(account["object"]["metadata"]["name"], "default");
        assert_eq!(account["object"]["metadata"]["managedFields"], json!(null));
        assert!(account["yaml_body"].as_str().unwrap().contains("kind: ServiceAccount"));
        let manifest: serde_json::Value =
            serde_json::from_str(account["manifest"].as_str().unwrap()).unwrap();
        assert_eq!(manifest["metadata"]["namespace"], case.namespace.name());

        // On a machine with neither kustomize nor kubectl, the plan says what to install and why.
        let empty = case.workspace.path("nothing");
        std::fs::create_dir(&empty).unwrap();
        let plan = || {
            let mut plan = case.workspace.command();
            plan.env("PATH", &empty).args(["plan", "-no-color", "-input=false"]);
            Run::from_output("plan", &plan.output().unwrap())
        };
        let refused = plan().expect_failure().text();
        assert!(refused.contains("failed to build kustomization"), "{refused}");
        assert!(refused.contains("neither kustomize nor kubectl is installed on this machine"), "{refused}");
        assert!(refused.contains("exist only as a Go library. Install kustomize"), "{refused}");
        // Even if the folder is known only after the apply.
        let late = "resource \"terraform_data\" \"x\" {}\ndata \"k8sconnect_yaml_split\" \"late\" {\n  kustomize_path = terraform_data.x.id\n}\n";
        case.workspace.write("main.tf", late);
        let warned = plan().expect_success().text();
        assert!(warned.contains("Warning: Kustomize Not Installed"), "{warned}");
        assert!(warned.contains("neither kustomize nor kubectl is installed on this machine"), "{warned}");

        case.workspace.write("main.tf", "data \"k8sconnect_object\" \"none\" {\n  api_version = \"v1\"\n  kind = \"ConfigMap\"\n  name = \"none\"\n}\n");
        let absent = case.workspace.plan(&[]).expect_failure().text();
        assert!(absent.contains("Read Resource: Resource Not Found"), "{absent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_source_waits_and_another_reads_all_objects() {
    let case = Case::new("data-wait", Client::any()).await;
    let mut settings =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"app": "web"}}});
    settings["data"] = json!({"level": "info"});
    case.namespace.apply_as("team", &settings).await;
    let config = r#"
        data "k8sconnect_object" "a" {
          api_version = "v1"
          kind        = "ConfigMap"
          name        = "a"
          namespace   = "NS"
          wait_for    = { field = "FIELD", timeout = "1s" }
        }

        data "k8sconnect_objects" "all" {
          api_version    = "v1"
          kind           = "ConfigMap"
          namespace      = "NS"
          label_selector = "app=web"
        }

        output "level" { value = data.k8sconnect_object.a.object.data.level }
        output "all" { value = join(" ", keys(data.k8sconnect_objects.all.objects)) }
        "#
    .replace("NS", case.namespace.name());
    case.workspace.write("main.tf", &config.replace("FIELD", "data.absent"));
    let failed = case.workspace.plan(&[]).expect_failure().text();
    assert!(failed.contains("was not populated within 1s"), "{failed}");
    case.workspace.write("main.tf", &config.replace("FIELD", "data.level"));
    let applied = case.workspace.apply(&[]).expect_success().text();
    assert!(applied.contains("level = \"info\""), "{applied}");
    assert!(applied.contains(&format!("all = \"{}/a\"", case.namespace.name())), "{applied}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_source_waits_for_a_kind_that_does_not_exist_yet() {
    let case = Case::new("data-kind", Client::any()).await;
    let group = format!("{}.example.com", case.namespace.name());
    let read = |timeout: &str, more: &str| {
        let text = format!(
            "data \"k8sconnect_object\" \"w\" {{\n  api_version = \"{group}/v1\"\n  kind = \"Widget\"\n  name = \"a\"\n  \
             namespace = {:?}\n  wait_for = {{ field = \"spec.size\", timeout = {timeout:?} }}\n  {more}\n}}\n",
            case.namespace.name()
        );
        case.workspace.write("read.tf", &text);
    };
    read("1s", "");
    let late = case.workspace.plan(&[]).expect_failure().text();
    assert!(late.contains("was not installed within 1s"), "{late}");
    read("30s", "depends_on = [terraform_data.later]");
    case.workspace.write("later.tf", "resource \"terraform_data\" \"later\" {}\n");
    case.object("widgets", &crd("widgets", "Widget"), "");
    case.object(
        "a",
        "apiVersion: NS.example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: NS}\nspec: {size: 3}",
        "depends_on = [k8sconnect_object.widgets]",
    );
    case.workspace.apply(&[]).expect_success();
    assert_eq!(case.workspace.attributes("data.k8sconnect_object.w")["object"]["spec"]["size"], 3);
}
