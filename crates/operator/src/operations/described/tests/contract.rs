//! The rules of the contract on asynchronous status, for every description: what a response of the service makes of the
//! record, of the conditions and of the next call.

use std::collections::BTreeMap;

use operations::{
    Action, Annotations, Body, Call, CallError, Class, ConditionStatus, ConditionType, Desired,
    ExternalService as _, FinalizeReason, Identity, Jitter, Lifecycle, LocalState, Now, Observation, Phase,
    Policy, Response, Schedule, Source, Status, Step, Unshown, decide,
};
use oraclecloud::Kind;
use oraclecloud::kind::{Embedded, Extent};
use serde_json::{Value, json};

use super::super::Described;
use super::every::{UID, every_kind, service, shown, spec, word};

/// A spec with everything that a create takes.
fn everything(kind: Kind) -> Value {
    let mut asked = spec(kind, None, Extent::Everything);
    for (name, _) in kind.spec.iter().filter(|(_, field)| field.late) {
        asked.as_object_mut().unwrap().remove(name);
    }
    asked
}

/// One object of a kind, reconciled step by step without a cloud.
struct Object {
    kind: Kind,
    service: Described,
    spec: Value,
    desired: Desired,
    status: Status,
    local: LocalState,
    now: i64,
}

impl Object {
    fn new(kind: Kind) -> Self {
        Self::asking_for(kind, spec(kind, None, Extent::Required))
    }

    fn asking_for(kind: Kind, spec: Value) -> Self {
        let service = service(kind);
        let desired = Desired {
            kind: kind.decisions,
            uid: UID.to_owned(),
            generation: 1,
            created_in_term: true,
            body: service.create_body(&spec, UID),
            unshown: service.unshown(&spec),
            missing_secret: service.missing_secret(&spec),
            missing_in_updates: service.missing_in_updates(&spec),
            scope: service.scope(&spec),
            identity: Some(Identity {
                region: "phx".to_owned(),
                tenancy: Some("t".to_owned()),
                secret: None,
            }),
            policy: Policy::default(),
            deleting: false,
            has_finalizer: false,
            annotations: Annotations::default(),
            endpoint_error: None,
        };
        Self {
            kind,
            service,
            spec,
            desired,
            status: Status::default(),
            local: LocalState::default(),
            now: 1_800_000_000,
        }
    }

    /// An object whose create was just accepted.
    fn creating(kind: Kind, work_request: Option<&str>) -> (Self, Action) {
        Self::new(kind).created(work_request)
    }

    fn created(self, work_request: Option<&str>) -> (Self, Action) {
        let (kind, mut object) = (self.kind, self);
        assert_eq!(object.step(Observation::none()), Action::AddFinalizer, "{kind:?}");
        object.desired.has_finalizer = true;
        let create = object.step(Observation::none());
        assert!(matches!(create, Action::Call(Call::Create { .. })), "{kind:?}: {create:?}");
        let intent = object.status.current().unwrap();
        assert_eq!((intent.record.phase, intent.record.attempt), (Phase::Create, Some(1)), "{kind:?}");
        assert_eq!(intent.token.is_some(), kind.retry_token, "{kind:?}: the token is stored before the call");
        let body = match word(kind, Lifecycle::Pending(Phase::Create)) {
            Some(state) if kind.bodies.contains(&Phase::Create) => Body::Json(object.resource(Some(state))),
            _ => Body::Empty,
        };
        let next = object.answer(create, body, "create-1", work_request);
        (object, next)
    }

    /// The same with everything that a create takes.
    fn ready_with_everything(kind: Kind) -> Self {
        Self::asking_for(kind, everything(kind)).up()
    }

    /// An object whose resource matches its spec.
    fn ready(kind: Kind) -> Self {
        Self::new(kind).up()
    }

