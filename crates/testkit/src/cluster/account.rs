//! The account that the manifests in `deploy/` make, for operators under test: with no right beyond theirs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use super::{Namespace, Sandbox};

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
const NAMESPACE: &str = "plimsoll-system";
const ACCOUNT: &str = "plimsoll-operator";

impl Sandbox {
    /// Applies what `deploy/` installs, once a process, but for the operator: tests start their own.
    ///
    /// # Panics
    ///
    /// If the API server does not take a manifest.
    pub fn deploy(&self) {
        static DEPLOYED: OnceLock<()> = OnceLock::new();
        DEPLOYED.get_or_init(|| {
            let files = manifests();
            let apply = ["apply", "--server-side", "--force-conflicts"];
            self.succeed(&[&apply[..], &named(&files)].concat());
            let crds: Vec<String> = files.into_iter().filter(|file| file.contains("/crds/")).collect();
            let wait = ["wait", "--for=condition=Established", "--timeout=60s"];
            self.succeed(&[&wait[..], &named(&crds)].concat());
        });
    }

    /// A kubeconfig in `folder` by which an operator acts as the account of `deploy/`, with its lease in `namespace`.
    ///
    /// # Panics
    ///
    /// If the account cannot be made.
    pub async fn operator_kubeconfig(&self, namespace: &Namespace, folder: &Path) -> PathBuf {
        self.deploy();
        grant_lease(namespace).await;
        let token = self.succeed(&["create", "token", ACCOUNT, "--namespace", NAMESPACE, "--duration=2h"]);
        let own = self.succeed(&["config", "view", "--raw", "--minify", "--output=json"]);
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

    fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.kubectl(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {told}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// The manifests that the kustomization lists, without the Deployment.
fn manifests() -> Vec<String> {
    let listed =
        fs::read_to_string(format!("{MANIFESTS}/kustomization.yaml")).expect("there is a kustomization");
    let (_, resources) = listed.split_once("\nresources:\n").expect("it lists manifests");
    let files = resources.lines().map_while(|line| line.strip_prefix("  - "));
    files.filter(|file| *file != "deployment.yaml").map(|file| format!("{MANIFESTS}/{file}")).collect()
}

fn named(files: &[String]) -> Vec<&str> {
    files.iter().flat_map(|file| ["--filename", file.as_str()]).collect()
}

/// What `deploy/` grants in its own namespace, in that of a test.
async fn grant_lease(namespace: &Namespace) {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": { "name": "plimsoll-lease" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "plimsoll-lease" },
        "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE }],
    });
    let bindings = Api::<RoleBinding>::namespaced(namespace.client().clone(), namespace.name());
    let parameters = PatchParams::apply("testkit").force();
    let applied = bindings.patch("plimsoll-lease", &parameters, &Patch::Apply(binding)).await;
    applied.unwrap_or_else(|error| panic!("binding the role of the lease: {error}"));
}
