//! The calls of a described kind and of its work requests.
//!
//! Bodies are the service's JSON: fields that we do not know survive, and a controller compares only those that its spec
//! sets.

use http::Method;
use jiff::Timestamp;
use operations::{Response, Scope};
use serde_json::{Value, json};

use crate::client::{Client, Request};
use crate::endpoint::Target;
use crate::error::Error;
use crate::kind::{Description, Kind, Route, WorkRequestCalls, parameter};
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
    spec: &'a Value,
}

impl Client {
    pub const fn resources(&self, kind: Kind) -> Resources<'_> {
        Resources { client: self, kind, spec: &Value::Null }
    }

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

/// The result of a mutation, whose body may be empty.
pub type Accepted = Result<Response<Option<Value>>, Error>;

impl<'a> Resources<'a> {
    /// The resources that this spec asks for: it says what stands in paths beside ids.
    #[must_use]
    pub const fn within(self, spec: &'a Value) -> Self {
        Self { spec, ..self }
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
        let route = &self.description().list;
        let in_query = scope.iter().filter(|(name, _)| route.parameters().all(|it| it != name.as_str()));
        let request =
            in_query.fold(self.request(route, ""), |request, (name, value)| request.query(name, value));
        self.client.shared_list(request.query("limit", &self.kind.page.to_string())).await
    }

    /// An update, if the resource still has the given version. A change of the compartment alone is a call of its own where
    /// the service has one.
    pub async fn update(&self, id: &str, body: &Value, if_match: Option<&str>) -> Accepted {
        let is_move = body.as_object().is_some_and(|body| body.keys().eq(["compartmentId"]));
        let route = self.description().change_compartment.as_ref().filter(|_| is_move);
        let request = self.request(route.unwrap_or(&self.description().update), id);
        self.client.mutate(request.body(body.clone()).header("if-match", if_match)).await
    }

    /// A delete, if the resource still has the given version.
    pub async fn delete(&self, id: &str, if_match: Option<&str>) -> Accepted {
        let route = &self.description().delete;
        let request = self.request(route, id);
        let request = if route.method == Method::DELETE { request } else { request.body(json!({})) };
        self.client.mutate(request.header("if-match", if_match)).await
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
    pub async fn work_request_errors(&self, id: &str) -> Result<Response<Vec<String>>, Error> {
        self.entries(self.calls().errors.as_ref(), id).await
    }

    /// What a work request did, all pages.
    pub async fn work_request_logs(&self, id: &str) -> Result<Response<Vec<String>>, Error> {
        self.entries(self.calls().logs.as_ref(), id).await
    }

    async fn entries(&self, route: Option<&'static Route>, id: &str) -> Result<Response<Vec<String>>, Error> {
        let Some(route) = route else { return Ok(Response::default()) };
        let entries = self.client.list(self.of_work_request(route, id).query("limit", PAGE)).await?;
        Ok(entries.map(|entries| entries.iter().map(explanation).filter(|text| !text.is_empty()).collect()))
    }

    fn description(&self) -> &'static Description {
        self.kind.description()
    }

    fn calls(&self) -> &'static WorkRequestCalls {
        let calls = self.kind.service.work_requests.as_ref();
        calls.expect("a kind with work requests is checked to have calls for them")
    }

    /// A request about the resource `id`, which is the last parameter of the path, unless a field of the spec names it
    /// there, as the others are.
    fn request(&self, route: &'static Route, id: &str) -> Request {
        let last = route.parameters().last().filter(|_| !id.is_empty());
        let value = |name: &str| match (Some(name) == last, &self.kind.address) {
            (true, None) => id,
            (true, Some(address)) => self.text(address),
            (false, _) => self.text(name),
        };
        let segments: Vec<&str> =
            route.segments().map(|segment| parameter(segment).map_or(segment, value)).collect();
        Request::new(&route.name, Target::of(self.kind.service), route.method.clone(), &segments)
    }

    fn of_work_request(&self, route: &'static Route, id: &str) -> Request {
        let segments: Vec<&str> =
            route.segments().map(|segment| parameter(segment).map_or(segment, |_| id)).collect();
        let target = self.calls().service.as_ref().map_or(Target::of(self.kind.service), Target::at);
        let request = Request::new(&route.name, target, Method::GET, &segments);
        route.query.iter().fold(request, |request, name| request.query(name, self.text(name)))
    }

    fn text(&self, name: &str) -> &str {
        self.spec.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// An entry of a work request's errors or logs on one line, with its code if it has one.
pub(crate) fn explanation(entry: &Value) -> String {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).map(one_line).unwrap_or_default();
    let texts = [text("code"), text("message")];
    texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ")
}
