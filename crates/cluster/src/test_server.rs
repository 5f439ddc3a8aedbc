//! A fake API server without a socket: a function answers each request.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use kube::client::Body;
use serde_json::{Value, json};

use crate::Session;

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Seen {
    /// `GET /api`, without the query.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// The requests a server has seen so far.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<Seen>>>);

impl Journal {
    pub(crate) fn all(&self) -> Vec<Seen> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.all().iter().map(Seen::line).collect()
    }

    /// The request lines without discovery.
    pub(crate) fn work(&self) -> Vec<String> {
        let discovery = ["GET /api", "GET /apis"];
        self.lines().into_iter().filter(|line| !discovery.contains(&line.as_str())).collect()
    }

    pub(crate) fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|seen| *seen == line).count()
    }
}

pub(crate) type Answer = Response<Full<Bytes>>;

/// A session whose server is `answer`, and the requests it has seen. Discovery is answered with [`kinds`].
pub(crate) fn session(mut answer: impl FnMut(&Seen) -> Answer + Send + 'static) -> (Session, Journal) {
    raw_session(move |seen| match seen.line().as_str() {
        "GET /api" => ok(&core()),
        "GET /apis" => ok(&kinds(&[
            ("apps", "v1", &[("deployments", "Deployment", true)]),
            (
                "apiextensions.k8s.io",
                "v1",
                &[("customresourcedefinitions", "CustomResourceDefinition", false)],
            ),
        ])),
        _ => answer(seen),
    })
}

/// A session whose server is `answer` for every request, including discovery.
pub(crate) fn raw_session(answer: impl FnMut(&Seen) -> Answer + Send + 'static) -> (Session, Journal) {
    let journal = Journal::default();
    let (kept, answer) = (journal.clone(), Arc::new(Mutex::new(answer)));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (kept, answer) = (kept.clone(), Arc::clone(&answer));
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await.unwrap();
            let seen = Seen {
                method: parts.method.to_string(),
                path: parts.uri.path().to_owned(),
                query: parts.uri.query().unwrap_or_default().to_owned(),
                headers: parts.headers,
                body: serde_json::from_slice(&body).unwrap_or(Value::Null),
            };
            kept.0.lock().unwrap().push(seen.clone());
            // Yields to other tasks, as a network would.
            tokio::task::yield_now().await;
            let answer = (answer.lock().unwrap())(&seen);
            Ok::<_, std::convert::Infallible>(answer)
        }
    });
    (Session::new(kube::Client::new(service, "default")), journal)
}

pub(crate) fn reply(code: u16, body: &Value) -> Answer {
    Response::builder().status(code).body(Full::from(body.to_string())).unwrap()
}

pub(crate) fn ok(body: &Value) -> Answer {
    reply(200, body)
}

pub(crate) fn plain(code: u16, text: &'static str) -> Answer {
    Response::builder().status(code).body(Full::from(text)).unwrap()
}

pub(crate) fn status(code: u16, reason: &str, message: &str, details: &Value) -> Answer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": message, "details": details,
    });
    reply(code, &body)
}

type Kinds<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str, bool)]);

/// An aggregated discovery document.
pub(crate) fn kinds(groups: &[Kinds<'_>]) -> Value {
    let groups: Vec<Value> = groups
        .iter()
        .map(|(group, version, resources)| {
            let resources: Vec<Value> = resources
                .iter()
                .map(|(plural, kind, namespaced)| {
                    json!({
                        "resource": plural,
                        "responseKind": { "group": group, "version": version, "kind": kind },
                        "scope": if *namespaced { "Namespaced" } else { "Cluster" },
                        "verbs": ["get", "list", "watch", "patch", "delete"],
                    })
                })
                .collect();
            json!({ "metadata": { "name": group }, "versions": [{ "version": version, "resources": resources, "freshness": "Current" }] })
        })
        .collect();
    json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": groups })
}

/// The discovery document of the core group.
pub(crate) fn core() -> Value {
    kinds(&[("", "v1", &[("configmaps", "ConfigMap", true), ("namespaces", "Namespace", false)])])
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "shop" } })
}

/// A response of lines, as a watch sends them, that ends after the last.
pub(crate) fn stream(lines: &str) -> Answer {
    Response::new(Full::from(lines.to_owned()))
}
