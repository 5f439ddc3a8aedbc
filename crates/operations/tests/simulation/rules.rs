//! The rules of `decide`, one at a time.

use operations::{
    Action, Body, Call, CallError, Class, ConditionStatus, ConditionType, DeletionPolicy, Drift,
    ExternalService, FinalizeReason, LegacyWorkRequestIds, LocalState, Observation, Phase, Response, Source,
    body_hash,
};
use serde_json::{Value, json};

use crate::harness::{Harness, accepted, found, json, refused, requeues, resource, work};
use crate::operator::UID;
use crate::services::{STREAM, Spec, Things};

#[test]
fn the_intent_is_recorded_before_the_create_and_the_work_request_right_after() {
    let mut harness = Harness::queue();
    harness.desired.has_finalizer = false;
    assert_eq!(harness.reconcile(), Action::AddFinalizer);
    harness.desired.has_finalizer = true;
    let find = harness.reconcile();
    let scope = harness.desired.scope.clone();
    assert_eq!(find, Action::Call(Call::Find { scope, id: None, since: None }));
    let create = harness.respond(find, found(&[]));
    let intent = harness.current().clone();
    assert_eq!(intent.token.as_deref(), Some(format!("{UID}-1-1").as_str()));
    assert_eq!(intent.record.body_hash, Some(body_hash(&harness.desired.body)));
    assert_eq!(
        (intent.record.generation, intent.record.attempt, intent.record.work_request_id),
        (Some(1), Some(1), None)
    );
    assert_eq!(intent.deadline.unwrap().as_second() - intent.record.started_at.unwrap().as_second(), 3600);
    let Action::Call(Call::Create { token, replay: false, not_after, .. }) = &create else {
        panic!("{create:?}")
    };
    assert_eq!(token, &intent.token);
    assert_eq!(not_after.as_second() - harness.now, 30);
    let next = harness.respond(create, Ok(accepted("wr-7")));
    requeues(&next, 13..=15);
    assert_eq!(harness.current().record.work_request_id.as_deref(), Some("wr-7"));
    assert_eq!(harness.request_id(), Some("opened wr-7"));
    assert_eq!(LegacyWorkRequestIds::of(&harness.status).create_work_request_id.as_deref(), Some("wr-7"));
}

#[test]
fn after_a_crash_the_same_body_is_replayed_and_another_body_waits_for_the_listing() {
    let mut harness = Harness::queue();
    let find = harness.reconcile();
    harness.respond(find, found(&[]));
    let token = harness.current().token.clone();
    // The response never arrived, and the operator restarts.
    harness.local = LocalState::default();
    requeues(&harness.reconcile(), 1..=1);
    harness.now += 5;
    let replay = harness.reconcile();
    let Action::Call(Call::Create { token: replayed, replay: true, .. }) = &replay else {
        panic!("{replay:?}")
    };
    assert_eq!(*replayed, token);
    assert_eq!(
        harness.current().record.started_at.unwrap().as_second(),
        harness.now,
        "the grace counts from the last send"
    );

    (harness.spec.size, harness.desired.generation) = (2, 2);
    harness.desired.body = harness.service.create_body(&harness.spec, UID);
    harness.now += 5;
    let find = harness.reconcile();
    assert!(matches!(&find, Action::Call(Call::Find { since: Some(_), .. })), "{find:?}");
    requeues(&harness.respond(find, found(&[])), 100..=120);
    harness.now += 121;
    let find = harness.reconcile();
    let create = harness.respond(find, found(&[]));
    let Action::Call(Call::Create { token, replay: false, .. }) = create else { panic!("{create:?}") };
    assert_eq!(token, Some(format!("{UID}-2-1")));
}

