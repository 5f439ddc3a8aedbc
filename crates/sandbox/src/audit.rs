//! Reads the API server's audit log, so that tests and benchmarks can count requests by verb, resource and user agent.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    /// For instance `deployments.apps` or `pods/status`; empty for requests without a resource, such as `/readyz`.
    pub resource: String,
    pub user_agent: String,
    /// Path and query.
    pub uri: String,
    pub status: Option<u16>,
}

/// Reads a log that is still being written.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    offset: u64,
    /// The audit IDs so far: a watch is logged when it starts and again when it ends.
    seen: HashSet<String>,
}

impl Reader {
    /// Starts at the beginning of the log, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), offset: 0, seen: HashSet::new() }
    }

    /// The requests logged since the last call, each once, in the order they were answered.
    ///
    /// A watch counts as soon as it starts.
    pub fn read_new(&mut self) -> io::Result<Vec<Request>> {
        let text = read_from(&self.path, self.offset)?;
        self.offset += text.len() as u64;
        let mut requests = Vec::new();
        for line in text.lines() {
            let event: Value = serde_json::from_str(line)?;
            if self.seen.insert(event["auditID"].as_str().unwrap_or_default().to_owned()) {
                requests.push(Request::from_event(&event));
            }
        }
        Ok(requests)
    }
}

/// Counts requests by `key`, leaving out those without one.
///
/// ```
/// # let requests: Vec<sandbox::audit::Request> = Vec::new();
/// let by_verb = sandbox::audit::count(&requests, |request| {
///     request.user_agent.starts_with("plimsoll").then_some(&request.verb)
/// });
/// ```
pub fn count<'a, K: Ord>(
    requests: &'a [Request],
    key: impl Fn(&'a Request) -> Option<K>,
) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for key in requests.iter().filter_map(key) {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

impl Request {
    /// Reads an `audit.k8s.io/v1` Event.
    fn from_event(event: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = &event["objectRef"];
        let mut resource = text(&object["resource"]);
        for (separator, name) in [('.', "apiGroup"), ('/', "subresource")] {
            if let Some(part) = object[name].as_str().filter(|part| !part.is_empty()) {
                resource.push(separator);
                resource.push_str(part);
            }
        }
        Self {
            verb: text(&event["verb"]),
            resource,
            user_agent: text(&event["userAgent"]),
            uri: text(&event["requestURI"]),
            status: event["responseStatus"]["code"].as_u64().and_then(|code| code.try_into().ok()),
        }
    }
}

/// The complete lines of the file from `offset` on; one without a line break is still being written.
fn read_from(path: &Path, offset: u64) -> io::Result<String> {
    let mut text = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        file => {
            let mut file = file?;
            file.seek(SeekFrom::Start(offset))?;
            file.read_to_end(&mut text)?;
        }
    }
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    text.truncate(end);
    String::from_utf8(text).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn line(id: &str, stage: &str, verb: &str, object: &str) -> String {
        format!(
            r#"{{"kind":"Event","auditID":"{id}","stage":"{stage}","verb":"{verb}","requestURI":"/x","userAgent":"kubectl/v1","objectRef":{object},"responseStatus":{{"metadata":{{}},"code":200}}}}"#
        )
    }

    #[test]
    fn every_request_is_read_once_and_an_incomplete_line_is_left_for_later() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut reader = Reader::new(file.path());
        assert_eq!(reader.read_new().unwrap(), []);

        let pods = r#"{"resource":"pods","apiVersion":"v1","subresource":"status"}"#;
        let apps = r#"{"resource":"deployments","apiGroup":"apps"}"#;
        let last = line("3", "ResponseComplete", "get", "null");
        writeln!(file, "{}", line("1", "ResponseStarted", "watch", pods)).unwrap();
        writeln!(file, "{}", line("2", "ResponseComplete", "patch", apps)).unwrap();
        writeln!(file, "{}", line("1", "ResponseComplete", "watch", pods)).unwrap();
        write!(file, "{}", &last[..20]).unwrap();
        let first = reader.read_new().unwrap();
        let read: Vec<_> =
            first.iter().map(|request| (request.verb.as_str(), request.resource.as_str())).collect();
        assert_eq!(read, [("watch", "pods/status"), ("patch", "deployments.apps")]);
        assert_eq!(first[0].status, Some(200));

        writeln!(file, "{}", &last[20..]).unwrap();
        let rest = reader.read_new().unwrap();
        assert_eq!(rest.len(), 1);
        assert_eq!((rest[0].verb.as_str(), rest[0].resource.as_str()), ("get", ""));
        assert_eq!(reader.read_new().unwrap(), []);
    }

    #[test]
    fn a_log_that_does_not_exist_yet_is_empty() {
        assert_eq!(Reader::new("/nonexistent/audit").read_new().unwrap(), []);
    }

    #[test]
    fn requests_are_counted_by_key() {
        let request = |verb: &str, agent: &str| Request {
            verb: verb.to_owned(),
            resource: "pods".to_owned(),
            user_agent: agent.to_owned(),
            uri: String::new(),
            status: None,
        };
        let requests = [request("get", "a"), request("get", "a"), request("list", "a"), request("get", "b")];
        let counts = count(&requests, |request| (request.user_agent == "a").then_some(request.verb.as_str()));
        assert_eq!(counts, BTreeMap::from([("get", 2), ("list", 1)]));
    }
}
