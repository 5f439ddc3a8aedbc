//! Reads requests: the operation, the ids in the path, parameters and headers.

use std::collections::BTreeSet;
use std::sync::Mutex;

use http::{HeaderMap, Method};
use oraclecloud::kind::{Route, parameter};
use oraclecloud::{Catalogue, Kind};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Deserializer, Serialize};

use crate::ids::REGION;
use crate::lock;

/// An operation of the API, by Oracle's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Operation(&'static str);

#[expect(non_upper_case_globals, reason = "these are Oracle's names")]
impl Operation {
    pub const CreateQueue: Self = Self("CreateQueue");
    pub const GetQueue: Self = Self("GetQueue");
    pub const ListQueues: Self = Self("ListQueues");
    pub const UpdateQueue: Self = Self("UpdateQueue");
    pub const DeleteQueue: Self = Self("DeleteQueue");
    pub const ChangeQueueCompartment: Self = Self("ChangeQueueCompartment");
    pub const GetWorkRequest: Self = Self("GetWorkRequest");
    pub const ListWorkRequests: Self = Self("ListWorkRequests");
    pub const ListWorkRequestErrors: Self = Self("ListWorkRequestErrors");
    pub const ListWorkRequestLogs: Self = Self("ListWorkRequestLogs");
    pub const CreateStream: Self = Self("CreateStream");
    pub const GetStream: Self = Self("GetStream");
    pub const ListStreams: Self = Self("ListStreams");
    pub const UpdateStream: Self = Self("UpdateStream");
    pub const DeleteStream: Self = Self("DeleteStream");
    /// Of the metadata service of an instance.
    pub const GetInstanceMetadata: Self = Self("GetInstanceMetadata");
    /// Of the authentication service.
    pub const IssueInstanceToken: Self = Self("IssueInstanceToken");
    /// Of a cluster.
    pub const IssueWorkloadToken: Self = Self("IssueWorkloadToken");

    /// The operation of this name, such as `CreateVcn`.
    pub fn named(name: &str) -> Self {
        static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut names = lock(&NAMES);
        let known = names.get(name).copied().unwrap_or_else(|| name.to_owned().leak());
        names.insert(known);
        Self(known)
    }

