//! The cloud itself: resources, their operations and the rules of the API, decided from state, request and time.

mod fields;
mod listing;
mod mutation;
mod resource;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::identity::Names;
use crate::options::Script;
use crate::reply::{Refusal, Reply};
use crate::route::Operation;
use crate::timeline::{Pace, Timeline};
use resource::{Kind, Resource};
use work::Work;

/// How long a retry token is remembered.
const TOKEN_LIFE: SignedDuration = SignedDuration::from_hours(24);

/// The state of the cloud.
#[derive(Debug)]
pub(crate) struct Cloud {
    pub(crate) names: Names,
    pub(crate) script: Script,
    pub(crate) revoked: BTreeSet<String>,
    retry_after: Option<u64>,
    resources: BTreeMap<String, Resource>,
    works: BTreeMap<String, Work>,
    /// The works that have not ended, so that a busy cloud does not look through all it ever did.
    open: BTreeSet<String>,
    tokens: BTreeMap<String, UsedToken>,
    count: u64,
}

/// What a retry token was used for.
#[derive(Debug)]
struct UsedToken {
    body: Map<String, Value>,
    work: String,
    resource: String,
    at: Timestamp,
}

/// A request, as far as the cloud is concerned.
pub(crate) struct Ask<'a> {
    pub(crate) operation: Operation,
    pub(crate) id: &'a str,
    pub(crate) query: &'a [(String, String)],
    pub(crate) body: &'a [u8],
    pub(crate) retry_token: Option<&'a str>,
    pub(crate) if_match: Option<&'a str>,
}

impl Ask<'_> {
    /// A parameter of the query; one without a value is not there.
    fn parameter(&self, name: &str) -> Option<&str> {
        let (_, value) = self.query.iter().find(|(key, value)| key == name && !value.is_empty())?;
        Some(value)
    }

    fn required(&self, name: &str) -> Result<&str, Refusal> {
        self.parameter(name).ok_or_else(|| Refusal::missing(name))
    }

    fn object(&self) -> Result<Map<String, Value>, Refusal> {
        match serde_json::from_slice(self.body) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(_) => Err(Refusal::unparsable("The body is not a JSON object.")),
            Err(error) => Err(Refusal::unparsable(format!("The body is not JSON: {error}."))),
        }
    }
}

/// What a request came to.
pub(crate) struct Done {
    pub(crate) reply: Reply,
    /// The resource or work request it was about.
    pub(crate) resource: Option<String>,
    /// Whether something was created, changed or deleted.
    pub(crate) effect: bool,
}

impl Done {
    fn read(reply: Reply, resource: Option<&str>) -> Self {
        Self { reply, resource: resource.map(str::to_owned), effect: false }
    }
}

impl Cloud {
    pub(crate) fn new(script: Script, retry_after: Option<u64>, names: Names) -> Self {
        Self {
            names,
            revoked: script.revoked.iter().cloned().collect(),
            script,
            retry_after,
            resources: BTreeMap::new(),
            works: BTreeMap::new(),
            open: BTreeSet::new(),
            tokens: BTreeMap::new(),
            count: 0,
        }
    }

    /// Answers a request.
    pub(crate) fn handle(&mut self, ask: &Ask<'_>, now: Timestamp) -> Result<Done, Refusal> {
        self.settle(now);
        match ask.operation {
            Operation::CreateQueue => self.create(Kind::Queue, ask, now),
            Operation::CreateStream => self.create(Kind::Stream, ask, now),
            Operation::GetQueue => self.get(Kind::Queue, ask, now),
            Operation::GetStream => self.get(Kind::Stream, ask, now),
            Operation::UpdateQueue => self.update(Kind::Queue, ask, now),
            Operation::UpdateStream => self.update(Kind::Stream, ask, now),
            Operation::DeleteQueue => self.delete(Kind::Queue, ask, now),
            Operation::DeleteStream => self.delete(Kind::Stream, ask, now),
            Operation::ChangeQueueCompartment => self.move_queue(ask, now),
            Operation::PurgeQueue => self.purge(ask, now),
            Operation::ListQueues => self.list_queues(ask, now),
            Operation::ListStreams => self.list_streams(ask, now),
            Operation::GetWorkRequest => self.get_work(ask, now),
            Operation::ListWorkRequests => self.list_works(ask, now),
            Operation::ListWorkRequestErrors => self.list_notes(ask, now, Work::errors),
            Operation::ListWorkRequestLogs => self.list_notes(ask, now, Work::logs),
            Operation::GetInstanceMetadata
            | Operation::IssueInstanceToken
            | Operation::IssueWorkloadToken => Err(Refusal::no_route()),
        }
    }

    /// Every resource that has not vanished, as it is.
    pub(crate) fn resources(&mut self, now: Timestamp) -> Vec<Value> {
        self.settle(now);
        let shown = self.resources.values().filter(|resource| !self.is_gone(resource, now));
        shown.map(Resource::show).collect()
    }

