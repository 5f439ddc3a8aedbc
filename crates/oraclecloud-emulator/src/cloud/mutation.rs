//! Creates, updates and deletes: when they are allowed, and which work request they start.

use http::StatusCode;
use jiff::Timestamp;
use oraclecloud::Kind;
use oraclecloud::kind::{Lifecycle, Phase};
use serde_json::{Map, Value, json};

use super::fields::{validate_create, validate_move, validate_update};
use super::resource::{Resource, state_name};
use super::work_request::{Work, WorkRequest, operation_type};
use super::{ApiRequest, Cloud, Handled, TOKEN_LIFETIME, UsedToken};
use crate::reply::{ApiError, Reply};
use crate::timeline::{Progress, Timeline};

const MAX_TOKEN_LENGTH: usize = 64;

/// A change that was accepted.
struct Change {
    work: Work,
    operation_type: String,
    /// The transitional state; none for a kind that goes from state to state at once.
    state: Option<&'static str>,
    /// The new values of fields.
    fields: Map<String, Value>,
}

impl Cloud {
    pub(super) fn create(
        &mut self,
        kind: Kind,
        request: &ApiRequest<'_>,
        now: Timestamp,
    ) -> Result<Handled, ApiError> {
        let body = request.object()?;
        let mut fields = validate_create(kind, &body)?;
        fields.extend(request.parents.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
        if fields.get("compartmentId").and_then(Value::as_str).is_some_and(|id| self.revoked.contains(id)) {
            return Err(ApiError::not_authorized_or_not_found());
        }
        let token = request.retry_token.filter(|_| kind.retry_token);
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
        let named = kind.address.iter().chain(kind.unique_name.then_some(&kind.name_field));
        for name in named {
            let is_taken = |it: &Resource| {
                it.kind == kind
                    && it.place == request.place
                    && it.deletion.is_none()
                    && it.fields.get(name) == fields.get(name)
            };
            if self.resources.values().any(is_taken) {
                return Err(ApiError::already_exists(name));
            }
        }
        self.add_tag_defaults(&mut fields);
        let id = self.ids.ocid(&kind.name.to_lowercase());
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
        let change = Change {
            work: Work::Create,
            operation_type: operation_type(kind, Phase::Create),
            state: state_name(kind, Lifecycle::Pending(Phase::Create)),
            fields: Map::new(),
        };
        let work = self.begin(request, &id, change, now);
        if let Some(resource) = self.resources.get_mut(&id) {
            resource.creation.clone_from(&work);
        }
        if let Some(token) = token {
            let used = UsedToken { body, work_request: work.clone(), resource: id.clone(), at: now };
            self.tokens.insert(token, used);
        }
        Ok(self.accepted(kind, Some(Phase::Create), &id, &work))
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

    pub(super) fn update(
        &mut self,
        kind: Kind,
        request: &ApiRequest<'_>,
        now: Timestamp,
    ) -> Result<Handled, ApiError> {
        let change = Change {
            work: Work::Change,
            operation_type: operation_type(kind, Phase::Update),
            state: state_name(kind, Lifecycle::Pending(Phase::Update)),
            fields: validate_update(kind, &request.object()?)?,
        };
        self.change(
            kind,
            Some(Phase::Update),
            request,
            &[Lifecycle::Ready, Lifecycle::Attention],
            change,
            now,
        )
    }

    pub(super) fn delete(
        &mut self,
        kind: Kind,
        request: &ApiRequest<'_>,
        now: Timestamp,
    ) -> Result<Handled, ApiError> {
        let change = Change {
            work: Work::Delete,
            operation_type: operation_type(kind, Phase::Delete),
            state: state_name(kind, Lifecycle::Pending(Phase::Delete)),
            fields: Map::new(),
        };
        let allowed = [Lifecycle::Ready, Lifecycle::Attention, Lifecycle::Failed];
        self.change(kind, Some(Phase::Delete), request, &allowed, change, now)
    }

    pub(super) fn change_compartment(
        &mut self,
        kind: Kind,
        request: &ApiRequest<'_>,
        now: Timestamp,
    ) -> Result<Handled, ApiError> {
        let fields = validate_move(&request.object()?)?;
        if fields.values().filter_map(Value::as_str).any(|target| self.revoked.contains(target)) {
            return Err(ApiError::not_authorized_or_not_found());
        }
        let move_type = kind.operation_types.keys().find(|name| name.contains("MOVE"));
        let change = Change {
            work: Work::Change,
            operation_type: move_type.cloned().unwrap_or_else(|| operation_type(kind, Phase::Update)),
            state: state_name(kind, Lifecycle::Pending(Phase::Update)),
            fields,
        };
        self.change(kind, None, request, &[Lifecycle::Ready], change, now)
    }

    /// Starts a change of a resource that exists, has the given version, and is in a state that allows it.
    fn change(
        &mut self,
        kind: Kind,
        phase: Option<Phase>,
        request: &ApiRequest<'_>,
        allowed: &[Lifecycle],
        change: Change,
        now: Timestamp,
    ) -> Result<Handled, ApiError> {
        let resource = self.visible(kind, request, now)?;
        if resource.deletion.is_some() {
            return Err(ApiError::not_authorized_or_not_found());
        }
        if request.if_match.is_some_and(|version| version != "*" && version != resource.etag) {
            return Err(ApiError::no_etag_match());
        }
        if resource.busy.is_some() || !resource.meaning().is_some_and(|state| allowed.contains(&state)) {
            return Err(ApiError::incorrect_state(&resource.state));
        }
        let etag = self.ids.etag();
        if let Some(resource) = self.resources.get_mut(request.id) {
            resource.etag = etag;
            resource.updated = now;
        }
        let work = self.begin(request, request.id, change, now);
        Ok(self.accepted(kind, phase, request.id, &work))
    }

    /// Starts a work request and puts its resource into the transitional state. A kind without one changes at once.
    fn begin(&mut self, request: &ApiRequest<'_>, id: &str, change: Change, now: Timestamp) -> String {
        let name = self.resources.get(id).map(|resource| resource.name().to_owned()).unwrap_or_default();
        let mut timeline = self.timeline(request.operation, &name);
        if change.state.is_none() {
            timeline = Timeline { steps: Vec::new(), ..timeline };
        }
        let number = self.next_number();
        let resource = self.resources.get_mut(id).expect("a work request is for an existing resource");
        let work_id = self.ids.ocid(&format!("{}workrequest", resource.kind.name.to_lowercase()));
        let work = WorkRequest {
            place: request.place.to_owned(),
            id: work_id.clone(),
            number,
            work: change.work,
            operation_type: change.operation_type,
            kind: resource.kind,
            resource: id.to_owned(),
            compartment: resource.compartment().to_owned(),
            progress: Progress::new(timeline, now),
            change: change.fields,
            state_before: resource.state.clone(),
            ended: None,
        };
        if let Some(state) = change.state {
            state.clone_into(&mut resource.state);
        }
        resource.busy = Some(work_id.clone());
        self.in_progress.insert(work_id.clone());
        self.work_requests.insert(work_id.clone(), work);
        if change.state.is_none() {
            self.complete_due(now);
        }
        work_id
    }

    /// The response to a mutation that was started: with the resource, with the work request, or with both.
    fn accepted(&self, kind: Kind, phase: Option<Phase>, id: &str, work: &str) -> Handled {
        let names_work =
            kind.has_work_requests() && phase.is_none_or(|phase| kind.work_requests.contains(&phase));
        let has_body = phase.is_some_and(|phase| kind.bodies.contains(&phase));
        let reply = match self.resources.get(id).filter(|_| has_body) {
            Some(resource) => Reply::json(resource.to_json()).header("etag", Some(resource.etag.clone())),
            None if names_work => Reply::new(StatusCode::ACCEPTED),
            None => Reply::new(StatusCode::NO_CONTENT),
        };
        let names_work = names_work || self.script.stream_work_requests;
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
