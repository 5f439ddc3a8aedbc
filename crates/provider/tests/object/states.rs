//! States written by the Go provider.

use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;

const BODY: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}\ndata: {k: v}";

#[tokio::test(flavor = "multi_thread")]
async fn states_of_every_version_plan_as_no_changes() {
    let case = Case::new("states", Client::any()).await;
    case.object("a", BODY, "");
    case.workspace.apply(&[]).expect_success();
    let path = case.workspace.path("terraform.tfstate");
    let ours: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for version in [0, 1, 2] {
        let mut state = ours.clone();
        state["serial"] = json!(100 + version);
        let instance = &mut state["resources"][0]["instances"][0];
        instance["schema_version"] = json!(version);
        // base64 of {"ownership_baseline": base64 of {"data.k":"k8sconnect"}}
        instance["private"] =
            json!("eyJvd25lcnNoaXBfYmFzZWxpbmUiOiJleUprWVhSaExtc2lPaUpyT0hOamIyNXVaV04wSW4wPSJ9");
        let attributes = instance["attributes"].as_object_mut().unwrap();
        for name in ["wait_for", "status"] {
            attributes.remove(name);
        }
        if version < 2 {
            attributes.remove("managed_fields");
        }
        std::fs::write(&path, state.to_string()).unwrap();
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
    // What the Go provider stored of the last apply is enough to tell drift from an edit.
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    case.namespace.merge_as("kubectl-edit", &wanted, &json!({"data": {"k": "theirs"}})).await;
    let plan = case.workspace.plan(&[]).expect_success().text();
    assert!(plan.contains("Drift Detected - Reverting External Changes"), "{plan}");
    assert!(plan.contains("data.k: \"theirs\" → \"v\" (modified by: kubectl-edit)"), "{plan}");
}
