//! The service account of the manifests in `deploy/`, so that operators under test have no further permissions.

use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use super::{Namespace, Sandbox};

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
const NAMESPACE: &str = "plimsoll-system";
const ACCOUNT: &str = "plimsoll-operator";

impl Sandbox {
    /// Applies the manifests in `deploy/` once per process, with the right to grant the kinds of XRDs and without the operator's
    /// Deployment: tests start their own.
    ///
    /// # Panics
    ///
    /// If the API server rejects a manifest.
    pub fn deploy(&self) {
        self.deployed.get_or_init(|| {
            let files = manifests();
            let apply = ["apply", "--server-side", "--force-conflicts"];
            self.run_kubectl(&[&apply[..], &filename_flags(&files)].concat());
            let crds: Vec<String> = files.into_iter().filter(|file| file.contains("/crds/")).collect();
            let wait = ["wait", "--for=condition=Established", "--timeout=60s"];
            self.run_kubectl(&[&wait[..], &filename_flags(&crds)].concat());
        });
    }

    /// Writes a kubeconfig to `folder` for an operator that uses the service account and keeps its lease in `namespace`.
    ///
    /// # Panics
    ///
    /// If the account cannot be created.
    pub async fn operator_kubeconfig(&self, namespace: &Namespace, folder: &Path) -> PathBuf {
        self.deploy();
        bind_roles(namespace).await;
        let token =
            self.run_kubectl(&["create", "token", ACCOUNT, "--namespace", NAMESPACE, "--duration=2h"]);
        let own = self.run_kubectl(&["config", "view", "--raw", "--minify", "--output=json"]);
        let own: Value = serde_json::from_str(&own).expect("kubectl prints JSON");
        let cluster = &own["clusters"][0]["cluster"];
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "operator",
            "clusters": [{ "name": "sandbox", "cluster": cluster }],
            "users": [{ "name": ACCOUNT, "user": { "token": token.trim() } }],
            "contexts": [{
                "name": "operator",
                "context": { "cluster": "sandbox", "user": ACCOUNT, "namespace": namespace.name() },
            }],
        });
        let path = folder.join("operator-kubeconfig");
        fs::write(&path, kubeconfig.to_string()).expect("a test can write to its folder");
        path
    }

    fn run_kubectl(&self, arguments: &[&str]) -> String {
        let output = self.kubectl(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {stderr}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// The manifests in the kustomization, without the Deployment.
fn manifests() -> Vec<String> {
    let listed =
        fs::read_to_string(format!("{MANIFESTS}/kustomization.yaml")).expect("deploy/ has a kustomization");
    let (_, resources) = listed.split_once("\nresources:\n").expect("the kustomization lists resources");
    let files = resources.lines().map_while(|line| line.strip_prefix("  - "));
    let files =
        files.filter(|file| *file != "deployment.yaml").chain(["roles-definitions.yaml", "roles-users.yaml"]);
    files.map(|file| format!("{MANIFESTS}/{file}")).collect()
}

fn filename_flags(files: &[String]) -> Vec<&str> {
    files.iter().flat_map(|file| ["--filename", file.as_str()]).collect()
}

/// Grants what `deploy/` grants in its own namespace, the lease, the certificates and what runs for functions, in that of a
/// test.
async fn bind_roles(namespace: &Namespace) {
    let bindings = Api::<RoleBinding>::namespaced(namespace.client().clone(), namespace.name());
    for role in ["plimsoll-lease", "plimsoll-certificates", "plimsoll-functions"] {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": { "name": role },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE }],
        });
        let parameters = PatchParams::apply("testkit").force();
        let applied = bindings.patch(role, &parameters, &Patch::Apply(binding)).await;
        applied.unwrap_or_else(|error| panic!("binding {role}: {error}"));
    }
}
