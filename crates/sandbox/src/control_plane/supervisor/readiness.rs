//! When a sandbox can be used: found out by asking, with short pauses, never by waiting a fixed time.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

use super::furniture::NODE;
use crate::control_plane::programs::{Origin, Program, required_version};
use crate::control_plane::state::{Failure, Options};

/// The pause between two questions; a local server answers in less than a millisecond.
const PAUSE: Duration = Duration::from_millis(20);

/// The pause between two looks at something that hardly ever changes.
const PAUSE_BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// A client for the API server of the kubeconfig `config`.
pub(super) async fn client(config: &str) -> Result<Client, Failure> {
    let kubeconfig = Kubeconfig::from_yaml(config)
        .map_err(|error| Failure::caused("cannot read our kubeconfig", &error))?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|error| Failure::caused("cannot read our kubeconfig", &error))?;
    // Questions are repeated here, and faster than kube would.
    config.default_retry = false;
    // The server is on this machine, whatever HTTPS_PROXY says.
    config.proxy_url = None;
    Client::try_from(config).map_err(|error| Failure::caused("cannot make a client", &error))
}

/// Waits until the socket at `path` is there.
pub(super) async fn exists(path: &Path) {
    until(async || path.exists()).await;
}

/// Waits until the file at `path` is gone.
pub(super) async fn vanishes(path: &Path) {
    while path.exists() {
        tokio::time::sleep(PAUSE_BETWEEN_LOOKS).await;
    }
}

/// Waits until the API server answers at all.
pub(super) async fn api_answers(client: &Client) {
    until(async || get(client, "/livez/ping").await.is_some()).await;
}

/// Waits until the API server says it is ready.
pub(super) async fn api_is_ready(client: &Client) {
    until(async || get(client, "/readyz").await.is_some_and(|answer| answer == "ok")).await;
}

/// Waits until the default ServiceAccount exists and the Node is Ready and takes Pods.
pub(super) async fn node_is_ready(client: &Client) {
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "default");
    until(async || matches!(accounts.get_opt("default").await, Ok(Some(_)))).await;
    let nodes = Api::<Node>::all(client.clone());
    until(async || nodes.get(NODE).await.is_ok_and(|node| is_ready(&node))).await;
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
        && taints.is_empty()
}

/// The versions of what runs, as the programs say themselves where they can.
pub(super) async fn versions(client: &Client, options: &Options) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    if let Ok(info) = client.apiserver_version().await {
        versions.insert("kubernetes".to_owned(), info.git_version);
    }
    for (program, module) in
        [(Program::Etcd, "go.etcd.io/etcd/server/v3"), (Program::Kwok, "sigs.k8s.io/kwok")]
    {
        let ours =
            options.programs.iter().any(|found| found.program == program && found.origin != Origin::Assets);
        if let Some(version) = required_version(module).filter(|_| ours) {
            versions.insert(program.to_string(), version.to_owned());
        }
    }
    versions
}

async fn get(client: &Client, path: &str) -> Option<String> {
    let request = Request::get(path).body(Vec::new()).expect("the path is a constant");
    client.request_text(request).await.ok()
}

async fn until(mut holds: impl AsyncFnMut() -> bool) {
    while !holds().await {
        tokio::time::sleep(PAUSE).await;
    }
}
