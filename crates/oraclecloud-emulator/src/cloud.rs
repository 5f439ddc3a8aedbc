//! The cloud itself: resources, operations and API rules, as a function of state, request and time.

mod fields;
mod listing;
mod mutation;
mod resource;
mod work_request;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::ids::IdGenerator;
use crate::options::Script;
use crate::reply::{ApiError, Reply};
use crate::route::{Does, Operation, Read, Verb};
use crate::timeline::Timeline;
use listing::is_shown;
use oraclecloud::Kind;
use oraclecloud::kind::{Lifecycle, Shape};
use resource::Resource;
use work_request::WorkRequest;

/// The service forgets retry tokens after a day.
const TOKEN_LIFETIME: SignedDuration = SignedDuration::from_hours(24);

#[derive(Debug)]
pub(crate) struct Cloud {
    pub(crate) ids: IdGenerator,
    pub(crate) script: Script,
    pub(crate) revoked: BTreeSet<String>,
    retry_after: Option<u64>,
    resources: BTreeMap<String, Resource>,
    work_requests: BTreeMap<String, WorkRequest>,
    /// The work requests that have not ended, to avoid scanning all of them.
    in_progress: BTreeSet<String>,
    tokens: BTreeMap<String, UsedToken>,
    count: u64,
}

/// What a retry token was used for.
#[derive(Debug)]
struct UsedToken {
    body: Map<String, Value>,
    work_request: String,
    resource: String,
    at: Timestamp,
}

#[derive(Clone, Copy)]
pub(crate) struct ApiRequest<'a> {
    /// The tenancy of the caller and the region that is asked: resources of any other are unknown.
    pub(crate) place: &'a str,
    pub(crate) operation: Operation,
    pub(crate) does: Does,
    pub(crate) id: &'a str,
    /// The parameters of the path before the id.
    pub(crate) parents: &'a [(&'static str, String)],
    pub(crate) query: &'a [(String, String)],
    pub(crate) body: &'a [u8],
    pub(crate) retry_token: Option<&'a str>,
    pub(crate) if_match: Option<&'a str>,
}

impl ApiRequest<'_> {
    /// A parameter of the query; an empty value counts as absent.
    fn parameter(&self, name: &str) -> Option<&str> {
        let (_, value) = self.query.iter().find(|(key, value)| key == name && !value.is_empty())?;
        Some(value)
    }

    fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.parameter(name).ok_or_else(|| ApiError::missing(name))
    }

    fn object(&self) -> Result<Map<String, Value>, ApiError> {
        match serde_json::from_slice(self.body) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(_) => Err(ApiError::unparsable("The body is not a JSON object.")),
            Err(error) => Err(ApiError::unparsable(format!("The body is not JSON: {error}."))),
        }
    }
}

/// A request that was not rejected.
pub(crate) struct Handled {
    pub(crate) reply: Reply,
    /// The id of the resource or work request.
    pub(crate) resource: Option<String>,
    /// Whether something was created, changed or deleted.
    pub(crate) effect: bool,
}

impl Handled {
    /// Without an effect.
    pub(crate) fn read(reply: Reply, resource: Option<&str>) -> Self {
        Self { reply, resource: resource.map(str::to_owned), effect: false }
    }
}

impl Cloud {
    pub(crate) fn new(script: Script, retry_after: Option<u64>, ids: IdGenerator) -> Self {
        Self {
            ids,
            revoked: script.revoked.iter().cloned().collect(),
            script,
            retry_after,
            resources: BTreeMap::new(),
            work_requests: BTreeMap::new(),
            in_progress: BTreeSet::new(),
            tokens: BTreeMap::new(),
            count: 0,
        }
    }

