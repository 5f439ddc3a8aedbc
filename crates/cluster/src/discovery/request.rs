//! Asks a server which kinds it serves: in two requests with aggregated discovery, otherwise with one for each version
//! of each group.
//!
//! Any response that is not from a Kubernetes API server is an error, never an empty catalog: a proxy's error page must
//! not make objects disappear.

use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use serde::Deserialize;

use super::Catalog;
use super::catalog::{Group, Listed, Unaggregated, Version};
use crate::error::{Error, ErrorKind, Subject, Verb};
use crate::request::{Call, Reply};
use crate::session::Session;

/// The accepted formats, best first. Servers before 1.26 support only the last.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                          application/json";
/// The number of concurrent requests.
const AT_ONCE: usize = 8;

pub(crate) async fn discover(session: Session) -> Result<Arc<Catalog>, Error> {
    let (core, named) = tokio::try_join!(groups(&session, "/api"), groups(&session, "/apis"))?;
    let mut catalog = Catalog::default();
    for group in core.into_iter().chain(named) {
        catalog.add(group);
    }
    if catalog.versions("").is_none() || !catalog.resources().any(|resource| resource.gvk.group().is_empty())
    {
        let problem = "discovery lacks the core group, which every API server serves";
        return Err(foreign(&call("/api".to_owned()), 200, problem.to_owned()));
    }
    tracing::debug!(kinds = catalog.resources().count(), "discovered the cluster's kinds");
    Ok(Arc::new(catalog))
}

/// The groups under one of the two roots.
async fn groups(session: &Session, root: &'static str) -> Result<Vec<Group>, Error> {
    let call = call(root.to_owned()).accept(AGGREGATED);
    let reply = session.send(&call).await?;
    let listed = match reply.object["kind"].as_str() {
        Some("APIGroupDiscoveryList") => return Ok(read::<List<Group>>(&call, reply)?.items),
        Some("APIVersions") => {
            let versions = read::<CoreVersions>(&call, reply)?.versions;
            versions.into_iter().map(|version| (String::new(), version)).collect()
        }
        Some("APIGroupList") => read::<NamedGroups>(&call, reply)?.versions(),
        kind => {
            let kind = kind.map_or("no kind".to_owned(), |kind| format!("kind {kind:?}"));
            let problem = format!("{root} returned {kind} instead of a list of API groups");
            return Err(foreign(&call, reply.code, problem));
        }
    };
    let asked = listed.into_iter().map(|(group, version)| one(session, root, group, version));
    futures::stream::iter(asked).buffered(AT_ONCE).try_collect().await
}

/// One version of a group, from a server without aggregated discovery.
async fn one(session: &Session, root: &'static str, group: String, version: String) -> Result<Group, Error> {
    let path =
        if group.is_empty() { format!("{root}/{version}") } else { format!("{root}/{group}/{version}") };
    let call = call(path);
    let found = match session.send(&call).await {
        Ok(reply) if reply.object["kind"] == "APIResourceList" => {
            read::<Resources>(&call, reply)?.version(version)
        }
        Ok(reply) => {
            let problem = format!("{group}/{version} is not an APIResourceList");
            return Err(foreign(&call, reply.code, problem));
        }
        // The group has an aggregated server that is down or was just removed: nothing is known about its kinds.
        Err(error) if error.is_server_fault() || error.is_no_path() => Version::stale(version),
        Err(error) => return Err(error),
    };
    Ok(Group::new(group, found))
}

fn call(path: String) -> Call {
    Call::get(Verb::Discover, Subject::Cluster, path)
}

fn foreign(call: &Call, code: u16, excerpt: String) -> Error {
    call.error(ErrorKind::UnexpectedResponse { code, excerpt }, Vec::new())
}

fn read<T: serde::de::DeserializeOwned>(call: &Call, reply: Reply) -> Result<T, Error> {
    serde_json::from_value::<T>(reply.object)
        .map_err(|error| call.error(ErrorKind::BrokenResponse(Arc::new(error)), reply.retries))
}

/// `APIGroupDiscoveryList`, the same in `apidiscovery.k8s.io/v2` and `/v2beta1`.
#[derive(Deserialize)]
struct List<T> {
    items: Vec<T>,
}

/// `APIVersions`: the versions of the core group.
#[derive(Deserialize)]
struct CoreVersions {
    versions: Vec<String>,
}

/// `APIGroupList`: all other groups.
#[derive(Deserialize)]
struct NamedGroups {
    groups: Vec<NamedGroup>,
}

#[derive(Deserialize)]
struct NamedGroup {
    name: String,
    versions: Vec<NamedVersion>,
}

#[derive(Deserialize)]
struct NamedVersion {
    version: String,
}

impl NamedGroups {
    fn versions(self) -> Vec<(String, String)> {
        let of = |group: NamedGroup| {
            let name = group.name;
            group.versions.into_iter().map(move |version| (name.clone(), version.version))
        };
        self.groups.into_iter().flat_map(of).collect()
    }
}

/// `APIResourceList`: the kinds of one version.
#[derive(Deserialize)]
struct Resources {
    resources: Vec<Unaggregated>,
}

impl Resources {
    fn version(self, name: String) -> Version {
        let whole = self.resources.into_iter().filter(|listed| !listed.is_part());
        Version::of(name, whole.map(Listed::from).collect())
    }
}
