//! Checks whether the sandbox is ready, by polling instead of waiting for a fixed time.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

use super::cluster_objects::NODE;
use crate::control_plane::options::SupervisorOptions;
use crate::control_plane::programs::{Origin, Program};
use crate::control_plane::state::Failure;
use crate::source::required_version;

/// A local server answers in less than a millisecond.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// For a file that hardly ever changes.
const FILE_POLL_INTERVAL: Duration = Duration::from_millis(500);

pub(super) async fn client(config: &str) -> Result<Client, Failure> {
    let kubeconfig = Kubeconfig::from_yaml(config).map_err(Failure::of("cannot parse the kubeconfig"))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(Failure::of("cannot use the kubeconfig"))?;
    // This module retries, and faster than kube would.
    config.default_retry = false;
    // The server is on this machine, so a proxy from HTTPS_PROXY does not apply.
    config.proxy_url = None;
    Client::try_from(config).map_err(Failure::of("cannot create a client"))
}

pub(super) async fn exists(path: &Path) {
    until(async || path.exists()).await;
}

pub(super) async fn is_removed(path: &Path) {
    while path.exists() {
        tokio::time::sleep(FILE_POLL_INTERVAL).await;
    }
}

/// Waits until the API server responds at all.
pub(super) async fn api_is_live(client: &Client) {
    until(async || get(client, "/livez/ping").await.is_some()).await;
}

pub(super) async fn api_is_ready(client: &Client) {
    until(async || get(client, "/readyz").await.is_some_and(|response| response == "ok")).await;
}

/// Waits until the default ServiceAccount exists and the Node is Ready and without taints.
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

/// The versions of the API server, and of etcd and kwok if they were built here.
pub(super) async fn versions(client: &Client, options: &SupervisorOptions) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    if let Ok(info) = client.apiserver_version().await {
        versions.insert("kubernetes".to_owned(), info.git_version);
    }
    for (program, module) in
        [(Program::Etcd, "go.etcd.io/etcd/server/v3"), (Program::Kwok, "sigs.k8s.io/kwok")]
    {
        let is_built = options
            .programs
            .iter()
            .any(|located| located.program == program && located.origin != Origin::Assets);
        if let Some(version) = required_version(module).filter(|_| is_built) {
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
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
