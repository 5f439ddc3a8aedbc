//! Reads requests: the operation, the id in the path, parameters and headers.

use http::{HeaderMap, Method};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

use crate::ids::REGION;

/// An operation of the API, by Oracle's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Operation {
    CreateQueue,
    GetQueue,
    ListQueues,
    UpdateQueue,
    DeleteQueue,
    ChangeQueueCompartment,
    PurgeQueue,
    GetWorkRequest,
    ListWorkRequests,
    ListWorkRequestErrors,
    ListWorkRequestLogs,
    CreateStream,
    GetStream,
    ListStreams,
    UpdateStream,
    DeleteStream,
    /// Of the metadata service of an instance.
    GetInstanceMetadata,
    /// Of the authentication service.
    IssueInstanceToken,
    /// Of a cluster.
    IssueWorkloadToken,
}

const ROUTES: [(&str, &str, Operation); 18] = [
    ("POST", "20210201/queues", Operation::CreateQueue),
    ("GET", "20210201/queues", Operation::ListQueues),
    ("GET", "20210201/queues/{id}", Operation::GetQueue),
    ("PUT", "20210201/queues/{id}", Operation::UpdateQueue),
    ("DELETE", "20210201/queues/{id}", Operation::DeleteQueue),
    ("POST", "20210201/queues/{id}/actions/changeCompartment", Operation::ChangeQueueCompartment),
    ("POST", "20210201/queues/{id}/actions/purge", Operation::PurgeQueue),
    ("GET", "20210201/workRequests", Operation::ListWorkRequests),
    ("GET", "20210201/workRequests/{id}", Operation::GetWorkRequest),
    ("GET", "20210201/workRequests/{id}/errors", Operation::ListWorkRequestErrors),
    ("GET", "20210201/workRequests/{id}/logs", Operation::ListWorkRequestLogs),
    ("POST", "20180418/streams", Operation::CreateStream),
    ("GET", "20180418/streams", Operation::ListStreams),
    ("GET", "20180418/streams/{id}", Operation::GetStream),
    ("PUT", "20180418/streams/{id}", Operation::UpdateStream),
    ("DELETE", "20180418/streams/{id}", Operation::DeleteStream),
    ("POST", "v1/x509", Operation::IssueInstanceToken),
    ("POST", "resourcePrincipalSessionTokens", Operation::IssueWorkloadToken),
];

impl Operation {
    /// Whether it serves to get an identity, so that callers need not have one.
    pub(crate) const fn is_federation(self) -> bool {
        matches!(self, Self::GetInstanceMetadata | Self::IssueInstanceToken | Self::IssueWorkloadToken)
    }
}

/// The region that starts a path, and the rest of it: one server can stand for several regions, each with resources of
/// its own, at addresses such as `/us-ashburn-1/20210201/queues`.
pub(crate) fn split_region(path: &str) -> (&str, &str) {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let is_region = first.bytes().filter(|byte| *byte == b'-').count() == 2;
    if is_region { (first, &path[first.len() + 1..]) } else { (REGION, path) }
}

/// The operation, and the id in the path, which may be empty; none if there is no such route.
pub(crate) fn route(method: &Method, path: &str) -> Option<(Operation, String)> {
    let path = path.strip_prefix('/')?;
    if let Some(rest) = path.strip_prefix("opc/v2/").filter(|_| method == Method::GET) {
        return Some((Operation::GetInstanceMetadata, decode(rest)?));
    }
    let segments: Vec<String> = path.split('/').map(decode).collect::<Option<_>>()?;
    ROUTES.iter().filter(|(verb, ..)| method == verb).find_map(|(_, template, operation)| {
        let template: Vec<&str> = template.split('/').collect();
        let mut pairs = template.iter().zip(&segments);
        if template.len() != segments.len() || !pairs.all(|(part, text)| part == text || *part == "{id}") {
            return None;
        }
        let id = template.iter().position(|part| *part == "{id}").map(|index| segments[index].clone());
        Some((*operation, id.unwrap_or_default()))
    })
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
        let check = |method: Method, path: &str, expected: Option<(Operation, &str)>| {
            let found = route(&method, path);
            assert_eq!(found, expected.map(|(operation, id)| (operation, id.to_owned())), "{method} {path}");
        };
        check(Method::POST, "/20210201/queues", Some((Operation::CreateQueue, "")));
        check(Method::GET, "/20210201/queues/a%2Fb", Some((Operation::GetQueue, "a/b")));
        check(Method::POST, "/20210201/queues/q/actions/purge", Some((Operation::PurgeQueue, "q")));
        check(Method::GET, "/20210201/workRequests/w/errors", Some((Operation::ListWorkRequestErrors, "w")));
        check(Method::PUT, "/20180418/streams/s", Some((Operation::UpdateStream, "s")));
        check(
            Method::GET,
            "/opc/v2/instance/region",
            Some((Operation::GetInstanceMetadata, "instance/region")),
        );
        check(Method::POST, "/v1/x509", Some((Operation::IssueInstanceToken, "")));
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