    pub(crate) fn handle(&mut self, request: &ApiRequest<'_>, now: Timestamp) -> Result<Handled, ApiError> {
        self.complete_due(now);
        let (verb, kind) = match request.does {
            Does::Resource(verb, kind) => (verb, kind),
            Does::WorkRequest(read, service) => return self.read_work_request(read, service, request, now),
            Does::Federation => return Err(ApiError::no_route()),
        };
        let addressed = self.addressed(kind, request);
        let request = &ApiRequest { id: addressed.as_deref().unwrap_or(request.id), ..*request };
        match verb {
            Verb::Create => self.create(kind, request, now),
            Verb::Get => self.get(kind, request, now),
            Verb::Update => self.update(kind, request, now),
            Verb::Delete => self.delete(kind, request, now),
            Verb::Move => self.change_compartment(kind, request, now),
            Verb::List => self.list(kind, request, now),
        }
    }

    /// The id of the resource that has the given name, for a kind whose paths name it so.
    fn addressed(&self, kind: Kind, request: &ApiRequest<'_>) -> Option<String> {
        let field = kind.description().address.as_ref()?;
        let named =
            |it: &&Resource| it.kind == kind && it.place == request.place && it.text(field) == request.id;
        let mut named: Vec<&Resource> = self.resources.values().filter(named).collect();
        named.sort_by_key(|it| (it.deletion.is_some(), it.number));
        named.first().map(|it| it.id.clone())
    }

    /// Every resource that has not disappeared, even hidden ones.
    pub(crate) fn resources(&mut self, now: Timestamp) -> Vec<Value> {
        self.complete_due(now);
        let existing = self.resources.values().filter(|resource| !self.is_gone(resource, now));
        existing.map(Resource::to_json).collect()
    }

    /// The texts of a resource that are secret, by name.
    pub(crate) fn secrets(&self, id: &str) -> Vec<(String, String)> {
        let Some(resource) = self.resources.get(id) else { return Vec::new() };
        let secret = resource.kind.spec.iter().filter(|(_, field)| field.shape == Shape::Secret);
        secret.map(|(name, _)| (name.clone(), resource.text(name).to_owned())).collect()
    }

    /// Changes a resource without a request; returns whether it exists.
    pub(crate) fn edit(&mut self, id: &str, change: &Map<String, Value>, now: Timestamp) -> bool {
        let etag = self.ids.etag();
        let Some(resource) = self.resources.get_mut(id) else { return false };
        for (name, value) in change {
            match (name.as_str(), value.as_str()) {
                ("lifecycleState", Some(state)) => state.clone_into(&mut resource.state),
                _ => _ = resource.fields.insert(name.clone(), value.clone()),
            }
        }
        resource.etag = etag;
        resource.updated = now;
        true
    }