    fn up(self) -> Self {
        let kind = self.kind;
        let (mut object, mut next) = self.created(kind.has_work_requests().then_some("wr-1"));
        for _ in 0..8 {
            next = match next {
                Action::Requeue(_) => {
                    if object.ready_condition() == Some(ConditionStatus::True) {
                        return object;
                    }
                    object.step(Observation::none())
                }
                Action::Call(Call::GetWorkRequest { .. }) => {
                    let done = object.work("SUCCEEDED");
                    object.answer(next, Body::Json(done), "poll", None)
                }
                Action::Call(Call::Find { .. }) => {
                    let mut entry = object.resource(word(kind, Lifecycle::Ready));
                    if kind.unique_name {
                        entry["freeformTags"] = json!({"plimsoll-uid": UID});
                    }
                    let found = Body::Listing { resources: vec![entry], creating: Vec::new() };
                    object.answer(next, found, "list", None)
                }
                next => {
                    let resource = object.resource(word(kind, Lifecycle::Ready));
                    object.answer(next, Body::Json(resource), "get", None)
                }
            };
        }
        panic!("{kind:?} does not become ready: {next:?}, {:?}", object.status);
    }

    fn step(&mut self, observation: Observation) -> Action {
        let now = Now { time: jiff::Timestamp::from_second(self.now).unwrap(), jitter: Jitter::default() };
        let Step { status, local, action, .. } =
            decide(&self.desired, &self.status, &self.local, observation, &Schedule::default(), now);
        (self.status, self.local) = (status, local);
        action
    }

    fn respond(&mut self, action: Action, result: Result<Response, CallError>) -> Action {
        let Action::Call(call) = action else { panic!("{:?}: no call to respond to: {action:?}", self.kind) };
        self.step(Observation::of_call(&self.service, &self.spec, UID, call, result))
    }

    fn answer(&mut self, action: Action, body: Body, request: &str, work_request: Option<&str>) -> Action {
        let response = Response {
            body,
            request_id: Some(request.to_owned()),
            work_request_id: work_request.map(str::to_owned),
            ..Response::default()
        };
        self.respond(action, Ok(response))
    }

    fn resource(&self, state: Option<&str>) -> Value {
        shown(self.kind, &self.desired.body, state)
    }

    /// A work request of the operation in flight that says nothing of its type.
    fn work(&self, status: &str) -> Value {
        let entity = self.kind.entity.as_ref().unwrap_or(&self.kind.name);
        let named = json!([{"entityType": entity, "actionType": "IN_PROGRESS", "identifier": "ocid1.thing"}]);
        json!({"id": "wr-1", "status": status, "percentComplete": 140, "resources": named})
    }

    fn ready_condition(&self) -> Option<ConditionStatus> {
        self.status.condition(ConditionType::Ready).map(|it| it.status)
    }

    fn request_id(&self) -> Option<&str> {
        self.status.status.opc_request_id.as_deref()
    }

    /// OSOK's word for how the object stands.
    fn reason(&self) -> Option<&str> {
        self.status.status.reason.as_deref()
    }
}

#[test]
fn the_headers_of_an_accepted_create_open_the_record() {
    for kind in every_kind() {
        for work_request in [Some("wr-1"), None] {
            let (object, _) = Object::creating(kind, work_request);
            assert_eq!(object.request_id(), Some("create-1"), "{kind:?}");
            let current = object.status.current().unwrap_or_else(|| panic!("{kind:?}: {:?}", object.status));
            let record = &current.record;
            assert_eq!(record.work_request_id.as_deref(), work_request, "{kind:?}: also as a breadcrumb");
            assert_eq!((record.phase, record.normalized_class), (Phase::Create, Class::Pending), "{kind:?}");
            let creating = word(kind, Lifecycle::Pending(Phase::Create));
            let shows_state = kind.bodies.contains(&Phase::Create) && creating.is_some();
            let follows = kind.has_work_requests() && !shows_state;
            let source = if follows { Source::WorkRequest } else { Source::Lifecycle };
            assert_eq!(current.source, source, "{kind:?}");
            assert_eq!(object.reason(), Some("Provisioning"), "{kind:?}");
        }
    }
}

