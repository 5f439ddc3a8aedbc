//! Deferral, which Terraform 1.14 has as an experiment.

use testkit::Sandbox;
use testkit::terraform::Client;

use crate::case::Case;

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_connection_or_body_is_deferred_where_terraform_allows_it() {
    let case = Case::new("deferral", Client::terraform_1_14()).await;
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}\ndata: {k: \"${terraform_data.x.id}\"}";
    case.object("a", body, "");
    case.workspace.write("x.tf", "resource \"terraform_data\" \"x\" {}\n");
    let deferred = case.workspace.plan(&["-allow-deferral"]).expect_success().text();
    assert!(deferred.contains("1 to add"), "{deferred}");
    let planned = case.workspace.plan(&[]).expect_success().text();
    assert!(planned.contains("2 to add"), "{planned}");

    let kubeconfig = Sandbox::shared().kubeconfig().display().to_string();
    case.workspace.write(
        "x.tf",
        &format!("resource \"terraform_data\" \"x\" {{\n  input = file({kubeconfig:?})\n}}\n"),
    );
    case.provider("cluster = { kubeconfig = terraform_data.x.output }");
    case.object("a", &body.replace("\"${terraform_data.x.id}\"", "v"), "");
    let deferred = case.workspace.plan(&["-allow-deferral"]).expect_success().text();
    assert!(deferred.contains("1 to add"), "{deferred}");
}
