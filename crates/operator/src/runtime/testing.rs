//! An API server without a socket for tests: it answers from a function and keeps a journal of the requests.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full, StreamBody};
use kube::client::Body;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// `GET /api/v1/configmaps`
    pub(crate) line: String,
    pub(crate) query: String,
    pub(crate) body: Value,
}

pub(crate) enum Response {
    Json(u16, Value),
    /// Lines of a watch, after which the response ends.
    Lines(Vec<Value>),
    /// No response ever comes; a watch is accepted, and nothing follows.
    Silence,
    /// The connection breaks.
    Broken,
    /// Too many requests: the server asks to wait for so many seconds.
    TooMany(u32),
}

/// The requests so far.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<Seen>>>);

impl Journal {
    pub(crate) fn all(&self) -> Vec<Seen> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, line: &str, query: &str) -> usize {
        self.all().iter().filter(|seen| seen.line == line && seen.query.contains(query)).count()
    }
}

/// A client whose server is `answer`, and the journal. Discovery knows ConfigMaps and Leases.
pub(crate) fn client(answer: impl FnMut(&Seen) -> Response + Send + 'static) -> (kube::Client, Journal) {
    let journal = Journal::default();
    let (kept, answer) = (journal.clone(), Arc::new(Mutex::new(answer)));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (kept, answer) = (kept.clone(), Arc::clone(&answer));
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await.unwrap();
            let seen = Seen {
                line: format!("{} {}", parts.method, parts.uri.path()),
                query: parts.uri.query().unwrap_or_default().to_owned(),
                body: serde_json::from_slice(&body).unwrap_or(Value::Null),
            };
            let answer = match seen.line.as_str() {
                "GET /api" => Response::Json(200, kinds("", "v1", "configmaps", "ConfigMap")),
                "GET /apis" => Response::Json(200, kinds("coordination.k8s.io", "v1", "leases", "Lease")),
                _ => {
                    kept.0.lock().unwrap().push(seen.clone());
                    (answer.lock().unwrap())(&seen)
                }
            };
            let whole = |text: String| Full::<Bytes>::from(text).boxed_unsync();
            let asked = if let Response::TooMany(seconds) = answer { Some(seconds) } else { None };
            let (code, body) = match answer {
                Response::Json(code, body) => (code, whole(body.to_string())),
                Response::Lines(lines) => {
                    (200, whole(lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()))
                }
                Response::Silence if seen.query.contains("watch=true") => {
                    (200, StreamBody::new(futures::stream::pending()).boxed_unsync())
                }
                Response::Silence => std::future::pending().await,
                Response::TooMany(_) => (429, whole(String::new())),
                Response::Broken => return Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
            };
            let mut response = http::Response::builder().status(code);
            if let Some(seconds) = asked {
                response = response.header("retry-after", seconds);
            }
            Ok::<_, std::io::Error>(response.body(body).unwrap())
        }
    });
    (kube::Client::new(service, "default"), journal)
}

/// An API error.
pub(crate) fn refusal(code: u16, reason: &str) -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": format!("the test says {reason}"),
    });
    Response::Json(code, status)
}

fn kinds(group: &str, version: &str, plural: &str, kind: &str) -> Value {
    let resource = json!({
        "resource": plural,
        "responseKind": { "group": group, "version": version, "kind": kind },
        "scope": "Namespaced",
        "verbs": ["get", "list", "watch", "patch", "delete"],
    });
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "items": [{
            "metadata": { "name": group },
            "versions": [{ "version": version, "resources": [resource], "freshness": "Current" }],
        }],
    })
}