#[test]
fn every_state_has_its_row_in_both_tables() {
    for kind in every_kind().filter(|kind| !kind.states.is_empty()) {
        for (state, meaning) in kind.decisions.states.iter().chain([&("PONDERING", Lifecycle::Failed)]) {
            let mut object = Object::ready(kind);
            let get = object.step(Observation::none());
            let resource = object.resource(Some(state));
            let next = object.answer(get, Body::Json(resource), "get", None);
            let class = |object: &Object| object.status.current().map(|it| it.record.normalized_class);
            let requeues = matches!(next, Action::Requeue(_));
            let reason = object.reason();
            let case = format!("{kind:?} {state}: {next:?}");
            match (kind.decisions.lifecycle(Some(state)), meaning) {
                (None, _) => assert!(reason == Some("Failed") && requeues, "{case}"),
                (_, Lifecycle::Pending(phase)) => {
                    let expected = ["Provisioning", "Updating", "Terminating"][*phase as usize];
                    assert!(
                        reason == Some(expected) && class(&object) == Some(Class::Pending) && requeues,
                        "{case}"
                    );
                }
                (_, Lifecycle::Ready) => {
                    assert!(reason == Some("Active") && class(&object).is_none() && requeues, "{case}");
                }
                (_, Lifecycle::Deleted) => assert!(matches!(next, Action::Call(Call::Find { .. })), "{case}"),
                (_, Lifecycle::Failed | Lifecycle::Attention | Lifecycle::Scheduled) => {
                    assert!(reason == Some("Failed") && requeues, "{case}");
                    assert_eq!(object.ready_condition(), Some(ConditionStatus::False), "{case}");
                }
            }
        }
    }
}

#[test]
fn every_class_of_a_work_request_has_its_row_and_only_its_end_clears_the_record() {
    for kind in every_kind().filter(|kind| kind.has_work_requests()) {
        for (status, class, reason) in [
            ("ACCEPTED", Some(Class::Pending), "Provisioning"),
            ("IN_PROGRESS", Some(Class::Pending), "Provisioning"),
            ("CANCELING", Some(Class::Pending), "Provisioning"),
            ("NEEDS_ATTENTION", Some(Class::Attention), "Failed"),
            ("PONDERING", Some(Class::Unknown), "Failed"),
            ("FAILED", None, "Failed"),
            ("CANCELED", None, "Failed"),
        ] {
            let (mut object, _) = Object::creating(kind, Some("wr-1"));
            // What the body of the create showed is no more than a first look.
            object.status.status.tracker.current.as_mut().unwrap().source = Source::WorkRequest;
            let poll = object.step(Observation::none());
            assert_eq!(poll, Action::Call(Call::GetWorkRequest { id: "wr-1".to_owned() }), "{kind:?}");
            let work = object.work(status);
            let mut next = object.answer(poll, Body::Json(work), "poll", None);
            if matches!(next, Action::Call(Call::ExplainFailure { .. })) {
                next = object.answer(next, Body::Errors(vec!["no room".to_owned()]), "errors", None);
            }
            let case = format!("{kind:?} {status}: {next:?}");
            assert!(matches!(next, Action::Requeue(_)), "{case}: nothing is without a next wake-up");
            assert_eq!(object.status.current().map(|it| it.record.normalized_class), class, "{case}");
            assert_eq!(object.reason(), Some(reason), "{case}");
            assert_eq!(object.request_id(), Some("create-1"), "{case}: polls do not replace it");
            if let Some(current) = object.status.current() {
                assert_eq!(current.record.work_request_id.as_deref(), Some("wr-1"), "{case}");
                assert_eq!(current.percent_complete.map(operations::Percent::get), Some(100.0), "{case}");
            } else {
                let last = object.status.last_operation().unwrap();
                assert_eq!(last.record.work_request_id.as_deref(), Some("wr-1"), "{case}");
                assert!(last.record.message.as_ref().unwrap().contains("no room"), "{case}");
            }
        }
    }
}