    /// Changes a resource behind everyone's back; whether there is one.
    pub(crate) fn edit(&mut self, id: &str, change: &Map<String, Value>, now: Timestamp) -> bool {
        let etag = self.names.etag();
        let Some(resource) = self.resources.get_mut(id) else { return false };
        for (name, value) in change {
            match (name.as_str(), value.as_str()) {
                ("lifecycleState", Some(state)) => state.clone_into(&mut resource.state),
                _ => {
                    resource.fields.insert(name.clone(), value.clone());
                }
            }
        }
        resource.etag = etag;
        resource.updated = now;
        true
    }

    /// Removes a resource without a trace; whether there was one.
    pub(crate) fn forget(&mut self, id: &str) -> bool {
        self.resources.remove(id).is_some()
    }

    fn get(&mut self, kind: Kind, ask: &Ask<'_>, now: Timestamp) -> Result<Done, Refusal> {
        let shown = self.visible(kind, ask.id, now).map(|resource| {
            let busy = resource.busy.is_some();
            (Reply::json(resource.show()).header("etag", Some(resource.etag.clone())), busy)
        });
        self.look_at(ask.id, now);
        let (reply, busy) = shown?;
        let pause = self.retry_after.filter(|_| busy).map(|seconds| seconds.to_string());
        Ok(Done::read(reply.header("retry-after", pause), Some(ask.id)))
    }

    fn get_work(&mut self, ask: &Ask<'_>, now: Timestamp) -> Result<Done, Refusal> {
        let pace = self.script.pace;
        let work = self.work(ask.id)?;
        let pause = self.retry_after.filter(|_| work.ended.is_none()).map(|seconds| seconds.to_string());
        let reply = Reply::json(work.show(pace, now)).header("retry-after", pause);
        if let Some(work) = self.works.get_mut(ask.id) {
            work.progress.looked_at();
        }
        Ok(Done::read(reply, Some(ask.id)))
    }

    /// A work request of a Queue that may be seen.
    fn work(&self, id: &str) -> Result<&Work, Refusal> {
        self.works
            .get(id)
            .filter(|work| work.kind == Kind::Queue && !self.revoked.contains(&work.compartment))
            .ok_or_else(Refusal::not_authorized_or_not_found)
    }

    /// A resource that may be seen and is not hidden by lag.
    fn visible(&self, kind: Kind, id: &str, now: Timestamp) -> Result<&Resource, Refusal> {
        self.resources
            .get(id)
            .filter(|resource| resource.kind == kind && !self.revoked.contains(resource.compartment()))
            .filter(|resource| !self.is_hidden(resource, now) && !self.is_gone(resource, now))
            .ok_or_else(Refusal::not_authorized_or_not_found)
    }

    /// Whether reads do not show the resource yet.
    fn is_hidden(&self, resource: &Resource, now: Timestamp) -> bool {
        let progress = &self.works[&resource.creation].progress;
        let hidden = progress.timeline.hidden;
        let until = match resource.kind {
            // The look that shows the end counts as a step too.
            Kind::Queue => progress.length() + 1 + hidden,
            Kind::Stream => hidden,
        };
        hidden > 0 && progress.position(self.script.pace, now) < until
    }

    /// Whether reads do not show the resource any more.
    fn is_gone(&self, resource: &Resource, now: Timestamp) -> bool {
        resource.deletion.as_ref().is_some_and(|deletion| {
            let progress = &self.works[deletion].progress;
            progress.position(self.script.pace, now) > progress.length() + progress.timeline.lingers
        })
    }

    /// A look at a resource moves on what is happening to it, or the lag of its appearing and vanishing.
    fn look_at(&mut self, id: &str, now: Timestamp) {
        let Some(resource) = self.resources.get(id) else { return };
        let work = match (&resource.busy, &resource.deletion) {
            (Some(work), _) | (None, Some(work)) => Some(work),
            (None, None) => self.is_hidden(resource, now).then_some(&resource.creation),
        };
        if let Some(work) = work.cloned().and_then(|work| self.works.get_mut(&work)) {
            work.progress.looked_at();
        }
    }

    /// Lets everything that has come to its end by now have its outcome.
    fn settle(&mut self, now: Timestamp) {
        let pace = self.script.pace;
        let ended: Vec<String> = self
            .open
            .iter()
            .filter(|id| self.works[id.as_str()].progress.has_ended(pace, now))
            .cloned()
            .collect();
        for id in ended {
            self.open.remove(&id);
            let work = self.works.get_mut(&id).expect("open works are works");
            work.ended = Some(now);
            if let Some(resource) = self.resources.get_mut(&work.resource) {
                resource.settle(work, now);
            }
        }
    }

    /// How an operation is to go, by the script.
    fn timeline(&mut self, operation: Operation, name: &str) -> Timeline {
        let fits = self.script.timelines.iter_mut().find(|entry| {
            entry.operation == operation
                && entry.name.as_deref().is_none_or(|wanted| wanted == name)
                && entry.times != Some(0)
        });
        match fits {
            Some(entry) => {
                entry.times = entry.times.map(|times| times - 1);
                entry.timeline.clone()
            }
            None => Timeline::default(),
        }
    }

    fn next_number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn pace(&self) -> Pace {
        self.script.pace
    }
}

/// A list as Queue's API has it.
fn items(entries: &[Value]) -> Value {
    json!({"items": entries})
}
