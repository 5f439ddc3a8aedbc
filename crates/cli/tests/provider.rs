//! `plimsoll` is the Terraform provider when it is called by that name.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;
use testkit::terraform::{Client, Workspace};
use testkit::{Sandbox, plimsoll};

const NAME: &str = "terraform-provider-k8sconnect";

/// The variables that go-plugin sets for every plugin.
const COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

#[tokio::test(flavor = "multi_thread")]
async fn a_link_named_like_the_provider_is_the_provider() {
    let sandbox = Sandbox::shared();
    let namespace = sandbox.namespace("link").await;
    // The workspace starts its providers through links with their names.
    let workspace = Workspace::new(Client::any(), &[("jmorris0x0/k8sconnect", &plimsoll())]);
    workspace.write(
        "main.tf",
        &format!(
            "provider \"k8sconnect\" {{\n  cluster = {{ config_paths = [{:?}] }}\n}}\n\nresource \"k8sconnect_object\" \"a\" {{\n  yaml_body \
             = <<-YAML\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {{name: a, namespace: {}}}\n  YAML\n}}\n",
            sandbox.kubeconfig().display().to_string(),
            namespace.name()
        ),
    );
    workspace.apply(&[]).expect_success();
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    assert!(namespace.get(&wanted).await.is_some());
    workspace.plan(&["-detailed-exitcode"]).expect_success();
    workspace.destroy().expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn terraform_works_with_both_contexts_of_a_sandbox() {
    let sandbox = Sandbox::shared();
    let namespace = sandbox.namespace("contexts").await;
    let workspace = Workspace::new(Client::any(), &[("jmorris0x0/k8sconnect", &plimsoll())]);
    let [certificate, token] = &sandbox.status().contexts[..] else { panic!("there are two contexts") };
    let connected = |(name, context): (&str, &String)| {
        format!(
            "provider \"k8sconnect\" {{\n  alias = {name:?}\n  cluster = {{ config_paths = [{:?}], context = {context:?} }}\n}}\n\n\
             resource \"k8sconnect_object\" {name:?} {{\n  provider = k8sconnect.{name}\n  yaml_body = <<-YAML\n    apiVersion: v1\n    \
             kind: ConfigMap\n    metadata: {{name: {name}, namespace: {}}}\n  YAML\n}}\n\n",
            sandbox.kubeconfig().display().to_string(),
            namespace.name()
        )
    };
    workspace.write("main.tf", &[("certificate", certificate), ("token", token)].map(connected).concat());
    workspace.apply(&[]).expect_success();
    for name in ["certificate", "token"] {
        let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        assert!(namespace.get(&wanted).await.is_some(), "{name}");
    }
    workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[test]
fn the_handshake_comes_before_the_arguments_are_parsed() {
    let folder = tempfile::tempdir().unwrap();
    // As in a registry's folder, with the version after the name.
    let link = folder.path().join(format!("{NAME}_v9.9.9"));
    std::os::unix::fs::symlink(plimsoll(), &link).unwrap();
    let mut command = Command::new(&link);
    command.env(COOKIE.0, COOKIE.1).env("PLUGIN_PROTOCOL_VERSIONS", "6").env_remove("PLUGIN_CLIENT_CERT");
    let mut process = command.arg("no-such-command").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(line.starts_with("1|6|unix|"), "{line}");

    let person = Command::new(&link).env_remove(COOKIE.0).output().unwrap();
    assert!(String::from_utf8_lossy(&person.stderr).contains("Terraform provider"), "{person:?}");
    let tool = Command::new(plimsoll()).arg("--version").env(COOKIE.0, COOKIE.1).output().unwrap();
    assert!(String::from_utf8_lossy(&tool.stdout).starts_with("plimsoll"), "{tool:?}");
}
