//! The surroundings of an operator under test: a namespace, a cloud emulator, and a proxy in front of each.

use std::path::{Path, PathBuf};
use std::time::Duration;

use oraclecloud_emulator::{Options, Script, Server, serve};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::proxy::{KillProxy, KillSwitch, Upstream};
use testkit::{Namespace, Sandbox};
use tokio::sync::Mutex;

use super::process::{Operator, grant, kubeconfig};

/// A namespace, a cloud emulator, and a proxy in front of each.
pub(crate) struct Place {
    pub(crate) namespace: Namespace,
    pub(crate) server: Server,
    pub(crate) kill_switch: KillSwitch,
    folder: TempDir,
    cluster: KillProxy,
    cloud: KillProxy,
}

impl Place {
    pub(crate) async fn new(test: &str, script: Script, retry_after: Option<u64>) -> Self {
        grant();
        let namespace = Sandbox::shared().namespace(test).await;
        let server = serve_shared(script, retry_after).await;
        let kill_switch = KillSwitch::default();
        let folder = tempfile::tempdir().unwrap();
        let to_cluster = Upstream::Kubernetes(namespace.client().clone());
        let cluster = KillProxy::start(to_cluster, kill_switch.clone(), is_boundary).await;
        let to_cloud = Upstream::Plain(server.url());
        let cloud = KillProxy::start(to_cloud, kill_switch.clone(), |_| true).await;
        Self { namespace, server, kill_switch, folder, cluster, cloud }
    }

    /// Starts an operator for this namespace only.
    pub(crate) fn operator(&self, flags: &[&str]) -> Operator {
        let kubeconfig = kubeconfig(self.folder.path(), &self.cluster.url());
        let mut all: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        all.push(format!("--namespace={}", self.namespace.name()));
        all.push(format!("--oci-endpoint={}", self.cloud.url()));
        all.push("--controllers=oci".to_owned());
        Operator::start(&kubeconfig, Some(&key_dir()), &all)
    }

    pub(crate) fn queue(&self, name: &str) -> Value {
        json!({
            "apiVersion": "queue.oracle.com/v1beta1", "kind": "Queue", "metadata": {"name": name},
            "spec": {"displayName": name, "compartmentId": self.server.compartment()},
        })
    }

    pub(crate) fn stream(&self, name: &str) -> Value {
        json!({
            "apiVersion": "streaming.oracle.com/v1beta1", "kind": "Stream", "metadata": {"name": name},
            "spec": {"name": name, "partitions": 1, "compartmentId": self.server.compartment()},
        })
    }

    /// A Secret with the operator's own credentials.
    pub(crate) fn credentials(&self) -> Value {
        let config = std::fs::read_to_string(self.server.config_file()).unwrap();
        let values = config.lines().filter_map(|line| line.split_once('='));
        let entries = values.map(|(name, value)| match name {
            "key_file" => ("privatekey".to_owned(), json!(std::fs::read_to_string(value).unwrap())),
            _ => (name.to_owned(), json!(value)),
        });
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ocicredentials"},
            "stringData": entries.collect::<serde_json::Map<_, _>>(),
        })
    }

    /// The resources in the cloud that are not deleted.
    pub(crate) fn living(&self) -> Vec<Value> {
        self.server.resources().into_iter().filter(|it| it["lifecycleState"] != "DELETED").collect()
    }
}

impl Place {
    /// The operators' requests to the cluster that write, Events included, leases not.
    pub(crate) fn writes(&self) -> Vec<String> {
        let is_write = |request: &String| {
            !request.starts_with("GET ") && !request.contains("/leases") && request.contains("/api")
        };
        let requests = self.kill_switch.requests().into_iter().chain(self.kill_switch.uncounted_requests());
        requests.filter(is_write).collect()
    }

    /// A client of the cloud.
    pub(crate) fn client(&self) -> oraclecloud::Client {
        let nothing = |_: &str| None;
        let credentials =
            oraclecloud::Credentials::from_config_file(self.server.config_file(), None, &nothing);
        let mut endpoints = oraclecloud::Endpoints::default();
        endpoints.add(&self.server.url()).unwrap();
        let settings = oraclecloud::Settings { endpoints, ..oraclecloud::Settings::default() };
        oraclecloud::Client::new(credentials, oraclecloud::Connections::new(), settings, &nothing).unwrap()
    }
}

/// Servers share a key, because generating one is slow.
async fn serve_shared(script: Script, retry_after: Option<u64>) -> Server {
    static FIRST: Mutex<()> = Mutex::const_new(());
    let _alone = FIRST.lock().await;
    serve(Options { key_dir: Some(key_dir()), script, retry_after, ..Options::default() }).await.unwrap()
}

fn key_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("endurance-keys")
}

/// Watches, leases and Events are not crash points: no resource depends on them.
fn is_boundary(request: &str) -> bool {
    !request.contains("watch=true") && !request.contains("/leases") && !request.contains("/events")
}

/// The condition of this type, or null.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

/// Whether the object is ready in its current generation, with no operation in flight.
pub(crate) fn is_ready(object: &Value) -> bool {
    let ready = condition(object, "Ready");
    ready["status"] == "True"
        && ready["observedGeneration"] == object["metadata"]["generation"]
        && condition(object, "Progressing")["status"] == "False"
        && object["status"]["status"]["async"].get("current").is_none()
}

/// A pause between two polls of something that cannot be watched.
pub(crate) async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}
