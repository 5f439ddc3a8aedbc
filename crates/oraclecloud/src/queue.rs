//! Queue's control plane and its work requests, call by call.
//!
//! Bodies are JSON as the service has it: what it knows beyond our types survives, and a controller compares only the
//! fields that its spec sets.

use http::Method;
use jiff::Timestamp;
use operations::Response;
use serde_json::{Value, json as object};

use crate::client::{Client, Request};
use crate::endpoint::Service;
use crate::error::Error;
use crate::response::{json, one_line, required_json};

/// Entries per page; the service's own default is smaller.
const PAGE: &str = "100";

/// The calls of Queue.
#[derive(Clone, Copy, Debug)]
pub struct Queues<'a>(&'a Client);

impl Client {
    /// The calls of Queue.
    pub fn queues(&self) -> Queues<'_> {
        Queues(self)
    }
}

/// The outcome of a call that begins something: a body, if there is one, and the headers.
pub type Accepted = Result<Response<Option<Value>>, Error>;

impl Queues<'_> {
    /// `CreateQueue`. The same token with the same body is one create, however often it is sent.
    pub async fn create(&self, body: &Value, token: Option<&str>, not_after: Option<Timestamp>) -> Accepted {
        let request = request("CreateQueue", Method::POST, &["queues"])
            .body(body.clone())
            .header("opc-retry-token", token)
            .not_after(not_after);
        self.0.begin(request).await
    }

    /// `GetQueue`.
    pub async fn get(&self, id: &str) -> Result<Response<Value>, Error> {
        self.0.read(request("GetQueue", Method::GET, &["queues", id])).await
    }

    /// `ListQueues`: the summaries of a compartment, every page.
    pub async fn list(&self, compartment: &str) -> Result<Response<Vec<Value>>, Error> {
        let request = request("ListQueues", Method::GET, &["queues"]).query("compartmentId", compartment);
        self.0.list(request.query("limit", PAGE)).await
    }

    /// `UpdateQueue`, if the queue is still of the version given.
    pub async fn update(&self, id: &str, body: &Value, if_match: Option<&str>) -> Accepted {
        let request = request("UpdateQueue", Method::PUT, &["queues", id]).body(body.clone());
        self.0.begin(request.header("if-match", if_match)).await
    }

    /// `DeleteQueue`, if the queue is still of the version given.
    pub async fn delete(&self, id: &str, if_match: Option<&str>) -> Accepted {
        let request = request("DeleteQueue", Method::DELETE, &["queues", id]);
        self.0.begin(request.header("if-match", if_match)).await
    }

    /// `ChangeQueueCompartment`, if the queue is still of the version given.
    pub async fn change_compartment(&self, id: &str, compartment: &str, if_match: Option<&str>) -> Accepted {
        let path = ["queues", id, "actions", "changeCompartment"];
        let request = request("ChangeQueueCompartment", Method::POST, &path)
            .body(object!({"compartmentId": compartment}));
        self.0.begin(request.header("if-match", if_match)).await
    }

    /// `PurgeQueue`: forgets messages; `purge_type` is `NORMAL`, `DLQ` or `BOTH`.
    pub async fn purge(&self, id: &str, purge_type: &str) -> Accepted {
        let path = ["queues", id, "actions", "purge"];
        self.0
            .begin(request("PurgeQueue", Method::POST, &path).body(object!({"purgeType": purge_type})))
            .await
    }

    /// `GetWorkRequest`; `retry_after` says when to ask again.
    pub async fn work_request(&self, id: &str) -> Result<Response<Value>, Error> {
        self.0.read(request("GetWorkRequest", Method::GET, &["workRequests", id])).await
    }

    /// `ListWorkRequests`: those of a compartment, every page.
    pub async fn work_requests(&self, compartment: &str) -> Result<Response<Vec<Value>>, Error> {
        let request =
            request("ListWorkRequests", Method::GET, &["workRequests"]).query("compartmentId", compartment);
        self.0.list(request.query("limit", PAGE)).await
    }

    /// `ListWorkRequestErrors`: why it failed, every page.
    pub async fn work_request_errors(&self, id: &str) -> Result<Response<Vec<WorkRequestEntry>>, Error> {
        let path = ["workRequests", id, "errors"];
        self.notes(request("ListWorkRequestErrors", Method::GET, &path)).await
    }

    /// `ListWorkRequestLogs`: what it did, every page.
    pub async fn work_request_logs(&self, id: &str) -> Result<Response<Vec<WorkRequestEntry>>, Error> {
        self.notes(request("ListWorkRequestLogs", Method::GET, &["workRequests", id, "logs"])).await
    }

    async fn notes(&self, request: Request) -> Result<Response<Vec<WorkRequestEntry>>, Error> {
        let mut response = self.0.list(request.query("limit", PAGE)).await?;
        let notes = std::mem::take(&mut response.body).iter().map(WorkRequestEntry::read).collect();
        Ok(response.with_body(notes))
    }
}

/// An entry of a work request's errors or logs; a log has no code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkRequestEntry {
    /// The service's word for it.
    pub code: Option<String>,
    /// What happened, on one line.
    pub message: String,
    /// When, as the service writes it.
    pub timestamp: Option<String>,
}

impl WorkRequestEntry {
    fn read(value: &Value) -> Self {
        let text = |name: &str| {
            let text = one_line(value.get(name)?.as_str()?);
            (!text.is_empty()).then_some(text)
        };
        Self {
            code: text("code"),
            message: text("message").unwrap_or_default(),
            timestamp: text("timestamp"),
        }
    }
}

impl Client {
    /// A call that begins something and may answer with a body.
    pub(crate) async fn begin(&self, request: Request) -> Accepted {
        let operation = request.operation();
        json(self.send(request).await?, operation)
    }

    /// A call whose point is the body.
    pub(crate) async fn read(&self, request: Request) -> Result<Response<Value>, Error> {
        let operation = request.operation();
        required_json(self.send(request).await?, operation)
    }
}

fn request(operation: &'static str, method: Method, path: &[&str]) -> Request {
    Request::new(operation, Service::Queue, method, path)
}
