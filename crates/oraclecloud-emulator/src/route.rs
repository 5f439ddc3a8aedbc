//! Which operation a request is.

use http::Method;
use serde::{Deserialize, Serialize};

/// An operation of the API, by Oracle's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// `POST /queues`
    CreateQueue,
    /// `GET /queues/{id}`
    GetQueue,
    /// `GET /queues`
    ListQueues,
    /// `PUT /queues/{id}`
    UpdateQueue,
    /// `DELETE /queues/{id}`
    DeleteQueue,
    /// `POST /queues/{id}/actions/changeCompartment`
    ChangeQueueCompartment,
    /// `POST /queues/{id}/actions/purge`
    PurgeQueue,
    /// `GET /workRequests/{id}`
    GetWorkRequest,
    /// `GET /workRequests`
    ListWorkRequests,
    /// `GET /workRequests/{id}/errors`
    ListWorkRequestErrors,
    /// `GET /workRequests/{id}/logs`
    ListWorkRequestLogs,
    /// `POST /streams`
    CreateStream,
    /// `GET /streams/{id}`
    GetStream,
    /// `GET /streams`
    ListStreams,
    /// `PUT /streams/{id}`
    UpdateStream,
    /// `DELETE /streams/{id}`
    DeleteStream,
    /// `GET /opc/v2/…`, of the metadata service that an instance has
    GetInstanceMetadata,
    /// `POST /v1/x509`, of the authentication service
    IssueInstanceToken,
    /// `POST /resourcePrincipalSessionTokens`, of a cluster
    IssueWorkloadToken,
}

impl Operation {
    /// Whether it is about getting an identity, so that nobody can be asked to have one already.
    pub(crate) const fn is_federation(self) -> bool {
        matches!(self, Self::GetInstanceMetadata | Self::IssueInstanceToken | Self::IssueWorkloadToken)
    }
}

/// The operation and the id in the path, empty when there is none; nothing when there is no such route.
pub(crate) fn route(method: &Method, path: &str) -> Option<(Operation, String)> {
    use Operation as O;
    let mut parts = path.strip_prefix('/')?.split('/');
    let version = parts.next()?;
    let parts: Vec<String> = parts.map(decode).collect::<Option<_>>()?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    if let ("opc", "GET", ["v2", rest @ ..]) = (version, method.as_str(), parts.as_slice()) {
        return Some((O::GetInstanceMetadata, rest.join("/")));
    }
    let (operation, id) = match (version, method.as_str(), parts.as_slice()) {
        ("20210201", "POST", ["queues"]) => (O::CreateQueue, ""),
        ("20210201", "GET", ["queues"]) => (O::ListQueues, ""),
        ("20210201", "GET", ["queues", id]) => (O::GetQueue, *id),
        ("20210201", "PUT", ["queues", id]) => (O::UpdateQueue, *id),
        ("20210201", "DELETE", ["queues", id]) => (O::DeleteQueue, *id),
        ("20210201", "POST", ["queues", id, "actions", "changeCompartment"]) => {
            (O::ChangeQueueCompartment, *id)
        }
        ("20210201", "POST", ["queues", id, "actions", "purge"]) => (O::PurgeQueue, *id),
        ("20210201", "GET", ["workRequests"]) => (O::ListWorkRequests, ""),
        ("20210201", "GET", ["workRequests", id]) => (O::GetWorkRequest, *id),
        ("20210201", "GET", ["workRequests", id, "errors"]) => (O::ListWorkRequestErrors, *id),
        ("20210201", "GET", ["workRequests", id, "logs"]) => (O::ListWorkRequestLogs, *id),
        ("20180418", "POST", ["streams"]) => (O::CreateStream, ""),
        ("20180418", "GET", ["streams"]) => (O::ListStreams, ""),
        ("20180418", "GET", ["streams", id]) => (O::GetStream, *id),
        ("20180418", "PUT", ["streams", id]) => (O::UpdateStream, *id),
        ("20180418", "DELETE", ["streams", id]) => (O::DeleteStream, *id),
        ("v1", "POST", ["x509"]) => (O::IssueInstanceToken, ""),
        ("resourcePrincipalSessionTokens", "POST", []) => (O::IssueWorkloadToken, ""),
        _ => return None,
    };
    Some((operation, id.to_owned()))
}

/// The parameters of a query, decoded; what cannot be decoded is not there.
pub(crate) fn query(text: Option<&str>) -> Vec<(String, String)> {
    text.unwrap_or_default()
        .split('&')
        .filter_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            Some((decode(name)?, decode(&value.replace('+', " "))?))
        })
        .collect()
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_route_and_nothing_else_has_one() {
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
        check(Method::GET, "/20210201/queues/%zz", None);
        check(Method::GET, "/", None);
    }

    #[test]
    fn a_query_is_decoded() {
        let pairs = query(Some("a=1%262&b=x+y&c&d=%zz"));
        assert_eq!(pairs, [("a".to_owned(), "1&2".to_owned()), ("b".to_owned(), "x y".to_owned())]);
    }
}
