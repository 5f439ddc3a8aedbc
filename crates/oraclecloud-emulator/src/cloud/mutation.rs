//! Creates, updates and deletes: when they are allowed, and which work request they start.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::resource::{Kind, Resource};
use super::work_request::WorkRequest;
use super::{ApiRequest, Cloud, Handled, TOKEN_LIFETIME, UsedToken};
use crate::ids::{COMPARTMENT, DEFAULT_POOL};
use crate::reply::{ApiError, Reply};
use crate::route::Operation;
use crate::timeline::Progress;

const MAX_TOKEN_LENGTH: usize = 64;

impl Cloud {
    pub(super) fn create(&mut self, request: &ApiRequest<'_>, now: Timestamp) -> Result<Handled, ApiError> {
        let kind = request.kind();
        let body = request.object()?;
        let mut fields = kind.validate_create(&body)?;
        if kind == Kind::Stream {
            // A pool belongs to a compartment, and a stream without a pool goes to the default one.
            fields.entry("compartmentId").or_insert(json!(COMPARTMENT));
            fields.entry("streamPoolId").or_insert(json!(DEFAULT_POOL));
        }
        if self.revoked.contains(fields["compartmentId"].as_str().unwrap_or_default()) {
            return Err(ApiError::not_authorized_or_not_found());
        }
        // Streaming ignores the header.
        let token = request.retry_token.filter(|_| kind == Kind::Queue);
        if token.is_some_and(|token| token.len() > MAX_TOKEN_LENGTH) {
            let message = format!("opc-retry-token is longer than {MAX_TOKEN_LENGTH} characters.");
            return Err(ApiError::invalid(message));
        }
        let token = token.map(|token| format!("{} {token}", request.place));
        if let Some(handled) =
            token.as_deref().map(|token| self.replay(token, &body, now)).transpose()?.flatten()
        {
            return Ok(handled);
        }
        self.add_tag_defaults(&mut fields);
        let id = self.ids.ocid(kind.name());
        let resource = Resource {
            place: request.place.to_owned(),
            kind,
            id: id.clone(),
            etag: self.ids.etag(),
            number: self.next_number(),
            fields,
            state: String::new(),
            details: None,
            created: now,
            updated: now,
            busy: None,
            creation: String::new(),
            deletion: None,
        };
        self.resources.insert(id.clone(), resource);
        let work = self.begin(request, &id, "CREATING", Map::new(), now);
        if let Some(resource) = self.resources.get_mut(&id) {
            resource.creation.clone_from(&work);
        }
        if let Some(token) = token {
            let used = UsedToken { body, work_request: work.clone(), resource: id.clone(), at: now };
            self.tokens.insert(token, used);
        }
        Ok(self.accepted(request, &id, &work))
    }

    /// The response to a create that was sent before; none if the token is new or has expired.
    fn replay(
        &mut self,
        token: &str,
        body: &Map<String, Value>,
        now: Timestamp,
    ) -> Result<Option<Handled>, ApiError> {
        self.tokens.retain(|_, used| now.duration_since(used.at) < TOKEN_LIFETIME);
        let Some(used) = self.tokens.get(token) else { return Ok(None) };
        if used.body != *body {
            return Err(ApiError::invalidated_token("The token was used with a different body."));
        }
        if self.resources.get(&used.resource).is_none_or(|resource| resource.deletion.is_some()) {
            return Err(ApiError::invalidated_token("The resource created with the token was deleted."));
        }
        let reply =
            Reply::new(StatusCode::ACCEPTED).header("opc-work-request-id", Some(used.work_request.clone()));
        Ok(Some(Handled::read(reply, Some(&used.resource))))
    }

    pub(super) fn update(&mut self, request: &ApiRequest<'_>, now: Timestamp) -> Result<Handled, ApiError> {
        let change = request.kind().validate_update(&request.object()?)?;
        self.change(request, &["ACTIVE", "INACTIVE"], "UPDATING", change, now)
    }

    pub(super) fn delete(&mut self, request: &ApiRequest<'_>, now: Timestamp) -> Result<Handled, ApiError> {
        self.change(request, &["ACTIVE", "INACTIVE", "FAILED"], "DELETING", Map::new(), now)
    }

