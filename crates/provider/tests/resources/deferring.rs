//! Deferral, which Terraform 1.14 has as an experiment.

use testkit::Sandbox;
use testkit::terraform::Client;

use crate::case::Case;
use crate::config_map;

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
    let namespace = case.namespace.name();
    let reads = |depends_on: &str| {
        let named = format!("api_version = \"v1\"\n  kind = \"ConfigMap\"\n  namespace = {namespace:?}");
        let one =
            format!("data \"k8sconnect_object\" \"one\" {{\n  {named}\n  name = \"a\"\n  {depends_on}\n}}\n");
        let all = format!("data \"k8sconnect_objects\" \"all\" {{\n  {named}\n  {depends_on}\n}}\n");
        case.workspace.write("reads.tf", &format!("{one}{all}"));
    };
    config_map::wait(&case, "a", "field = \"data.k\"");
    reads("");
    let deferred = case.workspace.plan(&["-allow-deferral"]).expect_success().text();
    assert!(deferred.contains("1 to add"), "{deferred}");
    // Without that the error says why, and a read that has to wait is made during the apply.
    let failed = case.workspace.plan(&[]).expect_failure().text();
    assert!(failed.contains("Error: Connection Not Known Yet"), "{failed}");
    assert!(!failed.contains("Missing Cluster Connection Configuration"), "{failed}");
    reads("depends_on = [terraform_data.x, k8sconnect_object.a]");
    case.workspace.apply(&[]).expect_success();
    let read = case.workspace.attributes("data.k8sconnect_object.one");
    assert_eq!(read["object"]["data"]["k"], "v");
}
