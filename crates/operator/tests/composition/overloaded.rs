//! An API server that is slow or sheds load gets no more requests than it can bear, and everything is written once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, BodyStream, StreamBody};
use kube::client::Body;
use serde_json::json;
use tokio::time::Instant;

use crate::fixture::{apply, is_true, until};
use crate::operators::{Offer, Operator, alone};

type Boxed = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// The writes of an operator, and when they were sent.
#[derive(Clone, Default)]
struct Writes(Arc<Mutex<BTreeMap<String, Vec<Instant>>>>);

impl Writes {
    /// Counts a request that writes one object; how often it was sent before.
    fn count(&self, request: &Request<Body>) -> Option<usize> {
        let path = request.uri().path();
        if !matches!(*request.method(), Method::PUT | Method::PATCH) || path.contains("/leases/") {
            return None;
        }
        let mut writes = self.0.lock().unwrap();
        let sent = writes.entry(format!("{} {path}", request.method())).or_default();
        sent.push(Instant::now());
        Some(sent.len() - 1)
    }

    fn all(&self) -> BTreeMap<String, Vec<Instant>> {
        self.0.lock().unwrap().clone()
    }
}

fn too_many() -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, "reason": "TooManyRequests",
        "message": "the server has received too many requests and has asked us to try again later",
    });
    let response = Response::builder().status(429).header("retry-after", "1");
    response.body(Body::from(status.to_string().into_bytes())).unwrap()
}

#[tokio::test]
async fn a_server_that_sheds_load_is_asked_again_when_it_says() {
    let (sandbox, _turn) = alone().await;
    let offer = Offer::new(sandbox, "shedding").await;
    let writes = Writes::default();
    let seen = writes.clone();
    let operator = Operator::start_with(offer.functions.clone(), async move || {
        let client = sandbox.client().await;
        let service = tower::service_fn(move |request: Request<Body>| {
            // Every write is refused once.
            let is_refused = seen.count(&request) == Some(0);
            let client = client.clone();
            async move { if is_refused { Ok(too_many()) } else { client.send(request).await } }
        });
        kube::Client::new(service, "default")
    });
    let xr = offer.object("XApp", None, "ab");
    apply(&offer.session, &xr).await;
    let ready = until(&offer.session, &xr, "it is ready", |xr| is_true(xr, "Ready")).await;
    assert_eq!(ready["spec"]["resourceRefs"].as_array().unwrap().len(), 2);
    operator.kill();
    // What concerns the XR has one writer; its revision may be written by two reconciles at once.
    let mut writes = writes.all();
    writes.retain(|write, _| write.contains("/xapps/") || write.contains("/configmaps/"));
    assert!(writes.len() > 3, "{writes:#?}");
    for (write, sent) in &writes {
        let waited = sent.get(1).map(|again| *again - sent[0]);
        assert!(waited.is_none_or(|waited| waited >= Duration::from_secs(1)), "{write}: {waited:?}");
    }
}

/// Delays every response, and every event of a watch.
async fn slow(client: kube::Client, request: Request<Body>) -> Result<Response<Boxed>, kube::Error> {
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let response = client.send(request).await?;
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(response.map(|body| {
        let body = body.map_err(Into::into);
        if !is_watch {
            return body.boxed_unsync();
        }
        let frames = BodyStream::new(body).then(|frame| async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            frame
        });
        StreamBody::new(frames).boxed_unsync()
    }))
}

#[tokio::test]
async fn a_slow_server_is_sent_everything_once() {
    let (sandbox, _turn) = alone().await;
    let offer = Offer::new(sandbox, "slow").await;
    let writes = Writes::default();
    let seen = writes.clone();
    let operator = Operator::start_with(offer.functions.clone(), async move || {
        let client = sandbox.client().await;
        let service = tower::service_fn(move |request: Request<Body>| {
            seen.count(&request);
            slow(client.clone(), request)
        });
        kube::Client::new(service, "default")
    });
    let xr = offer.object("XApp", None, "ab");
    apply(&offer.session, &xr).await;
    until(&offer.session, &xr, "it is ready", |xr| is_true(xr, "Ready")).await;
    // Long enough for its own writes to come back through its watches.
    tokio::time::sleep(Duration::from_secs(3)).await;
    operator.kill();
    let writes = writes.all();
    let maps = writes.iter().filter(|(write, _)| write.contains("/configmaps/"));
    let sent: Vec<usize> = maps.map(|(_, sent)| sent.len()).collect();
    assert_eq!(sent, [1, 1], "{writes:#?}");
}
