//! A state and objects that the Go provider k8sconnect 0.3.8 left behind: seven objects, two waits and three patches. The test
//! replaces its kubeconfig, its registry and an address; the objects are without what the API server sets anew.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Sandbox;
use testkit::terraform::{Client, Workspace};

const CONFIGURATION: &str = include_str!("left_by_go/main.tf");
const STATE: &str = include_str!("left_by_go/terraform.tfstate.json");
const OBJECTS: &str = include_str!("left_by_go/objects.json");

/// The objects in a sandbox of their own, held by the managers that held them.
fn restore(sandbox: &Sandbox) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("object.json");
    let file = file.to_str().expect("a path");
    let kubectl = |arguments: &[&str]| {
        let output = sandbox.kubectl(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for mut object in serde_json::from_str::<Vec<Value>>(OBJECTS).expect("a list of objects") {
        let held = object["metadata"]["managedFields"].take();
        std::fs::write(file, object.to_string()).expect("a file");
        // Its kind may have been defined a moment ago.
        let deadline = Instant::now() + Duration::from_secs(30);
        while !sandbox.kubectl(&["create", "--filename", file]).status.success() {
            assert!(Instant::now() < deadline, "{object}");
            std::thread::sleep(Duration::from_millis(200));
        }
        let patch = json!([{"op": "replace", "path": "/metadata/managedFields", "value": held}]).to_string();
        kubectl(&["patch", "--type=json", "--filename", file, "--patch", &patch]);
    }
    let address = "--for=jsonpath={.status.loadBalancer.ingress[0].ip}";
    kubectl(&["wait", address, "service/web", "--namespace=legacy", "--timeout=60s"]);
    kubectl(&["rollout", "status", "deployment/web", "--namespace=legacy", "--timeout=60s"]);
}

/// The state, with this sandbox in the place of the one it was written for.
fn state(sandbox: &Sandbox, registry: &str) -> String {
    let kubeconfig = std::fs::read_to_string(sandbox.kubeconfig()).expect("a kubeconfig");
    let quoted = Value::String(kubeconfig).to_string();
    let address = sandbox.kubectl(&[
        "get",
        "service/web",
        "--namespace=legacy",
        "--output=jsonpath={.status.loadBalancer.ingress[0].ip}",
    ]);
    STATE
        .replace("\"__KUBECONFIG__\"", &quoted)
        .replace("registry.terraform.io", registry)
        .replace("198.18.45.255", &String::from_utf8_lossy(&address.stdout))
}

#[test]
fn the_first_plan_of_what_the_go_provider_left_is_empty_and_a_destroy_removes_it() {
    let sandbox = Sandbox::dedicated("left-by-go");
    restore(&sandbox);
    let program = Path::new(env!("CARGO_BIN_EXE_terraform-provider-k8sconnect"));
    let kubeconfig = format!("kubeconfig={}", sandbox.kubeconfig().display());
    let mut last = None;
    for client in Client::all() {
        let workspace = Workspace::new(client, &[("jmorris0x0/k8sconnect", program)]);
        workspace.write("main.tf", CONFIGURATION);
        workspace.write("terraform.tfstate", &state(&sandbox, workspace.registry()));
        let plan = workspace.plan(&["-detailed-exitcode", "-var", &kubeconfig]);
        let text = plan.expect_success().text();
        assert!(text.contains("No changes."), "{text}");
        last = Some(workspace);
    }
    let workspace = last.expect("there is a client");
    workspace.run(&["destroy", "-auto-approve", "-no-color", "-var", &kubeconfig]).expect_success();
    let left = |what: &[&str]| {
        let got = sandbox.kubectl(&[&["get", "--ignore-not-found", "--output=json"], what].concat());
        serde_json::from_slice::<Value>(&got.stdout).ok()
    };
    assert_eq!(left(&["namespace", "legacy"]), None);
    assert_eq!(left(&["crd", "widgets.legacy.example.com"]), None);
    // What was patched stays, with its values, and the patches no longer hold anything.
    for name in ["foreign", "foreign-json"] {
        let map =
            left(&["configmap", name, "--show-managed-fields"]).expect("a patch does not delete its target");
        assert_eq!(map["data"]["added"], "1");
        assert!(!map["metadata"]["managedFields"].to_string().contains("k8sconnect-patch"), "{map}");
    }
}
