//! Asks a server which kinds it serves: in two requests with aggregated discovery, otherwise with one for each version
//! of each group.
//!
//! Any response that is not from a Kubernetes API server is an error, never an empty catalog: a proxy's error page must
//! not make objects disappear.

use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup;
use kube::core::discovery::v2::ACCEPT_AGGREGATED_DISCOVERY_V2;
use serde::de::DeserializeOwned;

use super::catalog::{Catalog, GroupVersion};
use crate::error::{Error, ErrorKind, Subject, Verb};
use crate::request::{Call, Reply};
use crate::session::Session;

/// The number of concurrent requests.
const CONCURRENCY: usize = 8;

pub(crate) async fn discover(session: Session) -> Result<Arc<Catalog>, Error> {
    let (core, named) = tokio::try_join!(groups(&session, "/api"), groups(&session, "/apis"))?;
    let catalog: Catalog = core.into_iter().chain(named).collect();
    if !catalog.resources().any(|resource| resource.gvk.group().is_empty()) {
        let problem = "discovery lacks the core group, which every API server serves";
        return Err(unexpected(&call("/api".to_owned()), 200, problem.to_owned()));
    }
    tracing::debug!(kinds = catalog.resources().count(), "discovered the cluster's kinds");
    Ok(Arc::new(catalog))
}

/// The groups under one of the two roots.
async fn groups(session: &Session, root: &'static str) -> Result<Vec<GroupVersion>, Error> {
    // Servers before 1.26 support only the last of the accepted formats, which is not aggregated.
    let call = call(root.to_owned()).accept(ACCEPT_AGGREGATED_DISCOVERY_V2);
    let reply = session.send(&call).await?;
    let listed: Vec<(String, String)> = match reply.object["kind"].as_str() {
        Some("APIGroupDiscoveryList") => {
            let groups = list(&call, reply, "items")?;
            return Ok(groups.into_iter().flat_map(GroupVersion::aggregated).collect());
        }
        Some("APIVersions") => {
            let versions = list(&call, reply, "versions")?;
            versions.into_iter().map(|version| (String::new(), version)).collect()
        }
        Some("APIGroupList") => {
            let versions = |group: APIGroup| {
                let versions = group.versions.into_iter();
                versions.map(move |version| (group.name.clone(), version.version))
            };
            list(&call, reply, "groups")?.into_iter().flat_map(versions).collect()
        }
        kind => {
            let kind = kind.map_or("no kind".to_owned(), |kind| format!("kind {kind:?}"));
            let problem = format!("{root} returned {kind} instead of a list of API groups");
            return Err(unexpected(&call, reply.code, problem));
        }
    };
    let requests = listed.into_iter().map(|(group, version)| unaggregated(session, root, group, version));
    futures::stream::iter(requests).buffered(CONCURRENCY).try_collect().await
}

/// One version of a group, from a server without aggregated discovery.
async fn unaggregated(
    session: &Session,
    root: &'static str,
    group: String,
    version: String,
) -> Result<GroupVersion, Error> {
    let path =
        if group.is_empty() { format!("{root}/{version}") } else { format!("{root}/{group}/{version}") };
    let call = call(path);
    match session.send(&call).await {
        Ok(reply) if reply.object["kind"] == "APIResourceList" => {
            Ok(GroupVersion::unaggregated(group, version, list(&call, reply, "resources")?))
        }
        Ok(reply) => {
            let problem = format!("{group}/{version} is not an APIResourceList");
            Err(unexpected(&call, reply.code, problem))
        }
        // The group has an aggregated server that is down or was just removed: nothing is known about its kinds.
        Err(error) if error.is_server_fault() || error.is_unknown_path() => {
            Ok(GroupVersion { group, version, stale: true, resources: Vec::new() })
        }
        Err(error) => Err(error),
    }
}

fn call(path: String) -> Call {
    Call::get(Verb::Discover, Subject::Cluster, path)
}

fn unexpected(call: &Call, code: u16, excerpt: String) -> Error {
    call.error(ErrorKind::UnexpectedResponse { code, excerpt }, Vec::new())
}

/// The items of a list, which must not be absent.
fn list<T: DeserializeOwned>(call: &Call, mut reply: Reply, field: &str) -> Result<Vec<T>, Error> {
    serde_json::from_value(reply.object[field].take())
        .map_err(|error| call.error(ErrorKind::BrokenResponse(Arc::new(error)), reply.retries))
}
