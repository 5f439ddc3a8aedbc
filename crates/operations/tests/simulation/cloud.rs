//! A cloud in a few hundred lines: resources with states, work requests with a timeline, retry tokens, etags, lagging
//! listings, and faults in all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use operations::{Body, Call, CallError, OWNER_TAG, Phase, Response, body_hash};
use serde_json::{Value, json};

/// How a mutation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Succeeds,
    Fails,
    FailsLeavingNothing,
    IsCanceled,
    /// Stays in this status until [`Cloud::finish_hanging`].
    Hangs(&'static str),
}

/// How the cloud behaves in general.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behavior {
    /// Whether mutations return a work request and creates accept tokens; otherwise they return the resource.
    pub(crate) work_requests: bool,
    /// Whether responses carry a work request id although there are no work requests to read.
    pub(crate) untracked_ids: bool,
    /// Seconds that a mutation takes.
    pub(crate) takes: i64,
    /// Seconds for which a new resource stays invisible.
    pub(crate) lag: i64,
    /// Whether it also stays invisible until its work request is over.
    pub(crate) hides: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Thing {
    pub(crate) state: &'static str,
    pub(crate) size: i64,
    pub(crate) pool: i64,
    /// The identity that created it; no other one sees it.
    pub(crate) place: usize,
    pub(crate) owner: Option<String>,
    etag: u64,
    visible_at: i64,
    deleted_at: Option<i64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) phase: Phase,
    pub(crate) status: &'static str,
    pub(crate) operation_type: &'static str,
    thing: String,
    outcome: Outcome,
    ends_at: i64,
    size: i64,
    pool: i64,
    place: usize,
    before: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct Cloud {
    pub(crate) now: i64,
    /// The identity that calls.
    pub(crate) place: usize,
    pub(crate) behavior: Behavior,
    pub(crate) next_outcome: Outcome,
    pub(crate) revoked: bool,
    pub(crate) things: BTreeMap<String, Thing>,
    pub(crate) works: BTreeMap<String, Work>,
    tokens: BTreeMap<(usize, String), (String, String)>,
    pub(crate) journal: Vec<String>,
    /// How many creates took effect.
    pub(crate) created: usize,
    numbers: u64,
}

/// Seconds for which a deleted resource is still shown as deleted.
const TOMBSTONE: i64 = 90;

impl Cloud {
    pub(crate) fn new(behavior: Behavior) -> Self {
        let mut cloud = Self {
            now: 1_800_000_000,
            place: 0,
            behavior,
            next_outcome: Outcome::Succeeds,
            revoked: false,
            things: BTreeMap::new(),
            works: BTreeMap::new(),
            tokens: BTreeMap::new(),
            journal: Vec::new(),
            created: 0,
            numbers: 0,
        };
        // Another owner's resource of the same name, which must never be touched.
        let foreign = Thing {
            state: "ACTIVE",
            size: 77,
            pool: 0,
            place: 0,
            owner: None,
            etag: 1,
            visible_at: 0,
            deleted_at: None,
        };
        cloud.things.insert("foreign".to_owned(), foreign);
        cloud
    }

