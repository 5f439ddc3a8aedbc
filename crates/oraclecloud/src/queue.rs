//! The control plane of Queue and its work requests.
//!
//! Bodies are the service's JSON: fields that we do not know survive, and a controller compares only those that its spec
//! sets.

use http::Method;
use jiff::Timestamp;
use operations::Response;
use serde_json::{Value, json};

use crate::client::{Client, Request};
use crate::endpoint::Service;
use crate::error::Error;
use crate::listings::Listing;
use crate::response::{self, one_line, required_json};

/// Entries per page; the service's own default is smaller.
const PAGE: &str = "100";

#[derive(Clone, Copy, Debug)]
pub struct Queues<'a>(&'a Client);

impl Client {
    pub fn queues(&self) -> Queues<'_> {
        Queues(self)
    }
}

/// The result of a mutation, whose body may be empty.
pub type Accepted = Result<Response<Option<Value>>, Error>;

impl Queues<'_> {
    /// `CreateQueue`. Repeated with the same token and body it is one create.
    pub async fn create(&self, body: &Value, token: Option<&str>, not_after: Option<Timestamp>) -> Accepted {
        let request = request("CreateQueue", Method::POST, &["queues"])
            .body(body.clone())
            .header("opc-retry-token", token)
            .not_after(not_after);
        self.0.mutate(request).await
    }

    /// `GetQueue`.
    pub async fn get(&self, id: &str) -> Result<Response<Value>, Error> {
        self.0.read(request("GetQueue", Method::GET, &["queues", id])).await
    }

    /// `ListQueues`: the summaries of a compartment, all pages.
    pub async fn list(&self, compartment: &str) -> Result<Listing, Error> {
        let request = request("ListQueues", Method::GET, &["queues"]).query("compartmentId", compartment);
        self.0.shared_list(request.query("limit", PAGE)).await
    }

    /// `UpdateQueue`, if the queue still has the given version.
    pub async fn update(&self, id: &str, body: &Value, if_match: Option<&str>) -> Accepted {
        let request = request("UpdateQueue", Method::PUT, &["queues", id]).body(body.clone());
        self.0.mutate(request.header("if-match", if_match)).await
    }

    /// `DeleteQueue`, if the queue still has the given version.
    pub async fn delete(&self, id: &str, if_match: Option<&str>) -> Accepted {
        let request = request("DeleteQueue", Method::DELETE, &["queues", id]);
        self.0.mutate(request.header("if-match", if_match)).await
    }

    /// `ChangeQueueCompartment`, if the queue still has the given version.
    pub async fn change_compartment(&self, id: &str, compartment: &str, if_match: Option<&str>) -> Accepted {
        let path = ["queues", id, "actions", "changeCompartment"];
        let request = request("ChangeQueueCompartment", Method::POST, &path)
            .body(json!({"compartmentId": compartment}));
        self.0.mutate(request.header("if-match", if_match)).await
    }

    /// `PurgeQueue`: deletes messages; `purge_type` is `NORMAL`, `DLQ` or `BOTH`.
    pub async fn purge(&self, id: &str, purge_type: &str) -> Accepted {
        let path = ["queues", id, "actions", "purge"];
        self.0.mutate(request("PurgeQueue", Method::POST, &path).body(json!({"purgeType": purge_type}))).await
    }

    /// `GetWorkRequest`; `retry_after` says when to poll again.
    pub async fn work_request(&self, id: &str) -> Result<Response<Value>, Error> {
        self.0.read(request("GetWorkRequest", Method::GET, &["workRequests", id])).await
    }

    /// `ListWorkRequests`: those of a compartment, all pages.
    pub async fn work_requests(&self, compartment: &str) -> Result<Listing, Error> {
        let request =
            request("ListWorkRequests", Method::GET, &["workRequests"]).query("compartmentId", compartment);
        self.0.shared_list(request.query("limit", PAGE)).await
    }

    /// `ListWorkRequestErrors`: why it failed, all pages.
    pub async fn work_request_errors(&self, id: &str) -> Result<Response<Vec<WorkRequestEntry>>, Error> {
        let path = ["workRequests", id, "errors"];
        self.entries(request("ListWorkRequestErrors", Method::GET, &path)).await
    }

    /// `ListWorkRequestLogs`: what it did, all pages.
    pub async fn work_request_logs(&self, id: &str) -> Result<Response<Vec<WorkRequestEntry>>, Error> {
        self.entries(request("ListWorkRequestLogs", Method::GET, &["workRequests", id, "logs"])).await
    }

    async fn entries(&self, request: Request) -> Result<Response<Vec<WorkRequestEntry>>, Error> {
        let mut response = self.0.list(request.query("limit", PAGE)).await?;
        let entries = std::mem::take(&mut response.body).iter().map(WorkRequestEntry::read).collect();
        Ok(response.with_body(entries))
    }
}

/// An entry of a work request's errors or logs; a log has no code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkRequestEntry {
    pub code: Option<String>,
    /// On one line.
    pub message: String,
    pub timestamp: Option<String>,
}

impl WorkRequestEntry {
    pub(crate) fn read(value: &Value) -> Self {
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
    /// A mutation, whose response may have a body.
    pub(crate) async fn mutate(&self, request: Request) -> Accepted {
        let operation = request.operation();
        response::json(self.send(request).await?, operation)
    }

    /// A read, whose response must have a body.
    pub(crate) async fn read(&self, request: Request) -> Result<Response<Value>, Error> {
        let operation = request.operation();
        required_json(self.send(request).await?, operation)
    }
}

fn request(operation: &'static str, method: Method, path: &[&str]) -> Request {
    Request::new(operation, Service::QUEUE, method, path)
}