    pub(super) fn change_compartment(
        &mut self,
        request: &ApiRequest<'_>,
        now: Timestamp,
    ) -> Result<Handled, ApiError> {
        let body = request.object()?;
        let target = body.get("compartmentId").and_then(Value::as_str).unwrap_or_default();
        if target.is_empty() {
            return Err(ApiError::missing("compartmentId"));
        }
        if self.revoked.contains(target) {
            return Err(ApiError::not_authorized_or_not_found());
        }
        let change = Map::from_iter([("compartmentId".to_owned(), json!(target))]);
        self.change(request, &["ACTIVE"], "UPDATING", change, now)
    }

    pub(super) fn purge(&mut self, request: &ApiRequest<'_>, now: Timestamp) -> Result<Handled, ApiError> {
        let body = request.object()?;
        if !matches!(body.get("purgeType").and_then(Value::as_str), Some("NORMAL" | "DLQ" | "BOTH")) {
            return Err(ApiError::invalid("purgeType must be NORMAL, DLQ or BOTH."));
        }
        self.change(request, &["ACTIVE"], "UPDATING", Map::new(), now)
    }

    /// Starts a change of a resource that exists, has the given version, and is in a state that allows it.
    fn change(
        &mut self,
        request: &ApiRequest<'_>,
        allowed: &[&str],
        state: &str,
        change: Map<String, Value>,
        now: Timestamp,
    ) -> Result<Handled, ApiError> {
        let resource = self.visible(request, now)?;
        if resource.deletion.is_some() {
            return Err(ApiError::not_authorized_or_not_found());
        }
        if request.if_match.is_some_and(|version| version != "*" && version != resource.etag) {
            return Err(ApiError::no_etag_match());
        }
        if resource.busy.is_some() || !allowed.contains(&resource.state.as_str()) {
            return Err(ApiError::incorrect_state(&resource.state));
        }
        let etag = self.ids.etag();
        if let Some(resource) = self.resources.get_mut(request.id) {
            resource.etag = etag;
            resource.updated = now;
        }
        let work = self.begin(request, request.id, state, change, now);
        Ok(self.accepted(request, request.id, &work))
    }

    /// Starts a work request and puts its resource into the transitional `state`.
    fn begin(
        &mut self,
        request: &ApiRequest<'_>,
        id: &str,
        state: &str,
        change: Map<String, Value>,
        now: Timestamp,
    ) -> String {
        let name = self.resources.get(id).map(|resource| resource.name().to_owned()).unwrap_or_default();
        let timeline = self.timeline(request.operation, &name);
        let number = self.next_number();
        let resource = self.resources.get_mut(id).expect("a work request is for an existing resource");
        let work_id = self.ids.ocid(&format!("{}workrequest", resource.kind.name()));
        let work = WorkRequest {
            place: request.place.to_owned(),
            id: work_id.clone(),
            number,
            operation: request.operation,
            kind: resource.kind,
            resource: id.to_owned(),
            compartment: resource.compartment().to_owned(),
            progress: Progress::new(timeline, now),
            change,
            state_before: std::mem::replace(&mut resource.state, state.to_owned()),
            ended: None,
        };
        resource.busy = Some(work_id.clone());
        self.in_progress.insert(work_id.clone());
        self.work_requests.insert(work_id.clone(), work);
        work_id
    }

    /// The response to a mutation that was started: Queue names the work request, Streaming returns the stream.
    fn accepted(&self, request: &ApiRequest<'_>, id: &str, work: &str) -> Handled {
        let is_queue = request.kind() == Kind::Queue;
        let reply = match self.resources.get(id) {
            _ if is_queue => Reply::new(StatusCode::ACCEPTED),
            Some(resource) if request.operation != Operation::DeleteStream => {
                Reply::json(resource.to_json()).header("etag", Some(resource.etag.clone()))
            }
            _ => Reply::new(StatusCode::NO_CONTENT),
        };
        let names_work = is_queue || self.script.stream_work_requests;
        let reply = reply.header("opc-work-request-id", names_work.then(|| work.to_owned()));
        Handled { reply, resource: Some(id.to_owned()), effect: true }
    }

    /// Adds the tenancy's default tags that the client did not set.
    fn add_tag_defaults(&self, fields: &mut Map<String, Value>) {
        let Some(Value::Object(tags)) = fields.get_mut("definedTags") else { return };
        for (namespace, defaults) in &self.script.tag_defaults {
            let own = tags.entry(namespace.clone()).or_insert_with(|| json!({}));
            if let (Value::Object(own), Value::Object(defaults)) = (own, defaults) {
                for (name, value) in defaults {
                    own.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
    }
}