#[test]
fn only_mutations_and_reported_errors_replace_the_request_id() {
    for kind in every_kind() {
        let mut object = Object::ready(kind);
        assert_eq!(object.request_id(), Some("create-1"), "{kind:?}: reads keep it");
        let get = object.step(Observation::none());
        let error = |request: &str| CallError {
            status: Some(500),
            request_id: Some(request.to_owned()),
            ..CallError::default()
        };
        object.respond(get, Err(error("failed-2")));
        assert_eq!(object.request_id(), Some("failed-2"), "{kind:?}");
        let get = object.step(Observation::none());
        object.respond(get, Err(error("  ")));
        assert_eq!(object.request_id(), Some("failed-2"), "{kind:?}: a blank one keeps it");
        object.desired.deleting = true;
        let get = object.step(Observation::none());
        let resource = object.resource(word(kind, Lifecycle::Ready));
        let delete = object.answer(get, Body::Json(resource), "get-3", None);
        assert!(matches!(delete, Action::Call(Call::Delete { .. })), "{kind:?}: {delete:?}");
        object.answer(delete, Body::Empty, "delete-4", None);
        assert_eq!(object.request_id(), Some("delete-4"), "{kind:?}");
    }
}

#[test]
fn a_restart_resumes_what_is_on_record() {
    for kind in every_kind() {
        let (mut object, _) = Object::creating(kind, Some("wr-1"));
        object.local = LocalState::default();
        let resumed = object.step(Observation::none());
        let current = object.status.current();
        let follows = current.is_some_and(|it| it.source == Source::WorkRequest) && kind.has_work_requests();
        let id = object.status.ocid().map(str::to_owned);
        let expected = match (follows, id) {
            (true, _) => Call::GetWorkRequest { id: "wr-1".to_owned() },
            (false, Some(id)) => Call::Get { id, listed: false },
            // The create was answered without an id: only a listing shows what it made.
            (false, None) => {
                assert!(
                    matches!(
                        &resumed,
                        Action::Requeue(_) | Action::Call(Call::Find { .. } | Call::Create { .. })
                    ),
                    "{kind:?}"
                );
                continue;
            }
        };
        assert_eq!(resumed, Action::Call(expected), "{kind:?}");
        // An answer that was lost: the same request where that is idempotent, else a search.
        let mut object = Object::new(kind);
        object.desired.has_finalizer = true;
        object.local = LocalState::default();
        let find = object.step(Observation::none());
        let nothing = Body::Listing { resources: Vec::new(), creating: Vec::new() };
        let create = object.answer(find, nothing, "list", None);
        assert!(matches!(create, Action::Call(Call::Create { .. })), "{kind:?}: {create:?}");
        let token = object.status.current().unwrap().token.clone();
        object.local = LocalState::default();
        object.now += 5;
        match object.step(Observation::none()) {
            Action::Call(Call::Create { token: replayed, replay: true, .. }) => {
                assert!(kind.retry_token && replayed == token, "{kind:?}");
            }
            Action::Call(Call::Find { since: Some(_), .. }) => assert!(!kind.retry_token, "{kind:?}"),
            other => panic!("{kind:?}: {other:?}"),
        }
    }
}

