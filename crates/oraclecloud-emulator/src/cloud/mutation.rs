//! Creating, changing and deleting: what is allowed when, and which work it begins.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::resource::{Kind, Resource};
use super::work::Work;
use super::{Ask, Cloud, Done, TOKEN_LIFE, UsedToken};
use crate::identity::{COMPARTMENT, DEFAULT_POOL};
use crate::reply::{Refusal, Reply};
use crate::timeline::Progress;

/// The longest retry token that the service takes.
const LONGEST_TOKEN: usize = 64;

impl Cloud {
    pub(super) fn create(&mut self, kind: Kind, ask: &Ask<'_>, now: Timestamp) -> Result<Done, Refusal> {
        let body = ask.object()?;
        let mut fields = kind.created(&body)?;
        if kind == Kind::Stream {
            // A pool belongs to a compartment, and a stream without a pool is put into the default one.
            fields.entry("compartmentId").or_insert(json!(COMPARTMENT));
            fields.entry("streamPoolId").or_insert(json!(DEFAULT_POOL));
        }
        let compartment = fields["compartmentId"].as_str().unwrap_or_default().to_owned();
        if self.revoked.contains(&compartment) {
            return Err(Refusal::not_authorized_or_not_found());
        }
        // Streaming ignores the header.
        let token = ask.retry_token.filter(|_| kind == Kind::Queue);
        if token.is_some_and(|token| token.len() > LONGEST_TOKEN) {
            return Err(Refusal::invalid(format!(
                "opc-retry-token has more than {LONGEST_TOKEN} characters."
            )));
        }
        if let Some(done) = token.map(|token| self.replay(token, &body, now)).transpose()?.flatten() {
            return Ok(done);
        }
        self.add_tag_defaults(&mut fields);
        let id = self.names.ocid(kind.word());
        let etag = self.names.etag();
        let number = self.next_number();
        self.resources.insert(
            id.clone(),
            Resource {
                kind,
                id: id.clone(),
                number,
                fields,
                state: String::new(),
                details: None,
                etag,
                created: now,
                updated: now,
                busy: None,
                creation: String::new(),
                deletion: None,
            },
        );
        let work = self.begin(ask, &id, "CREATING", Map::new(), now);
        if let Some(resource) = self.resources.get_mut(&id) {
            resource.creation.clone_from(&work);
        }
        if let Some(token) = token {
            let used = UsedToken { body, work: work.clone(), resource: id.clone(), at: now };
            self.tokens.insert(token.to_owned(), used);
        }
        Ok(self.accepted(kind, &id, &work, StatusCode::OK))
    }

    /// The answer to a create that has been sent before; nothing when the token is new or forgotten.
    fn replay(
        &mut self,
        token: &str,
        body: &Map<String, Value>,
        now: Timestamp,
    ) -> Result<Option<Done>, Refusal> {
        self.tokens.retain(|_, used| now.duration_since(used.at) < TOKEN_LIFE);
        let Some(used) = self.tokens.get(token) else { return Ok(None) };
        if used.body != *body {
            return Err(Refusal::invalidated_token("The token was used with another body."));
        }
        if self.resources.get(&used.resource).is_none_or(|resource| resource.deletion.is_some()) {
            return Err(Refusal::invalidated_token("What the token made has been deleted."));
        }
        let reply = Reply::new(StatusCode::ACCEPTED).header("opc-work-request-id", Some(used.work.clone()));
        Ok(Some(Done::read(reply, Some(&used.resource))))
    }

    pub(super) fn update(&mut self, kind: Kind, ask: &Ask<'_>, now: Timestamp) -> Result<Done, Refusal> {
        let change = kind.updated(&ask.object()?)?;
        self.require_idle(kind, ask, now, &["ACTIVE", "INACTIVE"])?;
        Ok(self.change(kind, ask, "UPDATING", change, now, StatusCode::OK))
    }

    pub(super) fn delete(&mut self, kind: Kind, ask: &Ask<'_>, now: Timestamp) -> Result<Done, Refusal> {
        self.require_idle(kind, ask, now, &["ACTIVE", "INACTIVE", "FAILED"])?;
        Ok(self.change(kind, ask, "DELETING", Map::new(), now, StatusCode::NO_CONTENT))
    }

