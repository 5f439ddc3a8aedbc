//! Ephemeral resources and functions: what Terraform uses while it runs.

use std::path::Path;
use std::time::Duration;

use sandbox::{Environment, UpRequest};
use serde_json::{Value, json};
use testkit::Sandbox;
use testkit::terraform::{Client, Run};

use crate::case::Case;

/// The configuration of a chapter, for the namespace of a test.
fn chapter(name: &str, case: &Case) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src").join(name);
    let text = std::fs::read_to_string(path).expect("the chapter exists");
    let begin = text.find("```terraform\n").expect("a block") + "```terraform\n".len();
    let end = begin + text[begin..].find("```").expect("the end of the block");
    let quoted = format!("\"{}\"", case.namespace.name());
    let named = format!("namespace: {}", case.namespace.name());
    text[begin..end].replace("\"shop\"", &quoted).replace("namespace: shop", &named)
}

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_of_the_chapter_has_no_secret() {
    for client in Client::all() {
        let case = Case::new("secretless", client).await;
        case.namespace.kubectl(&["create", "serviceaccount", "deployer"]).unwrap();
        let account = format!("--serviceaccount={}:deployer", case.namespace.name());
        case.namespace
            .kubectl(&["create", "rolebinding", "deployer", "--clusterrole=admin", &account])
            .unwrap();
        case.namespace
            .kubectl(&["create", "secret", "generic", "database", "--from-literal=password=hunter2"])
            .unwrap();
        let view = Sandbox::shared().kubectl(&["config", "view", "--raw", "--minify", "-o", "json"]).stdout;
        let view: Value = serde_json::from_slice(&view).unwrap();
        let server = &view["clusters"][0]["cluster"];
        let ca = case
            .namespace
            .kubectl(&["get", "configmap", "kube-root-ca.crt", "-o", "jsonpath={.data.ca\\.crt}"])
            .unwrap();
        case.workspace.write("provider.tf", &chapter("secrets.md", &case));
        let run = |arguments: &[&str]| {
            let mut command = case.workspace.command();
            command
                .env("KUBECONFIG", Sandbox::shared().kubeconfig())
                .env("TF_VAR_host", server["server"].as_str().unwrap())
                .env("TF_VAR_ca_certificate", &ca)
                .args(arguments);
            Run::from_output(arguments.join(" "), &command.output().unwrap()).expect_success()
        };
        let applied = run(&["apply", "-no-color", "-input=false", "-auto-approve"]);
        let live = case.namespace.get(&secret("app")).await.unwrap();
        assert_eq!(live["data"]["password"], "aHVudGVyMg==");
        run(&["plan", "-no-color", "-input=false", "-detailed-exitcode"]);
        let state = std::fs::read_to_string(case.workspace.path("terraform.tfstate")).unwrap();
        for text in [&state, &applied.output()] {
            // Tokens are JSON web tokens, which begin with `eyJhbGciOi` in base64.
            for secret in ["hunter2", "aHVudGVyMg==", "eyJhbGciOi"] {
                assert!(!text.contains(secret), "{secret} is in {text}");
            }
        }
        run(&["destroy", "-no-color", "-input=false", "-auto-approve"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ephemeral_object_waits_and_is_not_shown() {
    let case = Case::new("ephemeral", Client::any()).await;
    let config = r#"
        ephemeral "k8sconnect_token" "default" {
          name      = "default"
          namespace = "NS"
          audiences = ["https://kubernetes.default.svc"]
          lifetime  = "20m"
        }

        ephemeral "k8sconnect_object" "absent" {
          api_version = "v1"
          kind        = "Secret"
          name        = "absent"
          namespace   = "NS"
          wait_for    = { field = "data.password", timeout = "1s" }
        }
        "#
    .replace("NS", case.namespace.name());
    case.workspace.write("main.tf", &config);
    let failed = case.workspace.plan(&[]).expect_failure().text();
    assert!(failed.contains("within 1s"), "{failed}");
    case.namespace
        .kubectl(&["create", "secret", "generic", "absent", "--from-literal=password=hunter2"])
        .unwrap();
    let planned = case.workspace.plan(&[]).expect_success();
    assert!(!planned.output().contains("hunter2"), "{}", planned.output());
}

/// In a sandbox of its own, whose API server limits lifetimes.
#[tokio::test(flavor = "multi_thread")]
async fn a_lifetime_that_the_server_shortens_is_a_warning_and_a_token_without_a_name_an_error() {
    let name = format!("tokens-{}", std::process::id()).parse().unwrap();
    let mut request = UpRequest::new(name, testkit::plimsoll());
    request.linger = Some(Duration::from_secs(5));
    request.apiserver_args = vec![("service-account-max-token-expiration".to_owned(), "1h".to_owned())];
    let environment = Environment::from_process().unwrap();
    let up = sandbox::up(&environment, &request, &mut |_| {}).unwrap();
    let layout = sandbox::Layout::new(&environment, &up.status.name);
    let kubeconfig = layout.kubeconfig().display().to_string();
    let mut create = std::process::Command::new(layout.bin().join("kubectl"));
    create.args([
        "--kubeconfig",
        &kubeconfig,
        "--namespace=kube-system",
        "create",
        "serviceaccount",
        "deployer",
    ]);
    Run::from_output("kubectl create", &create.output().unwrap()).expect_success();
    let case = Case::new("lifetime", Client::any()).await;
    case.provider(&format!("cluster = {{ config_paths = [{kubeconfig:?}] }}"));
    let token = |name: &str, lifetime: &str| {
        let text = format!(
            "ephemeral \"k8sconnect_token\" \"a\" {{\n  name = {name:?}\n  namespace = \"kube-system\"\n  lifetime = {lifetime:?}\n}}\n"
        );
        case.workspace.write("main.tf", &text);
    };
    token("deployer", "2h");
    let shortened = case.workspace.plan(&[]).expect_success().text();
    assert!(shortened.contains("Warning: Token Lifetime Shortened"), "{shortened}");
    assert!(shortened.contains("granted 3600 s instead of 7200 s"), "{shortened}");
    token("deployer", "30m");
    let granted = case.workspace.plan(&[]).expect_success().text();
    assert!(!granted.contains("Token Lifetime Shortened"), "{granted}");
    token("", "30m");
    let nameless = case.workspace.plan(&[]).expect_failure().text();
    assert!(nameless.contains("Invalid Name"), "{nameless}");
    drop(up.lease);
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_need_no_cluster() {
    for client in Client::all() {
        let case = Case::new("functions", client).await;
        case.workspace.write("provider.tf", "");
        case.workspace.write(
            "main.tf",
            r#"
            locals {
              manifests = <<-YAML
                apiVersion: v1
                kind: Namespace
                metadata: {name: shop}
                ---
                apiVersion: v1
                kind: ConfigMap
                metadata: {name: a, namespace: shop}
                data: {enabled: "yes"}
              YAML
              split  = provider::k8sconnect::yaml_split(local.manifests)
              scoped = provider::k8sconnect::yaml_scoped(local.manifests)
              object = provider::k8sconnect::decode(local.split["configmap.shop.a"])
            }
            output "keys" { value = join(" ", keys(local.split)) }
            output "crds" { value = length(local.scoped.crds) }
            output "cluster" { value = join(" ", keys(local.scoped.cluster_scoped)) }
            output "data" { value = provider::k8sconnect::encode(local.object.data) }
            output "owners" { value = length(provider::k8sconnect::owners(local.object)) }
            "#,
        );
        let applied = case.workspace.apply(&[]).expect_success().text();
        for expected in [
            "keys = \"configmap.shop.a namespace.shop\"",
            "crds = 0",
            "cluster = \"namespace.shop\"",
            "enabled: \"yes\"",
            "owners = 0",
        ] {
            assert!(applied.contains(expected), "{expected}: {applied}");
        }
        case.workspace
            .write("bad.tf", "output \"bad\" {\n  value = provider::k8sconnect::decode(\"a: [\")\n}\n");
        let failed = case.workspace.plan(&[]).expect_failure().text();
        assert!(failed.contains("line 1, column 4 of text"), "{failed}");
        assert!(!failed.contains(".."), "{failed}");
    }
}