#[test]
fn what_is_ready_has_no_record_in_flight_and_what_is_deleted_needs_evidence() {
    for kind in every_kind() {
        let mut object = Object::ready(kind);
        assert_eq!(object.status.current(), None, "{kind:?}");
        let last = object.status.last_operation().unwrap();
        assert_eq!(
            (last.record.phase, last.record.normalized_class),
            (Phase::Create, Class::Succeeded),
            "{kind:?}"
        );
        object.desired.deleting = true;
        let get = object.step(Observation::none());
        let resource = object.resource(word(kind, Lifecycle::Ready));
        let delete = object.answer(get, Body::Json(resource), "get", None);
        let next = object.answer(delete, Body::Empty, "delete", Some("wr-1"));
        assert!(matches!(next, Action::Requeue(_)), "{kind:?}: {next:?}");
        assert_eq!(object.reason(), Some("Terminating"), "{kind:?}");
        let missing = || CallError {
            status: Some(404),
            code: "NotAuthorizedOrNotFound".to_owned(),
            ..CallError::default()
        };
        let poll = object.step(Observation::none());
        if kind.has_work_requests() {
            let mut work = object.work("SUCCEEDED");
            let delete_type = kind.operation_types.iter().find(|(_, phase)| **phase == Phase::Delete);
            if let Some((name, _)) = delete_type {
                work["operationType"] = json!(name);
                let end = object.answer(poll, Body::Json(work), "poll", None);
                assert_eq!(end, Action::RemoveFinalizer(FinalizeReason::WorkRequestSucceeded), "{kind:?}");
                continue;
            }
            let get = object.answer(poll, Body::Json(work), "poll", None);
            let find = object.respond(get, Err(missing()));
            assert!(matches!(find, Action::Call(Call::Find { .. })), "{kind:?}: {find:?}");
            continue;
        }
        let find = object.respond(poll, Err(missing()));
        assert!(matches!(find, Action::Call(Call::Find { .. })), "{kind:?}: a 404 proves nothing: {find:?}");
        object.now += 1000;
        for (meaning, reason) in [
            (Lifecycle::Deleted, FinalizeReason::ObservedDeleted),
            (Lifecycle::Scheduled, FinalizeReason::DeletionScheduled),
        ] {
            let Some(state) = word(kind, meaning) else { continue };
            let get = object.step(Observation::none());
            let resource = object.resource(Some(state));
            let end = object.answer(get, Body::Json(resource), "get", None);
            assert_eq!(end, Action::RemoveFinalizer(reason), "{kind:?}");
        }
    }
}

#[test]
fn a_change_of_what_is_not_shown_is_sent_once() {
    let mut tried = 0;
    for kind in every_kind() {
        let first = spec(kind, None, Extent::Required);
        let candidates = kind.spec.iter().filter(|(name, field)| {
            field.update
                && !field.late
                && kind.is_unshown(name, field)
                && kind.spec.variants_with(name).next().is_none()
        });
        for (name, field) in candidates {
            let mut asked = first.clone();
            asked[name] = kind.example_of(field);
            if [json!({}), json!([])].contains(&asked[name]) {
                continue;
            }
            // Of a part that is hidden an example need not say anything.
            if !service(kind).unshown(&asked).unwrap().contains_key(name) {
                continue;
            }
            tried += 1;
            let mut object = Object::asking_for(kind, asked).up();
            let sent =
                |object: &Object| object.status.status.sent.as_ref().and_then(|sent| sent.get(name).cloned());
            let before = sent(&object);
            assert!(before.is_some(), "{kind:?} {name}");
            let look = |object: &mut Object| {
                let get = object.step(Observation::none());
                let resource = object.resource(word(kind, Lifecycle::Ready));
                object.answer(get, Body::Json(resource), "get", None)
            };
            assert!(matches!(look(&mut object), Action::Requeue(_)), "{kind:?} {name}: nothing to send");
            let changed = object.desired.unshown.as_mut().unwrap().get_mut(name).unwrap();
            let change = Some(json!("another"));
            *changed = Unshown { value: json!("another"), change, reference: None, is_missing: false };
            object.desired.generation = 2;
            let update = look(&mut object);
            let Action::Call(Call::Update { body, .. }) = &update else {
                panic!("{kind:?} {name}: {update:?}")
            };
            assert_eq!(*body, json!({name: "another"}), "{kind:?}");
            object.answer(update, Body::Empty, "update-2", None);
            assert_ne!(sent(&object), before, "{kind:?} {name}: an accepted update is remembered");
            assert!(matches!(look(&mut object), Action::Requeue(_)), "{kind:?} {name}: it was sent");
            assert!(object.status.current().is_none(), "{kind:?} {name}");
        }
    }
    assert!(tried > 40, "{tried} fields are not shown");
}