#[test]
fn an_unfinished_work_request_that_may_be_ours_is_awaited() {
    let mut harness = Harness::queue();
    let find = harness.reconcile();
    harness.respond(find, found(&[]));
    harness.desired.body = json!({"other": true});
    harness.now += 1000;
    let find = harness.reconcile();
    let body = Body::Listing { resources: Vec::new(), creating: vec!["wr-9".to_owned()] };
    let next = harness.respond(find, Ok(Response { body, ..Response::default() }));
    requeues(&next, 13..=15);
    assert_eq!(harness.current().record.attempt, Some(1));
}

#[test]
fn work_requests_of_others_do_not_delay_a_first_create() {
    let mut harness = Harness::queue();
    let find = harness.reconcile();
    let body = Body::Listing { resources: Vec::new(), creating: vec!["wr-9".to_owned()] };
    let create = harness.respond(find, Ok(Response { body, ..Response::default() }));
    assert!(matches!(create, Action::Call(Call::Create { .. })), "{create:?}");
}

#[test]
fn the_type_that_a_work_request_reports_takes_precedence() {
    let mut harness = Harness::creating();
    let poll = harness.reconcile();
    harness.respond(poll, work("UPDATE_THING", "IN_PROGRESS"));
    assert_eq!(
        (harness.current().record.phase, harness.current().record.work_request_id.as_deref()),
        (Phase::Update, Some("wr-7"))
    );
    assert_eq!(harness.status.status.reason.as_deref(), Some("Updating"));
    insta::assert_snapshot!(harness.events[0], @"Queue work request wr-7 is UPDATE_THING, but create was expected");
    // Reported once only.
    let poll = harness.reconcile();
    harness.respond(poll, work("UPDATE_THING", "IN_PROGRESS"));
    assert_eq!(harness.events, [""; 0]);
}

#[test]
fn an_unknown_operation_type_keeps_the_recorded_phase() {
    let mut harness = Harness::creating();
    let poll = harness.reconcile();
    harness.respond(poll, work("POLISH_THING", "IN_PROGRESS"));
    assert_eq!(
        (harness.current().record.phase, harness.current().record.normalized_class),
        (Phase::Create, Class::Pending)
    );
    assert_eq!(harness.current().record.raw_operation_type.as_deref(), Some("POLISH_THING"));
}

#[test]
fn the_request_id_is_of_mutations_and_reported_errors_only() {
    let mut harness = Harness::ready();
    assert_eq!(harness.request_id(), Some("opened wr-7"), "successful reads keep it");
    let get = harness.reconcile();
    harness.respond(get, refused(503, "ServiceUnavailable", None));
    assert_eq!(harness.request_id(), Some("refused 503"));
    let get = harness.reconcile();
    harness.respond(get, resource("ACTIVE", 1));
    assert_eq!(harness.request_id(), Some("refused 503"));
    harness.spec.size = 2;
    let get = harness.reconcile();
    let update = harness.respond(get, resource("ACTIVE", 1));
    harness.respond(update, Ok(Response { request_id: Some(" ".to_owned()), ..accepted("wr-8") }));
    assert_eq!(harness.request_id(), Some("refused 503"), "a blank one is ignored");
}

