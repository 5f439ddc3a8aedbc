//! What another provider, or another version of ours, left behind: its state, and the objects with their managers. They are without what
//! the API server sets anew, and the kubeconfig of the state, its registry and an address are replaced.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use testkit::Sandbox;

pub(crate) struct LeftBehind {
    pub(crate) state: &'static str,
    /// A list of objects.
    pub(crate) objects: &'static str,
    /// The address of the load balancer.
    pub(crate) address: &'static str,
}

impl LeftBehind {
    /// The objects in a sandbox of their own, held by the managers that held them.
    pub(crate) fn restore(&self, sandbox: &Sandbox) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("object.json");
        let file = file.to_str().expect("a path");
        let kubectl = |arguments: &[&str]| {
            let output = sandbox.kubectl(arguments);
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        for mut object in serde_json::from_str::<Vec<Value>>(self.objects).expect("a list of objects") {
            let held = object["metadata"]["managedFields"].take();
            std::fs::write(file, object.to_string()).expect("a file");
            // Its kind may have been defined a moment ago.
            let deadline = Instant::now() + Duration::from_secs(30);
            while !sandbox.kubectl(&["create", "--filename", file]).status.success() {
                assert!(Instant::now() < deadline, "{object}");
                std::thread::sleep(Duration::from_millis(200));
            }
            let patch =
                json!([{"op": "replace", "path": "/metadata/managedFields", "value": held}]).to_string();
            kubectl(&["patch", "--type=json", "--filename", file, "--patch", &patch]);
        }
        let address = "--for=jsonpath={.status.loadBalancer.ingress[0].ip}";
        kubectl(&["wait", address, "service/web", "--namespace=legacy", "--timeout=60s"]);
        kubectl(&["rollout", "status", "deployment/web", "--namespace=legacy", "--timeout=60s"]);
    }

    /// The state, with this sandbox in the place of the one it was written for.
    pub(crate) fn state(&self, sandbox: &Sandbox, registry: &str) -> String {
        let kubeconfig = std::fs::read_to_string(sandbox.kubeconfig()).expect("a kubeconfig");
        let quoted = Value::String(kubeconfig).to_string();
        let address = sandbox.kubectl(&[
            "get",
            "service/web",
            "--namespace=legacy",
            "--output=jsonpath={.status.loadBalancer.ingress[0].ip}",
        ]);
        let state = self
            .state
            .replace("\"__KUBECONFIG__\"", &quoted)
            .replace("registry.terraform.io", registry)
            .replace(self.address, &String::from_utf8_lossy(&address.stdout));
        let uid = sandbox.kubectl(&["get", "namespace/kube-system", "--output=jsonpath={.metadata.uid}"]);
        in_cluster(&state, &String::from_utf8_lossy(&uid.stdout))
    }

    /// The objects of the state as they are, without what controllers write to all the time.
    pub(crate) fn live(&self, sandbox: &Sandbox) -> BTreeMap<String, Value> {
        let objects = serde_json::from_str::<Vec<Value>>(self.objects).unwrap().into_iter().map(|object| {
            let part = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let name = format!("{}/{}", part("/kind").to_lowercase(), part("/metadata/name"));
            let namespace = format!("--namespace={}", part("/metadata/namespace"));
            let got = sandbox.kubectl(&["get", &name, &namespace, "--output=json", "--show-managed-fields"]);
            let mut found: Value = serde_json::from_slice(&got.stdout).unwrap();
            found.as_object_mut().unwrap().remove("status");
            let metadata = found["metadata"].as_object_mut().unwrap();
            metadata.remove("resourceVersion");
            let entries = metadata["managedFields"].as_array_mut().unwrap();
            entries.retain(|entry| entry["subresource"] != "status");
            (name, found)
        });
        objects.collect()
    }
}

/// A state whose resources are in the cluster with this uid.
fn in_cluster(state: &str, uid: &str) -> String {
    let mut state: Value = serde_json::from_str(state).expect("a state is JSON");
    for resource in state["resources"].as_array_mut().expect("resources") {
        let private = &mut resource["instances"][0]["private"];
        let Some(text) = private.as_str() else { continue };
        let mut keys: Value =
            serde_json::from_slice(&BASE64_STANDARD.decode(text).expect("base64")).expect("JSON");
        if let Some(stored) = keys.get_mut("cluster_uid") {
            *stored = BASE64_STANDARD.encode(format!("{uid:?}")).into();
            *private = BASE64_STANDARD.encode(keys.to_string()).into();
        }
    }
    state.to_string()
}