#[test]
fn a_change_of_what_is_neither_shown_nor_updated_is_reported_with_its_path() {
    let mut tried = Vec::new();
    for kind in every_kind().filter(|kind| kind.id_field == "id") {
        let asked = everything(kind);
        let fixed: Vec<String> = service(kind)
            .unshown(&asked)
            .into_iter()
            .flatten()
            .filter(|(_, it)| it.change.is_none())
            .map(|(path, _)| path)
            .collect();
        if fixed.is_empty() {
            continue;
        }
        let mut object = Object::asking_for(kind, asked).up();
        let look = |object: &mut Object| {
            let get = object.step(Observation::none());
            let resource = object.resource(word(kind, Lifecycle::Ready));
            let next = object.answer(get, Body::Json(resource), "get", None);
            assert!(matches!(next, Action::Requeue(_)), "{kind:?}: {next:?}");
            object.ready_condition() == Some(ConditionStatus::True)
        };
        for path in fixed {
            assert!(look(&mut object), "{kind:?} {path}: it is as it was sent");
            let asked = object.desired.unshown.as_mut().unwrap().get_mut(&path).unwrap();
            let before = std::mem::replace(&mut asked.value, json!("another"));
            object.desired.generation += 1;
            look(&mut object);
            let stalled = object.status.condition(ConditionType::Stalled).unwrap();
            let message = format!("cannot change spec.{path} after creation");
            assert!(stalled.message.starts_with(&message), "{kind:?} {path}: {stalled:?}");
            object.desired.unshown.as_mut().unwrap().get_mut(&path).unwrap().value = before;
            object.desired.generation += 1;
            tried.push(format!("{}.{path}", kind.path()));
        }
    }
    assert!(tried.len() > 40, "{} parts are hidden and fixed", tried.len());
    for path in ["containerinstances/ContainerInstance.containers[0].imageUrl", "psql/DbSystem.credentials"] {
        assert!(tried.iter().any(|it| it == path), "{path}: {tried:#?}");
    }
}

fn of_another_form(sent: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    sent.iter().map(|(path, hash)| (path.clone(), format!("v3-{hash}"))).collect()
}

/// A record of an earlier build, or of a later one, is neither the proof of a change nor an obstacle.
#[test]
fn records_of_another_build_prove_nothing_of_what_cannot_be_changed() {
    let kind = Embedded::kind("containerinstances/ContainerInstance").unwrap();
    let records: [fn(&mut BTreeMap<String, String>); 4] = [
        |sent| sent.retain(|_, _| false),
        // It kept a hash of the whole field, and later one of another form.
        |sent| *sent = [("containers".to_owned(), "0a1b2c3d".to_owned())].into(),
        |sent| {
            sent.remove("*");
            *sent = of_another_form(sent);
        },
        |sent| {
            *sent = of_another_form(sent);
            sent.insert("*".to_owned(), "3".to_owned());
        },
    ];
    for change in records {
        let mut object = Object::ready_with_everything(kind);
        change(object.status.status.sent.as_mut().unwrap());
        let look = |object: &mut Object| {
            let get = object.step(Observation::none());
            let resource = object.resource(word(kind, Lifecycle::Ready));
            object.answer(get, Body::Json(resource), "get", None);
            object.ready_condition()
        };
        assert_eq!(look(&mut object), Some(ConditionStatus::True), "{:?}", object.status);
        // From now on a change is known as one.
        let path = "containers[0].imageUrl";
        object.desired.unshown.as_mut().unwrap().get_mut(path).unwrap().value = json!("another");
        object.desired.generation += 1;
        look(&mut object);
        let stalled = object.status.condition(ConditionType::Stalled).unwrap();
        let message = format!("cannot change spec.{path} after creation");
        assert!(stalled.message.starts_with(&message), "{stalled:?}");
    }
}