    pub(super) fn move_queue(&mut self, ask: &Ask<'_>, now: Timestamp) -> Result<Done, Refusal> {
        let body = ask.object()?;
        let target = body.get("compartmentId").and_then(Value::as_str).unwrap_or_default();
        if target.is_empty() {
            return Err(Refusal::missing("compartmentId"));
        }
        if self.revoked.contains(target) {
            return Err(Refusal::not_authorized_or_not_found());
        }
        self.require_idle(Kind::Queue, ask, now, &["ACTIVE"])?;
        let change = Map::from_iter([("compartmentId".to_owned(), json!(target))]);
        Ok(self.change(Kind::Queue, ask, "UPDATING", change, now, StatusCode::OK))
    }

    pub(super) fn purge(&mut self, ask: &Ask<'_>, now: Timestamp) -> Result<Done, Refusal> {
        if !matches!(ask.object()?.get("purgeType").and_then(Value::as_str), Some("NORMAL" | "DLQ" | "BOTH"))
        {
            return Err(Refusal::invalid("purgeType must be NORMAL, DLQ or BOTH."));
        }
        self.require_idle(Kind::Queue, ask, now, &["ACTIVE"])?;
        Ok(self.change(Kind::Queue, ask, "UPDATING", Map::new(), now, StatusCode::OK))
    }

    /// That the resource is there, of the version given, and in a state in which this is allowed.
    fn require_idle(
        &self,
        kind: Kind,
        ask: &Ask<'_>,
        now: Timestamp,
        allowed: &[&str],
    ) -> Result<(), Refusal> {
        let resource = self.visible(kind, ask.id, now)?;
        if resource.deletion.is_some() {
            return Err(Refusal::not_authorized_or_not_found());
        }
        if ask.if_match.is_some_and(|version| version != "*" && version != resource.etag) {
            return Err(Refusal::no_etag_match());
        }
        if resource.busy.is_some() || !allowed.contains(&resource.state.as_str()) {
            return Err(Refusal::incorrect_state(&resource.state));
        }
        Ok(())
    }

    fn change(
        &mut self,
        kind: Kind,
        ask: &Ask<'_>,
        state: &str,
        change: Map<String, Value>,
        now: Timestamp,
        stream_status: StatusCode,
    ) -> Done {
        let etag = self.names.etag();
        if let Some(resource) = self.resources.get_mut(ask.id) {
            resource.etag = etag;
            resource.updated = now;
        }
        let work = self.begin(ask, ask.id, state, change, now);
        self.accepted(kind, ask.id, &work, stream_status)
    }

    /// Starts a work on a resource and puts the resource into the state of being worked on.
    fn begin(
        &mut self,
        ask: &Ask<'_>,
        id: &str,
        state: &str,
        change: Map<String, Value>,
        now: Timestamp,
    ) -> String {
        let name = self.resources.get(id).map(|resource| resource.name().to_owned()).unwrap_or_default();
        let timeline = self.timeline(ask.operation, &name);
        let number = self.next_number();
        let resource = self.resources.get_mut(id).expect("work begins on a resource that is there");
        let work = Work {
            id: self.names.ocid(&format!("{}workrequest", resource.kind.word())),
            number,
            operation: ask.operation,
            kind: resource.kind,
            resource: id.to_owned(),
            compartment: resource.compartment().to_owned(),
            progress: Progress::new(timeline, now),
            change,
            state_before: std::mem::replace(&mut resource.state, state.to_owned()),
            ended: None,
        };
        resource.busy = Some(work.id.clone());
        let work_id = work.id.clone();
        self.open.insert(work_id.clone());
        self.works.insert(work_id.clone(), work);
        work_id
    }

    /// The answer to a mutation that has begun: Queue names the work request, Streaming shows the stream.
    fn accepted(&self, kind: Kind, id: &str, work: &str, stream_status: StatusCode) -> Done {
        let names_work = kind == Kind::Queue || self.script.stream_work_requests;
        let reply = match self.resources.get(id) {
            Some(resource) if kind == Kind::Stream && stream_status != StatusCode::NO_CONTENT => {
                Reply::json(resource.show()).header("etag", Some(resource.etag.clone()))
            }
            _ if kind == Kind::Stream => Reply::new(stream_status),
            _ => Reply::new(StatusCode::ACCEPTED),
        };
        let reply = reply.header("opc-work-request-id", names_work.then(|| work.to_owned()));
        Done { reply, resource: Some(id.to_owned()), effect: true }
    }

    /// Tags that the tenancy adds, where the client did not set them itself.
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
