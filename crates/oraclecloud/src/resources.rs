//! The calls of a described kind and of its work requests.
//!
//! Bodies are the service's JSON: fields that we do not know survive, and a controller compares only those that its spec
//! sets.

use http::Method;
use jiff::Timestamp;
use operations::{Response, Scope};
use serde_json::Value;

use crate::client::{Client, Request};
use crate::endpoint::Target;
use crate::error::Error;
use crate::kind::{Kind, Route, WorkRequestCalls, parameter};
use crate::listings::Listing;
use crate::response::{self, one_line, required_json};

/// Entries per page of work requests, errors and logs.
const PAGE: &str = "100";

/// The resources of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Resources<'a> {
    client: &'a Client,
    kind: Kind,
    /// An object with the fields that are part of the paths.
    parents: &'a Value,
}

impl Client {
    pub const fn resources(&self, kind: Kind) -> Resources<'_> {
        Resources { client: self, kind, parents: &Value::Null }
    }
}

/// The result of a mutation, whose body may be empty.
pub type Accepted = Result<Response<Option<Value>>, Error>;

impl<'a> Resources<'a> {
    /// The resources below those that these fields name.
    #[must_use]
    pub const fn within(self, parents: &'a Value) -> Self {
        Self { parents, ..self }
    }

    /// A create. For a kind with retry tokens, repeating it with the same token and body is one create.
    pub async fn create(&self, body: &Value, token: Option<&str>, not_after: Option<Timestamp>) -> Accepted {
        let token = token.filter(|_| self.kind.retry_token);
        let request = self.request(&self.description().create, "").body(body.clone());
        self.client.mutate(request.header("opc-retry-token", token).not_after(not_after)).await
    }

    pub async fn get(&self, id: &str) -> Result<Response<Value>, Error> {
        self.client.read(self.request(&self.description().get, id)).await
    }

    /// The summaries that a listing with these parameters shows, all pages.
    pub async fn list(&self, scope: &Scope) -> Result<Listing, Error> {
        let request = self.request(&self.description().list, "");
        let request = scope.iter().fold(request, |request, (name, value)| {
            // A parent that is part of the path is no parameter.
            if self.description().list.parameters().any(|it| it == name) {
                request
            } else {
                request.query(name, value)
            }
        });
        self.client.shared_list(request.query("limit", &self.kind.page.to_string())).await
    }

    /// An update, if the resource still has the given version.
    pub async fn update(&self, id: &str, body: &Value, if_match: Option<&str>) -> Accepted {
        let request = self.request(&self.description().update, id).body(body.clone());
        self.client.mutate(request.header("if-match", if_match)).await
    }

    /// A delete, if the resource still has the given version.
    pub async fn delete(&self, id: &str, if_match: Option<&str>) -> Accepted {
        let request = self.request(&self.description().delete, id);
        self.client.mutate(request.header("if-match", if_match)).await
    }

    /// Another call about a resource, by Oracle's name; none if the kind does not have it.
    pub async fn act(&self, name: &str, id: &str, body: &Value, if_match: Option<&str>) -> Option<Accepted> {
        let action = self.description().actions.iter().find(|action| action.call.name == name)?;
        let request = self.request(&action.call, id).body(body.clone());
        Some(self.client.mutate(request.header("if-match", if_match)).await)
    }

    /// A work request; `retry_after` says when to poll again.
    pub async fn work_request(&self, id: &str) -> Result<Response<Value>, Error> {
        self.client.read(self.of_work_request(&self.calls().get, id)).await
    }

    /// The work requests of a compartment, all pages; none where the service does not list them.
    pub async fn work_requests(&self, compartment: &str) -> Result<Listing, Error> {
        let Some(route) = &self.calls().list else { return Ok(Listing::default()) };
        let request = self.of_work_request(route, "").query("compartmentId", compartment);
        self.client.shared_list(request.query("limit", PAGE)).await
    }

    /// Why a work request failed, all pages.
    pub async fn work_request_errors(&self, id: &str) -> Result<Response<Vec<WorkRequestEntry>>, Error> {
        self.entries(self.calls().errors.as_ref(), id).await
    }

    /// What a work request did, all pages.
    pub async fn work_request_logs(&self, id: &str) -> Result<Response<Vec<WorkRequestEntry>>, Error> {
        self.entries(self.calls().logs.as_ref(), id).await
    }

    async fn entries(
        &self,
        route: Option<&'static Route>,
        id: &str,
    ) -> Result<Response<Vec<WorkRequestEntry>>, Error> {
        let Some(route) = route else { return Ok(Response::default()) };
        let mut response = self.client.list(self.of_work_request(route, id).query("limit", PAGE)).await?;
        let entries = std::mem::take(&mut response.body).iter().map(WorkRequestEntry::read).collect();
        Ok(response.with_body(entries))
    }

    fn description(&self) -> &'static crate::kind::Description {
        self.kind.description()
    }

    fn calls(&self) -> &'static WorkRequestCalls {
        let calls = self.kind.service.work_requests.as_ref();
        calls.expect("a kind with work requests is checked to have calls for them")
    }

    /// A request about the resource `id`, which is the last parameter of the path; the others are its parents.
    fn request(&self, route: &'static Route, id: &str) -> Request {
        let last = route.parameters().last().filter(|_| !id.is_empty());
        let segments: Vec<&str> = route
            .segments()
            .map(|segment| match parameter(segment) {
                None => segment,
                Some(name) if Some(name) == last => id,
                Some(name) => self.parents.get(name).and_then(Value::as_str).unwrap_or_default(),
            })
            .collect();
        Request::new(&route.name, Target::of(self.kind.service), route.method.clone(), &segments)
    }

    fn of_work_request(&self, route: &'static Route, id: &str) -> Request {
        let segments: Vec<&str> =
            route.segments().map(|segment| parameter(segment).map_or(segment, |_| id)).collect();
        let target = self.calls().service.as_ref().map_or(Target::of(self.kind.service), Target::at);
        Request::new(&route.name, target, Method::GET, &segments)
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
    async fn mutate(&self, request: Request) -> Accepted {
        let operation = request.operation();
        response::json(self.send(request).await?, operation)
    }

    /// A read, whose response must have a body.
    async fn read(&self, request: Request) -> Result<Response<Value>, Error> {
        let operation = request.operation();
        required_json(self.send(request).await?, operation)
    }
}