    pub(crate) fn advance(&mut self, seconds: i64) {
        self.now += seconds;
        let ended: Vec<String> = self
            .works
            .iter()
            .filter(|(_, work)| {
                work.ends_at <= self.now
                    && !has_ended(work.status)
                    && !matches!(work.outcome, Outcome::Hangs(_))
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in ended {
            self.end(&id);
        }
        for work in self.works.values_mut().filter(|work| work.ends_at <= self.now) {
            if let Outcome::Hangs(status) = work.outcome {
                work.status = status;
            }
        }
        let now = self.now;
        self.things.retain(|_, thing| thing.deleted_at.is_none_or(|at| now - at < TOMBSTONE));
    }

    fn end(&mut self, id: &str) {
        let work = self.works.get_mut(id).expect("listed above");
        let thing = self.things.get_mut(&work.thing);
        let succeeds = work.outcome == Outcome::Succeeds;
        work.status = match work.outcome {
            Outcome::Succeeds => "SUCCEEDED",
            Outcome::IsCanceled => "CANCELED",
            _ => "FAILED",
        };
        let Some(thing) = thing.filter(|thing| thing.state != "DELETED") else { return };
        thing.etag += 1;
        match (work.phase, succeeds) {
            (Phase::Create, true) => thing.state = "ACTIVE",
            (Phase::Create, false) if work.outcome == Outcome::FailsLeavingNothing => {
                let id = work.thing.clone();
                self.things.remove(&id);
            }
            (Phase::Create, false) => thing.state = "FAILED",
            (Phase::Update, true) => {
                (thing.state, thing.size, thing.pool) = ("ACTIVE", work.size, work.pool);
            }
            (Phase::Delete, true) => (thing.state, thing.deleted_at) = ("DELETED", Some(self.now)),
            (Phase::Update | Phase::Delete, false) => thing.state = work.before,
        }
    }

    /// Lets every hanging work request succeed.
    pub(crate) fn finish_hanging(&mut self) {
        for work in self.works.values_mut() {
            if let Outcome::Hangs(_) = work.outcome {
                work.outcome = Outcome::Succeeds;
            }
        }
    }

    /// Work requests in flight that will succeed report to be updates, whatever they are. (A create that fails under
    /// that type leaves something that looks like a user's data, which only a person may remove.)
    pub(crate) fn report_update(&mut self) {
        let misreports = |work: &&mut Work| work.phase != Phase::Delete && work.outcome == Outcome::Succeeds;
        for work in self.works.values_mut().filter(|work| !has_ended(work.status)).filter(misreports) {
            work.operation_type = "UPDATE_THING";
        }
    }

    /// Lets everything in flight succeed.
    pub(crate) fn make_pending_succeed(&mut self) {
        for work in self.works.values_mut().filter(|work| !has_ended(work.status)) {
            work.outcome = Outcome::Succeeds;
        }
    }

    /// Deletes what carries the tag behind the operator's back, with or without a tombstone.
    pub(crate) fn delete_externally(&mut self, uid: &str, tombstone: bool) {
        let now = self.now;
        for thing in self.things.values_mut().filter(|thing| thing.owner.as_deref() == Some(uid)) {
            if thing.state == "ACTIVE" {
                (thing.state, thing.deleted_at) =
                    ("DELETED", Some(if tombstone { now } else { now - TOMBSTONE }));
            }
        }
        self.advance(0);
    }

    /// Changes what carries the tag behind the operator's back.
    pub(crate) fn modify_externally(&mut self, uid: &str, size: i64) {
        for thing in self.things.values_mut().filter(|thing| thing.owner.as_deref() == Some(uid)) {
            if thing.state == "ACTIVE" {
                (thing.size, thing.etag) = (size, thing.etag + 1);
            }
        }
    }

    /// The resources that carry the tag and are not deleted, visible or not.
    pub(crate) fn alive(&self, uid: &str) -> Vec<(&String, &Thing)> {
        let ours = |thing: &Thing| thing.owner.as_deref() == Some(uid) && thing.state != "DELETED";
        self.things.iter().filter(|(_, thing)| ours(thing)).collect()
    }

    pub(crate) fn calls(&self, name: &str) -> usize {
        self.journal.iter().filter(|call| call.split(' ').next() == Some(name)).count()
    }

    pub(crate) fn handle(&mut self, uid: &str, call: &Call) -> Result<Response, CallError> {
        self.journal.push(match call {
            Call::Create { token, .. } => format!("create {}", token.as_deref().unwrap_or("-")),
            Call::Update { id, .. } | Call::Delete { id, .. } | Call::Get { id, .. } => {
                format!("{} {id}", call.name())
            }
            _ => call.name().to_owned(),
        });
        if self.revoked {
            return Err(self.error(404, "NotAuthorizedOrNotFound"));
        }
        match call {
            Call::Create { token, body, .. } => self.create(token.as_deref(), body),
            Call::Update { id, body, if_match } => {
                let size = body["size"].as_i64().unwrap_or(0);
                if size < 0 {
                    return Err(self.error(400, "InvalidParameter"));
                }
                self.mutate(id, if_match.as_deref(), Phase::Update, (size, pool_of(body)))
            }
            Call::Delete { id, if_match } => self.mutate(id, if_match.as_deref(), Phase::Delete, (0, 0)),
            Call::Get { id, .. } => match self.visible(id) {
                Some(thing) => {
                    let (etag, body) = (thing.etag.to_string(), shown(id, thing));
                    Ok(Response { body: Body::Json(body), etag: Some(etag), ..self.ok() })
                }
                None => Err(self.error(404, "NotAuthorizedOrNotFound")),
            },
            Call::Find { id: wanted, scope, .. } => {
                let pool = scope.get("pool").map(|pool| pool.parse::<i64>().expect("a number"));
                let visible = |id: &&String| self.visible(id).is_some();
                let resources = self
                    .things
                    .iter()
                    .filter(|(id, _)| visible(id))
                    .filter(|(_, thing)| pool.is_none_or(|pool| thing.pool == pool))
                    .filter(|(id, thing)| thing.owner.as_deref() == Some(uid) || Some(*id) == wanted.as_ref())
                    .map(|(id, thing)| shown(id, thing))
                    .collect();
                let open = |work: &Work| work.phase == Phase::Create && !has_ended(work.status);
                let hidden = |work: &Work| self.visible(&work.thing).is_none();
                let here =
                    |work: &Work| self.things.get(&work.thing).is_some_and(|it| it.place == self.place);
                let creating = self.works.iter().filter(|(_, work)| open(work) && hidden(work) && here(work));
                let creating =
                    creating.filter(|_| self.behavior.work_requests).map(|(id, _)| id.clone()).collect();
                Ok(Response { body: Body::Listing { resources, creating }, ..self.ok() })
            }
            Call::GetWorkRequest { id } => match self.works.get(id).filter(|work| work.place == self.place) {
                Some(work) => {
                    let action = if has_ended(work.status) { "CREATED" } else { "IN_PROGRESS" };
                    let body = json!({
                        "id": id, "status": work.status, "operationType": work.operation_type,
                        "percentComplete": 140 - (work.ends_at - self.now).clamp(0, 140),
                        "resources": [{"entityType": "thing", "actionType": action, "identifier": work.thing}],
                    });
                    Ok(Response { body: Body::Json(body), ..self.ok() })
                }
                None => Err(self.error(404, "NotAuthorizedOrNotFound")),
            },
            Call::ExplainFailure { .. } => {
                Ok(Response { body: Body::Errors(vec!["the disk is full".to_owned()]), ..self.ok() })
            }
        }
    }

    fn create(&mut self, token: Option<&str>, body: &Value) -> Result<Response, CallError> {
        let hash = body_hash(body);
        let token = token.map(|token| (self.place, token.to_owned()));
        if let Some((known, work)) = token.as_ref().and_then(|token| self.tokens.get(token)) {
            let thing = self.works.get(work).and_then(|work| self.things.get(&work.thing));
            if *known != hash || thing.is_none_or(|thing| thing.state == "DELETED") {
                return Err(self.error(409, "InvalidatedRetryToken"));
            }
            let work_request_id = Some(work.clone());
            return Ok(Response { work_request_id, ..self.ok() });
        }
        let size = body["size"].as_i64().unwrap_or(0);
        if size < 0 {
            return Err(self.error(400, "InvalidParameter"));
        }
        let id = self.name("thing");
        let thing = Thing {
            state: "CREATING",
            size,
            pool: pool_of(body),
            place: self.place,
            owner: body["tags"][OWNER_TAG].as_str().map(str::to_owned),
            etag: 1,
            visible_at: self.now
                + self.behavior.lag
                + if self.behavior.hides { self.behavior.takes } else { 0 },
            deleted_at: None,
        };
        self.things.insert(id.clone(), thing);
        self.created += 1;
        let work = self.begin(&id, Phase::Create, (size, pool_of(body)), "CREATING");
        if let Some(token) = token {
            self.tokens.insert(token, (hash, work.clone()));
        }
        Ok(self.accepted(&id, work))
    }

    fn mutate(
        &mut self,
        id: &str,
        if_match: Option<&str>,
        phase: Phase,
        change: (i64, i64),
    ) -> Result<Response, CallError> {
        let Some(thing) = self.visible(id).filter(|thing| thing.state != "DELETED") else {
            return Err(self.error(404, "NotAuthorizedOrNotFound"));
        };
        if if_match.is_some_and(|etag| etag != thing.etag.to_string()) {
            return Err(self.error(412, "NoEtagMatch"));
        }
        let before = thing.state;
        if !matches!(before, "ACTIVE" | "FAILED" | "INACTIVE") {
            return Err(self.error(409, "IncorrectState"));
        }
        let thing = self.things.get_mut(id).expect("seen above");
        thing.etag += 1;
        thing.state = if phase == Phase::Update { "UPDATING" } else { "DELETING" };
        let work = self.begin(id, phase, change, before);
        Ok(self.accepted(id, work))
    }

    fn begin(&mut self, thing: &str, phase: Phase, change: (i64, i64), before: &'static str) -> String {
        let id = self.name("wr");
        let operation_type = match phase {
            Phase::Create => "CREATE_THING",
            Phase::Update => "UPDATE_THING",
            Phase::Delete => "DELETE_THING",
        };
        let mut outcome = std::mem::replace(&mut self.next_outcome, Outcome::Succeeds);
        // Only a work request could report these.
        if !self.behavior.work_requests && matches!(outcome, Outcome::Hangs(_) | Outcome::FailsLeavingNothing)
        {
            outcome = Outcome::Fails;
        }
        self.works.insert(
            id.clone(),
            Work {
                phase,
                status: "ACCEPTED",
                operation_type,
                thing: thing.to_owned(),
                outcome,
                ends_at: self.now + self.behavior.takes,
                size: change.0,
                pool: change.1,
                place: self.place,
                before,
            },
        );
        id
    }

    fn accepted(&mut self, thing: &str, work: String) -> Response {
        let body = match self.things.get(thing) {
            Some(known) if !self.behavior.work_requests => Body::Json(shown(thing, known)),
            _ => Body::Empty,
        };
        let named = self.behavior.work_requests || self.behavior.untracked_ids;
        Response { body, work_request_id: named.then_some(work), ..self.ok() }
    }

    fn visible(&self, id: &str) -> Option<&Thing> {
        self.things.get(id).filter(|thing| thing.visible_at <= self.now && thing.place == self.place)
    }

    fn ok(&self) -> Response {
        Response { request_id: Some(format!("request-{}", self.journal.len())), ..Response::default() }
    }

    pub(crate) fn error(&self, status: u16, code: &str) -> CallError {
        CallError {
            status: Some(status),
            code: code.to_owned(),
            message: "refused by the cloud".to_owned(),
            request_id: Some(format!("request-{}", self.journal.len())),
            retry_after: (status == 429).then_some(Duration::from_secs(7)),
        }
    }

    fn name(&mut self, what: &str) -> String {
        self.numbers += 1;
        format!("{what}-{}", self.numbers)
    }
}

pub(crate) fn has_ended(status: &str) -> bool {
    matches!(status, "SUCCEEDED" | "FAILED" | "CANCELED")
}

fn pool_of(body: &Value) -> i64 {
    body["pool"].as_i64().unwrap_or(0)
}

fn shown(id: &str, thing: &Thing) -> Value {
    json!({
        "id": id, "lifecycleState": thing.state, "size": thing.size, "pool": thing.pool,
        "tags": {OWNER_TAG: thing.owner},
    })
}