#[test]
fn retry_after_is_honoured_within_bounds() {
    let check = |status: u16, retry_after: Option<u64>, expected: u64| {
        let mut harness = Harness::creating();
        let poll = harness.reconcile();
        requeues(&harness.respond(poll, refused(status, "", retry_after)), expected..=expected);
        assert_eq!(harness.condition(ConditionType::Progressing), "True/Retrying");
        assert_eq!(harness.current().record.normalized_class, Class::Pending);
    };
    check(429, Some(0), 1);
    check(429, Some(42), 42);
    check(503, Some(86_400), 300);
    check(500, None, 1);

    let mut harness = Harness::creating();
    let delays: Vec<u64> = (0..10)
        .map(|_| {
            let poll = harness.reconcile();
            match harness.respond(poll, refused(500, "", None)) {
                Action::Requeue(pause) => pause.as_secs(),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
}

#[test]
fn a_poll_without_news_writes_nothing() {
    let mut harness = Harness::creating();
    let poll = harness.reconcile();
    harness.respond(poll, work("CREATE_THING", "IN_PROGRESS"));
    let before = harness.status.clone();
    harness.now += 15;
    let poll = harness.reconcile();
    harness.respond(poll, work("CREATE_THING", "IN_PROGRESS"));
    assert_eq!(harness.status, before);
}

#[test]
fn attention_and_unknown_keep_the_work_request_and_retry_slowly() {
    for (status, class, reason) in
        [("NEEDS_ATTENTION", Class::Attention, "Attention"), ("MYSTERIOUS", Class::Unknown, "Unknown")]
    {
        let mut harness = Harness::creating();
        let mut delays = Vec::new();
        for _ in 0..4 {
            let poll = harness.reconcile();
            let Action::Requeue(pause) = harness.respond(poll, work("CREATE_THING", status)) else {
                panic!("not requeued")
            };
            delays.push(pause.as_secs() / 60);
            harness.now += i64::try_from(pause.as_secs()).unwrap();
        }
        assert_eq!(delays, [5, 5, 10, 20]);
        assert_eq!(harness.current().record.normalized_class, class);
        assert_eq!(harness.current().record.work_request_id.as_deref(), Some("wr-7"));
        assert_eq!(harness.condition(ConditionType::Stalled), format!("True/{reason}"));
        assert_eq!(harness.condition(ConditionType::Ready), format!("False/{reason}"));
        assert_eq!(harness.status.status.conditions.last().unwrap().status, ConditionStatus::False);
        let poll = harness.reconcile();
        harness.respond(poll, work("CREATE_THING", "IN_PROGRESS"));
        assert_eq!(harness.condition(ConditionType::Stalled), "False/AsExpected");
    }
}

#[test]
fn past_its_deadline_an_operation_is_stalled_and_still_polled() {
    let mut harness = Harness::creating();
    harness.now += 3601;
    let poll = harness.reconcile();
    let next = harness.respond(poll, work("CREATE_THING", "IN_PROGRESS"));
    requeues(&next, 13..=15);
    assert_eq!(harness.condition(ConditionType::Stalled), "True/DeadlineExceeded");
    assert_eq!(harness.condition(ConditionType::Progressing), "True/Provisioning");
    assert_eq!(harness.condition(ConditionType::Ready), "False/Provisioning");
    assert_eq!(harness.events, ["Queue create work request wr-7 is IN_PROGRESS"]);
    let poll = harness.reconcile();
    harness.respond(poll, refused(503, "", None));
    assert_eq!(harness.condition(ConditionType::Stalled), "True/DeadlineExceeded");
    let poll = harness.reconcile();
    let get = harness.respond(poll, work("CREATE_THING", "SUCCEEDED"));
    harness.respond(get, resource("ACTIVE", 1));
    assert_eq!(harness.condition(ConditionType::Stalled), "False/AsExpected");
}

#[test]
fn an_operation_that_succeeded_is_published_without_another_wait() {
    let mut harness = Harness::creating();
    let poll = harness.reconcile();
    let get = harness.respond(poll, work("CREATE_THING", "SUCCEEDED"));
    assert!(matches!(get, Action::Call(Call::Get { .. })), "{get:?}");
    assert_eq!(harness.condition(ConditionType::Ready), "False/Provisioning");
    let next = harness.respond(get, resource("ACTIVE", 1));
    assert!(matches!(next, Action::Requeue(_)), "{next:?}");
    assert_eq!(harness.condition(ConditionType::Ready), "True/Available");
}

#[test]
fn an_object_without_its_endpoint_secret_is_not_ready() {
    let mut harness = Harness::creating();
    harness.desired.endpoint_error = Some("Secret x belongs to another owner".to_owned());
    let poll = harness.reconcile();
    let get = harness.respond(poll, work("CREATE_THING", "SUCCEEDED"));
    requeues(&harness.respond(get, resource("ACTIVE", 1)), 300..=330);
    assert_eq!(harness.condition(ConditionType::Ready), "False/EndpointSecret");
    assert_eq!(harness.condition(ConditionType::Stalled), "True/EndpointSecret");
    assert_eq!(harness.status.current(), None, "the operation itself is over");
    assert_eq!(harness.events, ["Secret x belongs to another owner"]);
    harness.desired.endpoint_error = None;
    let get = harness.reconcile();
    harness.respond(get, resource("ACTIVE", 1));
    assert_eq!(harness.condition(ConditionType::Ready), "True/Available");
}

#[test]
fn a_rejected_create_stalls_and_a_new_spec_is_tried_at_once() {
    let mut harness = Harness::queue();
    let find = harness.reconcile();
    let create = harness.respond(find, found(&[]));
    requeues(&harness.respond(create, refused(400, "InvalidParameter", None)), 300..=300);
    assert_eq!(harness.condition(ConditionType::Stalled), "True/Rejected");
    assert_eq!(harness.status.current(), None);
    let last = harness.status.last_operation().unwrap();
    assert_eq!(last.record.message.as_deref(), Some("Queue create: 400 InvalidParameter: no"));
    assert_eq!(harness.request_id(), Some("refused 400"));
    requeues(&harness.reconcile(), 300..=300);
    harness.desired.generation = 2;
    let find = harness.reconcile();
    let create = harness.respond(find, found(&[]));
    assert!(matches!(create, Action::Call(Call::Create { replay: false, .. })), "{create:?}");
}

#[test]
fn drift_in_an_immutable_field_is_reported_and_not_sent() {
    /// A queue that differs in an immutable field.
    struct ImmutableDrift(Things);
    impl ExternalService for ImmutableDrift {
        type Spec = Spec;
        fn kind(&self) -> operations::Kind {
            self.0.kind
        }
        fn create_body(&self, spec: &Spec, uid: &str) -> Value {
            self.0.create_body(spec, uid)
        }
        fn scope(&self, spec: &Spec) -> operations::Scope {
            self.0.scope(spec)
        }
        fn read(&self, spec: &Spec, uid: &str, body: &Value) -> Option<operations::Resource> {
            let fields = vec!["compartmentId".to_owned()];
            Some(operations::Resource { drift: Drift::Immutable(fields), ..self.0.read(spec, uid, body)? })
        }
        async fn call(&self, _: &Spec, _: &str, _: &Call) -> Result<Response, CallError> {
            json(Value::Null)
        }
    }
    let mut harness = Harness::ready();
    let Action::Call(get) = harness.reconcile() else { panic!("a look at what is there") };
    let service = ImmutableDrift(Things { kind: harness.desired.kind, cloud: None });
    let seen = Observation::of_call(&service, &harness.spec, UID, get, resource("ACTIVE", 1));
    requeues(&harness.step(seen), 300..=300);
    let ready = harness.status.condition(ConditionType::Ready).unwrap();
    insta::assert_snapshot!(format!("{}: {}", ready.reason, ready.message), @"Rejected: cannot change spec.compartmentId after creation; restore the old value, or delete and recreate the object");
}

#[test]
fn a_resource_of_another_object_is_left_alone_unless_adopted() {
    let theirs = || {
        json(json!({"id": "q1", "lifecycleState": "ACTIVE", "size": 5, "tags": {"plimsoll-uid": "other"}}))
    };
    let mut harness = Harness::ready();
    for adopt in [None, Some("q1".to_owned())] {
        harness.desired.annotations.adopt = adopt;
        let get = harness.reconcile();
        requeues(&harness.respond(get, theirs()), 300..=300);
        let stalled = harness.status.condition(ConditionType::Stalled).unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(format!("{}: {}", stalled.reason, stalled.message), @"HeldByAnother: Queue q1 carries the tag of another object (other); to take it over, annotate this one with plimsoll.dev/adopt: q1 and plimsoll.dev/adopt-from: other");
        }
    }
    harness.desired.annotations.adopt_from = Some("other".to_owned());
    let get = harness.reconcile();
    let update = harness.respond(get, theirs());
    assert!(matches!(update, Action::Call(Call::Update { .. })), "the user may adopt it: {update:?}");

    let mut harness = Harness::ready();
    harness.desired.deleting = true;
    let get = harness.reconcile();
    assert_eq!(harness.respond(get, theirs()), Action::RemoveFinalizer(FinalizeReason::HeldByAnother));
}

#[test]
fn a_resource_bound_by_osok_is_ours_without_a_tag() {
    let mut harness = Harness::queue();
    harness.status = serde_json::from_value(json!({"status": {"ocid": "q1"}})).unwrap();
    let get = harness.reconcile();
    harness.respond(get, json(json!({"id": "q1", "lifecycleState": "ACTIVE", "size": 1})));
    assert_eq!(harness.condition(ConditionType::Ready), "True/Available");
}

#[test]
fn an_operation_left_by_osok_is_resumed_from_its_legacy_id() {
    let mut harness = Harness::queue();
    let ids = LegacyWorkRequestIds {
        update_work_request_id: Some("wr-7".to_owned()),
        ..LegacyWorkRequestIds::default()
    };
    harness.status.status.ocid = Some("q1".to_owned());
    ids.resume(&mut harness.status, jiff::Timestamp::from_second(harness.now).unwrap());
    let poll = harness.reconcile();
    assert_eq!(poll, Action::Call(Call::GetWorkRequest { id: "wr-7".to_owned() }));
    let get = harness.respond(poll, work("UPDATE_THING", "SUCCEEDED"));
    harness.respond(get, resource("ACTIVE", 1));
    assert_eq!(harness.condition(ConditionType::Ready), "True/Available");
    assert_eq!(LegacyWorkRequestIds::of(&harness.status), LegacyWorkRequestIds::default());
}

#[test]
fn a_failed_operation_left_by_osok_is_recorded() {
    let mut harness = Harness::queue();
    harness.status = serde_json::from_value(json!({"status": {"async": {"current": {
        "source": "workrequest", "phase": "create", "workRequestId": "wr-7", "normalizedClass": "failed",
        "updatedAt": "2026-01-02T03:04:05Z",
    }}}}))
    .unwrap();
    let poll = harness.reconcile();
    let explain = harness.respond(poll, work("CREATE_THING", "FAILED"));
    let Action::Call(Call::ExplainFailure { work_request }) = &explain else { panic!("{explain:?}") };
    assert_eq!(work_request.class, Class::Failed);
    harness.respond(explain, refused(500, "", None));
    assert_eq!(harness.status.current(), None);
    let message = harness.status.last_operation().unwrap().record.message.clone();
    assert_eq!(message.as_deref(), Some("Queue create work request wr-7 is FAILED"));
}

#[test]
fn a_lifecycle_kind_keeps_its_source_and_the_work_request_id() {
    let mut harness = Harness::of(STREAM);
    let find = harness.reconcile();
    let create = harness.respond(find, found(&[]));
    assert!(matches!(&create, Action::Call(Call::Create { token: None, .. })), "{create:?}");
    let opened = Response { work_request_id: Some("wr-1".to_owned()), ..resource("CREATING", 1).unwrap() };
    harness.respond(create, Ok(opened));
    for _ in 0..3 {
        let current = harness.current();
        assert_eq!(
            (current.source, current.record.work_request_id.as_deref()),
            (Source::Lifecycle, Some("wr-1"))
        );
        let get = harness.reconcile();
        assert_eq!(get, Action::Call(Call::Get { id: "q1".to_owned(), listed: false }));
        harness.respond(get, resource("CREATING", 1));
    }
    // Another phase is another operation, so the id is dropped.
    let get = harness.reconcile();
    harness.respond(get, resource("UPDATING", 1));
    assert_eq!(
        (harness.current().record.phase, harness.current().record.work_request_id.as_deref()),
        (Phase::Update, None)
    );
}

#[test]
fn a_kind_without_retry_tokens_is_not_created_again_within_the_grace() {
    let mut harness = Harness::of(STREAM);
    let find = harness.reconcile();
    harness.respond(find, found(&[]));
    harness.local = LocalState::default();
    for seconds in [1, 60, 59] {
        harness.now += seconds;
        let find = harness.reconcile();
        let next = harness.respond(find, found(&[]));
        assert!(matches!(next, Action::Requeue(_)), "{next:?}");
    }
    // A restart counts as a sighting, so the grace began with the first reconcile after it.
    harness.now += 2;
    let find = harness.reconcile();
    let create = harness.respond(find, found(&[]));
    assert!(matches!(create, Action::Call(Call::Create { replay: false, .. })), "{create:?}");
    assert_eq!(harness.current().record.attempt, Some(2));
}

#[test]
fn a_deletion_needs_no_call_when_there_is_nothing_to_wait_for() {
    let check = |change: fn(&mut Harness), evidence: FinalizeReason| {
        let mut harness = Harness::queue();
        harness.desired.deleting = true;
        change(&mut harness);
        assert_eq!(harness.reconcile(), Action::RemoveFinalizer(evidence));
    };
    check(|_| {}, FinalizeReason::NeverCreated);
    check(|harness| harness.desired.has_finalizer = false, FinalizeReason::NoFinalizer);
    check(
        |harness| {
            harness.status.status.ocid = Some("q1".to_owned());
            harness.desired.annotations.deletion_policy = DeletionPolicy::Retain;
        },
        FinalizeReason::Retained,
    );
    check(
        |harness| {
            harness.status.status.ocid = Some("q1".to_owned());
            harness.desired.annotations.paused = true;
            harness.desired.annotations.release = true;
        },
        FinalizeReason::ReleaseRequested,
    );
}

#[test]
fn a_paused_object_is_left_alone_and_requeued() {
    let mut harness = Harness::ready();
    let before = harness.status.clone();
    harness.desired.annotations.paused = true;
    harness.desired.deleting = true;
    requeues(&harness.reconcile(), 540..=600);
    assert_eq!(harness.status, before);
}

#[test]
fn every_mutation_names_the_version_that_was_read() {
    let tagged = |state| Ok(Response { etag: Some("e5".to_owned()), ..resource(state, 1).unwrap() });
    let mut harness = Harness::ready();
    harness.spec.size = 2;
    let get = harness.reconcile();
    let update = harness.respond(get, tagged("ACTIVE"));
    assert!(
        matches!(&update, Action::Call(Call::Update { if_match: Some(etag), .. }) if etag == "e5"),
        "{update:?}"
    );
    // The resource changed in the meantime: read it again, soon.
    requeues(&harness.respond(update, refused(412, "NoEtagMatch", None)), 1..=1);
    let get = harness.reconcile();
    assert!(matches!(get, Action::Call(Call::Get { .. })), "{get:?}");

    harness.desired.deleting = true;
    let get = harness.reconcile();
    let delete = harness.respond(get, tagged("ACTIVE"));
    assert!(
        matches!(&delete, Action::Call(Call::Delete { if_match: Some(etag), .. }) if etag == "e5"),
        "{delete:?}"
    );
}

#[test]
fn an_update_without_effect_is_not_sent_in_a_loop() {
    let mut harness = Harness::ready();
    harness.spec.size = 2;
    let get = harness.reconcile();
    let update = harness.respond(get, resource("ACTIVE", 1));
    harness.respond(update, Ok(accepted("wr-8")));
    let poll = harness.reconcile();
    let get = harness.respond(poll, work("UPDATE_THING", "SUCCEEDED"));
    requeues(&harness.respond(get, resource("ACTIVE", 1)), 13..=15);
    harness.now += 125;
    let get = harness.reconcile();
    requeues(&harness.respond(get, resource("ACTIVE", 1)), 170..=300);
    let stalled = harness.status.condition(ConditionType::Stalled).unwrap();
    assert_eq!(stalled.message, "Queue still differs from its spec after an update that succeeded");
    harness.now += 180;
    let get = harness.reconcile();
    let update = harness.respond(get, resource("ACTIVE", 1));
    assert!(matches!(update, Action::Call(Call::Update { .. })), "{update:?}");
}

#[test]
fn an_unreadable_response_yields_a_readable_condition_and_a_requeue() {
    let html = || {
        Err(CallError {
            status: Some(502),
            code: String::new(),
            message: "the body is not JSON: <html>\n<body>Bad Gateway".to_owned(),
            request_id: None,
            retry_after: None,
        })
    };
    let check = |result: Result<Response, CallError>, expected: &str| {
        let mut harness = Harness::ready();
        let get = harness.reconcile();
        let next = harness.respond(get, result);
        assert!(matches!(next, Action::Requeue(_)), "{next:?}");
        let progressing = harness.status.condition(ConditionType::Progressing).unwrap();
        assert_eq!(format!("{}: {}", progressing.reason, progressing.message), expected);
        assert_eq!(harness.condition(ConditionType::Ready), "True/Available");
    };
    check(html(), "Retrying: Queue get: 502: the body is not JSON: <html> <body>Bad Gateway; retrying");
    check(json(json!([1, 2])), "Retrying: Queue get: the response to get is unreadable; retrying");
    check(Ok(Response::default()), "Retrying: Queue get: the response to get is unreadable; retrying");
}

#[test]
fn a_listing_with_an_unreadable_entry_proves_nothing() {
    let mut harness = Harness::queue();
    let find = harness.reconcile();
    let next = harness.respond(find, found(&[json!({"lifecycleState": "ACTIVE"})]));
    assert!(matches!(next, Action::Requeue(_)), "nothing is created after such a listing: {next:?}");
    assert_eq!(harness.condition(ConditionType::Progressing), "True/Retrying");
}

#[test]
fn of_several_resources_with_our_tag_the_working_one_is_followed() {
    let one = |id: &str, state: &str| json!({"id": id, "lifecycleState": state, "size": 1, "tags": {"plimsoll-uid": UID}});
    let mut harness = Harness::queue();
    let find = harness.reconcile();
    let get = harness.respond(find, found(&[one("a", "FAILED"), one("b", "DELETED"), one("c", "ACTIVE")]));
    assert_eq!(get, Action::Call(Call::Get { id: "c".to_owned(), listed: true }));
    assert_eq!(harness.events, ["2 Queues carry the tag of this object; c is followed"]);
}

#[test]
fn transitions_are_reported_once() {
    let mut harness = Harness::queue();
    let mut reported = Vec::new();
    let mut next = harness.reconcile();
    for result in [
        Some(found(&[])),
        Some(Ok(accepted("wr-7"))),
        None,
        Some(work("CREATE_THING", "IN_PROGRESS")),
        None,
        Some(refused(503, "ServiceUnavailable", None)),
        None,
        Some(refused(503, "ServiceUnavailable", None)),
        None,
        Some(work("CREATE_THING", "SUCCEEDED")),
        Some(resource("ACTIVE", 1)),
        None,
        Some(resource("ACTIVE", 1)),
        None,
        Some(resource("INACTIVE", 1)),
        None,
        Some(resource("INACTIVE", 1)),
    ] {
        next = match result {
            Some(result) => harness.respond(next, result),
            None => harness.reconcile(),
        };
        reported.append(&mut harness.events);
    }
    insta::assert_snapshot!(reported.join("\n"), @r"
    Queue create is in flight
    Queue get-work-request: 503 ServiceUnavailable: no; retrying
    Queue matches its spec
    Queue requires attention (state INACTIVE)
    ");
}
