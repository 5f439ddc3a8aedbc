//! The control plane of Streaming, which has neither retry tokens nor work requests.

use http::Method;
use jiff::Timestamp;
use operations::Response;
use serde_json::Value;

use crate::client::{Client, Request};
use crate::endpoint::Service;
use crate::error::Error;
use crate::listings::Listing;
use crate::queue::Accepted;

/// Entries per page; the service's maximum.
const PAGE: &str = "50";

/// A listing is of a compartment or of a pool, never of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamScope<'a> {
    Compartment(&'a str),
    Pool(&'a str),
}

#[derive(Clone, Copy, Debug)]
pub struct Streams<'a>(&'a Client);

impl Client {
    pub fn streams(&self) -> Streams<'_> {
        Streams(self)
    }
}

impl Streams<'_> {
    /// `CreateStream`. Sent twice, it creates two.
    pub async fn create(&self, body: &Value, not_after: Option<Timestamp>) -> Accepted {
        let request = request("CreateStream", Method::POST, &["streams"]).body(body.clone());
        self.0.mutate(request.not_after(not_after)).await
    }

    /// `GetStream`.
    pub async fn get(&self, id: &str) -> Result<Response<Value>, Error> {
        self.0.read(request("GetStream", Method::GET, &["streams", id])).await
    }

    /// `ListStreams`: the summaries of a compartment or pool, all pages.
    pub async fn list(&self, scope: StreamScope<'_>) -> Result<Listing, Error> {
        let (name, value) = match scope {
            StreamScope::Compartment(id) => ("compartmentId", id),
            StreamScope::Pool(id) => ("streamPoolId", id),
        };
        let request = request("ListStreams", Method::GET, &["streams"]).query(name, value);
        self.0.shared_list(request.query("limit", PAGE)).await
    }

    /// `UpdateStream`, if the stream still has the given version.
    pub async fn update(&self, id: &str, body: &Value, if_match: Option<&str>) -> Accepted {
        let request = request("UpdateStream", Method::PUT, &["streams", id]).body(body.clone());
        self.0.mutate(request.header("if-match", if_match)).await
    }

    /// `DeleteStream`, if the stream still has the given version.
    pub async fn delete(&self, id: &str, if_match: Option<&str>) -> Accepted {
        let request = request("DeleteStream", Method::DELETE, &["streams", id]);
        self.0.mutate(request.header("if-match", if_match)).await
    }
}

fn request(operation: &'static str, method: Method, path: &[&str]) -> Request {
    Request::new(operation, Service::STREAMING, method, path)
}