    /// Whether it serves to get an identity, so that callers need not have one.
    pub(crate) fn is_federation(self) -> bool {
        matches!(self, Self::GetInstanceMetadata | Self::IssueInstanceToken | Self::IssueWorkloadToken)
    }
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::named(&String::deserialize(deserializer)?))
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Does {
    Resource(Verb, Kind),
    /// About work requests of the service of this name, or of all.
    WorkRequest(Read, Option<&'static str>),
    Federation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Create,
    List,
    Get,
    Update,
    Delete,
    Move,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    One,
    List,
    Errors,
    Logs,
}

/// A request whose path is known.
#[derive(Clone, Debug)]
pub(crate) struct Routed {
    pub(crate) operation: Operation,
    pub(crate) does: Does,
    /// The last parameter of the path; may be empty.
    pub(crate) id: String,
    /// The parameters before it.
    pub(crate) parents: Vec<(&'static str, String)>,
}

/// The paths of some kinds.
#[derive(Debug)]
pub(crate) struct Router(Vec<Path>);

#[derive(Debug)]
struct Path {
    service: &'static str,
    version: &'static str,
    route: &'static Route,
    does: Does,
}

/// The service that has the work requests of a kind.
pub(crate) fn work_request_service(kind: Kind) -> (&'static str, &'static str) {
    let calls = kind.service.work_requests.as_ref();
    let other = calls.and_then(|calls| calls.service.as_ref());
    other.map_or((&kind.service.name, &kind.service.version), |other| (&other.name, &other.version))
}

impl Router {
    pub(crate) fn of(catalogue: &Catalogue) -> Self {
        let mut paths = Vec::new();
        for kind in catalogue.kinds() {
            let described = kind.description();
            let verbs = [
                (Verb::Create, Some(&described.create)),
                (Verb::List, Some(&described.list)),
                (Verb::Get, Some(&described.get)),
                (Verb::Update, Some(&described.update)),
                (Verb::Delete, Some(&described.delete)),
                (Verb::Move, described.change_compartment.as_ref()),
            ];
            let (service, version) = (kind.service.name.as_str(), kind.service.version.as_str());
            paths.extend(verbs.into_iter().filter_map(|(verb, route)| {
                Some(Path { service, version, route: route?, does: Does::Resource(verb, *kind) })
            }));
            let Some(calls) = &kind.service.work_requests else { continue };
            let reads = [
                (Read::One, Some(&calls.get)),
                (Read::List, calls.list.as_ref()),
                (Read::Errors, calls.errors.as_ref()),
                (Read::Logs, calls.logs.as_ref()),
            ];
            let (service, version) = work_request_service(*kind);
            paths.extend(reads.into_iter().filter_map(|(read, route)| {
                Some(Path { service, version, route: route?, does: Does::WorkRequest(read, Some(service)) })
            }));
        }
        Self(paths)
    }

    /// The operation of a request; none if there is no such route. A path may start with the name of a service: the
    /// versions and paths of some services are the same.
    pub(crate) fn route(&self, method: &Method, path: &str) -> Option<Routed> {
        let path = path.strip_prefix('/')?;
        if let Some(rest) = path.strip_prefix("opc/v2/").filter(|_| method == Method::GET) {
            return Some(federation(Operation::GetInstanceMetadata, decode(rest)?));
        }
        match (method.as_str(), path.strip_prefix("auth/").unwrap_or(path)) {
            ("POST", "v1/x509") => return Some(federation(Operation::IssueInstanceToken, String::new())),
            ("POST", "resourcePrincipalSessionTokens") => {
                return Some(federation(Operation::IssueWorkloadToken, String::new()));
            }
            _ => {}
        }
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        let mut segments: Vec<String> = segments.map(decode).collect::<Option<_>>()?;
        let named = self.0.iter().find(|path| Some(path.service) == segments.first().map(String::as_str));
        let service = named.map(|path| path.service);
        if service.is_some() {
            segments.remove(0);
        }
        let paths = self.0.iter().filter(|path| service.is_none_or(|service| service == path.service));
        let mut found =
            paths.filter(|path| path.route.method == *method).find_map(|path| path.matched(&segments))?;
        if let (Does::WorkRequest(_, of), None) = (&mut found.does, service) {
            *of = None;
        }
        Some(found)
    }
}

impl Path {
    fn matched(&self, segments: &[String]) -> Option<Routed> {
        let version = Some(self.version).filter(|version| !version.is_empty());
        let template: Vec<&'static str> = version.into_iter().chain(self.route.segments()).collect();
        if template.len() != segments.len() {
            return None;
        }
        let mut parents = Vec::new();
        for (part, text) in template.into_iter().zip(segments) {
            match parameter(part) {
                Some(name) => parents.push((name, text.clone())),
                None if part == text => {}
                None => return None,
            }
        }
        let is_of_collection = matches!(
            self.does,
            Does::Resource(Verb::Create | Verb::List, _) | Does::WorkRequest(Read::List, _)
        );
        let id = if is_of_collection { None } else { parents.pop().map(|(_, id)| id) };
        let operation = Operation::named(&self.route.name);
        Some(Routed { operation, does: self.does, id: id.unwrap_or_default(), parents })
    }
}

fn federation(operation: Operation, id: String) -> Routed {
    Routed { operation, does: Does::Federation, id, parents: Vec::new() }
}

/// The region that starts a path, and the rest of it: one server can stand for several regions, each with resources of
/// its own, at addresses such as `/us-ashburn-1/20210201/queues`.
pub(crate) fn split_region(path: &str) -> (&str, &str) {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let is_region = first.bytes().filter(|byte| *byte == b'-').count() == 2;
    if is_region { (first, &path[first.len() + 1..]) } else { (REGION, path) }
}

/// A header with a readable value.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The decoded parameters of a query, without those that cannot be decoded.
pub(crate) fn query(text: Option<&str>) -> Vec<(String, String)> {
    form_urlencoded::parse(text.unwrap_or_default().as_bytes()).into_owned().collect()
}

fn decode(text: &str) -> Option<String> {
    Some(percent_decode_str(text).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_paths_have_a_route() {
        let router = Router::of(&Catalogue::standard());
        let check = |method: Method, path: &str, expected: Option<(Operation, &str)>| {
            let found = router.route(&method, path).map(|routed| (routed.operation, routed.id));
            assert_eq!(found, expected.map(|(operation, id)| (operation, id.to_owned())), "{method} {path}");
        };
        check(Method::POST, "/20210201/queues", Some((Operation::CreateQueue, "")));
        check(Method::POST, "/queue/20210201/queues", Some((Operation::CreateQueue, "")));
        check(Method::POST, "/streaming/20210201/queues", None);
        check(Method::GET, "/20210201/queues/a%2Fb", Some((Operation::GetQueue, "a/b")));
        let moved = Some((Operation::ChangeQueueCompartment, "q"));
        check(Method::POST, "/20210201/queues/q/actions/changeCompartment", moved);
        check(Method::GET, "/20210201/workRequests/w/errors", Some((Operation::ListWorkRequestErrors, "w")));
        check(Method::PUT, "/20180418/streams/s", Some((Operation::UpdateStream, "s")));
        check(
            Method::GET,
            "/opc/v2/instance/region",
            Some((Operation::GetInstanceMetadata, "instance/region")),
        );
        check(Method::POST, "/v1/x509", Some((Operation::IssueInstanceToken, "")));
        check(Method::POST, "/auth/v1/x509", Some((Operation::IssueInstanceToken, "")));
        check(Method::POST, "/resourcePrincipalSessionTokens", Some((Operation::IssueWorkloadToken, "")));
        check(Method::GET, "/20180418/queues", None);
        check(Method::PATCH, "/20210201/queues/q", None);
        check(Method::GET, "/20210201/queues/%ff", None);
        check(Method::GET, "/", None);
    }

    #[test]
    fn a_query_is_decoded() {
        let pairs = query(Some("a=1%262&b=x+y&c"));
        let expected = [("a", "1&2"), ("b", "x y"), ("c", "")];
        assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