    /// Removes a resource without a request; returns whether it existed.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        self.resources.remove(id).is_some()
    }

    fn get(&mut self, kind: Kind, request: &ApiRequest<'_>, now: Timestamp) -> Result<Handled, ApiError> {
        let found = self.visible(kind, request, now).map(|resource| {
            let reply = Reply::json(resource.to_json()).header("etag", Some(resource.etag.clone()));
            reply.header("retry-after", self.retry_after(resource.busy.is_some()))
        });
        self.record_poll(request.id, now);
        Ok(Handled::read(found?, Some(request.id)))
    }

    fn read_work_request(
        &mut self,
        read: Read,
        service: Option<&str>,
        request: &ApiRequest<'_>,
        now: Timestamp,
    ) -> Result<Handled, ApiError> {
        match read {
            Read::List => return self.list_work_requests(service, request, now),
            Read::Errors => return self.list_details(service, request, WorkRequest::errors),
            Read::Logs => return self.list_details(service, request, WorkRequest::logs),
            Read::One => {}
        }
        let work = self.work_request(service, request)?;
        let reply = Reply::json(work.to_json(self.script.pace, now))
            .header("retry-after", self.retry_after(work.ended.is_none()));
        if let Some(work) = self.work_requests.get_mut(request.id) {
            work.progress.record_poll();
        }
        Ok(Handled::read(reply, Some(request.id)))
    }

    fn retry_after(&self, is_pending: bool) -> Option<String> {
        self.retry_after.filter(|_| is_pending).map(|seconds| seconds.to_string())
    }

    /// A work request of a service that the client may read.
    fn work_request(
        &self,
        service: Option<&str>,
        request: &ApiRequest<'_>,
    ) -> Result<&WorkRequest, ApiError> {
        self.work_requests
            .get(request.id)
            .filter(|work| work.place == request.place)
            .filter(|work| is_shown(work, service) && !self.revoked.contains(&work.compartment))
            .ok_or_else(ApiError::not_authorized_or_not_found)
    }

    /// The resource of a request, if the client may read it and it is not hidden by lag.
    fn visible(&self, kind: Kind, request: &ApiRequest<'_>, now: Timestamp) -> Result<&Resource, ApiError> {
        self.resources
            .get(request.id)
            .filter(|resource| resource.kind == kind && resource.place == request.place)
            .filter(|resource| request.parents.iter().all(|(name, value)| resource.text(name) == value))
            .filter(|resource| !self.revoked.contains(resource.compartment()))
            .filter(|resource| !self.is_hidden(resource, now) && !self.is_gone(resource, now))
            .ok_or_else(ApiError::not_authorized_or_not_found)
    }

    /// Whether reads do not return the resource yet.
    fn is_hidden(&self, resource: &Resource, now: Timestamp) -> bool {
        let progress = &self.work_requests[&resource.creation].progress;
        let hidden = progress.timeline.hidden;
        // The poll that reports the end counts as a step too.
        let until = if resource.kind.has_work_requests() { progress.length() + 1 + hidden } else { hidden };
        hidden > 0 && progress.position(self.script.pace, now) < until
    }

    /// Whether reads do not return the resource any more.
    fn is_gone(&self, resource: &Resource, now: Timestamp) -> bool {
        resource.deletion.as_ref().is_some_and(|deletion| {
            match resource.meaning() {
                // Without a state there is nothing to show.
                Some(Lifecycle::Ready) => return true,
                Some(Lifecycle::Scheduled) => return false,
                _ => {}
            }
            let progress = &self.work_requests[deletion].progress;
            progress.position(self.script.pace, now) > progress.length() + progress.timeline.lingers
        })
    }

    /// A poll of a resource advances its operation, or the lag of its appearance or disappearance.
    fn record_poll(&mut self, id: &str, now: Timestamp) {
        let Some(resource) = self.resources.get(id) else { return };
        let work = match (&resource.busy, &resource.deletion) {
            (Some(work), _) | (None, Some(work)) => Some(work),
            (None, None) => self.is_hidden(resource, now).then_some(&resource.creation),
        };
        if let Some(work) = work.cloned().and_then(|work| self.work_requests.get_mut(&work)) {
            work.progress.record_poll();
        }
    }

    /// Applies the outcome of all work requests that have ended by now.
    fn complete_due(&mut self, now: Timestamp) {
        let pace = self.script.pace;
        let ended: Vec<String> = self
            .in_progress
            .iter()
            .filter(|id| self.work_requests[id.as_str()].progress.has_ended(pace, now))
            .cloned()
            .collect();
        for id in ended {
            self.in_progress.remove(&id);
            let work = self.work_requests.get_mut(&id).expect("a work request in progress exists");
            work.ended = Some(now);
            if let Some(resource) = self.resources.get_mut(&work.resource) {
                resource.complete(work, now);
            }
        }
    }

    /// The first timeline of the script that matches.
    fn timeline(&mut self, operation: Operation, name: &str) -> Timeline {
        let rule = self.script.timelines.iter_mut().find(|rule| {
            rule.operation == operation
                && rule.name.as_deref().is_none_or(|wanted| wanted == name)
                && rule.times != Some(0)
        });
        match rule {
            Some(rule) => {
                rule.times = rule.times.map(|times| times - 1);
                rule.timeline.clone()
            }
            None => Timeline::default(),
        }
    }

    fn next_number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}
