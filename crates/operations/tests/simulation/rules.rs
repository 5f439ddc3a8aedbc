//! Single rules of the contract, each in the smallest story that shows it.

use operations::{
    Answer, Body, Call, Class, ConditionStatus, ConditionType, DeletionPolicy, Drift, Evidence,
    ExternalService, Memory, Mirrors, Next, Observation, Phase, Source, Trouble, body_hash,
};
use serde_json::{Value, json};

use crate::bench::{Bench, accepted, found, json, refused, resource, waits, work};
use crate::operator::UID;
use crate::services::{Queues, Spec, Streams};

#[test]
fn the_intent_is_written_before_the_effect_and_the_id_right_after() {
    let mut bench = Bench::queue();
    bench.desired.held = false;
    assert_eq!(bench.wake(), Next::Hold);
    bench.desired.held = true;
    let find = bench.wake();
    assert_eq!(find, Next::Call(Call::Find { id: None, since: None }));
    let create = bench.answer(find, found(&[]));
    let intent = bench.current().clone();
    assert_eq!(intent.token.as_deref(), Some(format!("{UID}-1-1").as_str()));
    assert_eq!(intent.body_hash, Some(body_hash(&bench.desired.body)));
    assert_eq!((intent.generation, intent.attempt, intent.work_request_id), (Some(1), Some(1), None));
    assert_eq!(intent.deadline.unwrap().as_second() - intent.started_at.unwrap().as_second(), 3600);
    let Next::Call(Call::Create { token, replay: false, not_after, .. }) = &create else {
        panic!("{create:?}")
    };
    assert_eq!(token, &intent.token);
    assert_eq!(not_after.as_second() - bench.now, 30);
    let next = bench.answer(create, Ok(accepted("wr-7")));
    waits(&next, 13..=15);
    assert_eq!(bench.current().work_request_id.as_deref(), Some("wr-7"));
    assert_eq!(bench.request_id(), Some("opened wr-7"));
    assert_eq!(Mirrors::of(&bench.status).create_work_request_id.as_deref(), Some("wr-7"));
}

#[test]
fn after_a_crash_the_same_body_replays_the_token_and_another_body_settles_first() {
    let mut bench = Bench::queue();
    let find = bench.wake();
    bench.answer(find, found(&[]));
    let token = bench.current().token.clone();
    // The answer never came; the operator starts anew.
    bench.memory = Memory::default();
    waits(&bench.wake(), 1..=1);
    bench.now += 5;
    let replay = bench.wake();
    let Next::Call(Call::Create { token: replayed, replay: true, .. }) = &replay else {
        panic!("{replay:?}")
    };
    assert_eq!(*replayed, token);
    assert_eq!(
        bench.current().started_at.unwrap().as_second(),
        bench.now,
        "the grace counts from the last sending"
    );

    (bench.spec.size, bench.desired.generation) = (2, 2);
    bench.desired.body = Queues::create_body(&bench.spec, UID);
    bench.now += 5;
    let find = bench.wake();
    assert!(matches!(&find, Next::Call(Call::Find { since: Some(_), .. })), "{find:?}");
    waits(&bench.answer(find, found(&[])), 100..=120);
    bench.now += 121;
    let find = bench.wake();
    let create = bench.answer(find, found(&[]));
    let Next::Call(Call::Create { token, replay: false, .. }) = create else { panic!("{create:?}") };
    assert_eq!(token, Some(format!("{UID}-2-1")));
}

#[test]
fn a_create_that_some_work_request_may_still_be_making_is_waited_for() {
    let mut bench = Bench::queue();
    let find = bench.wake();
    bench.answer(find, found(&[]));
    bench.desired.body = json!({"other": true});
    bench.now += 1000;
    let find = bench.wake();
    let listing = operations::Found { resources: Vec::new(), creating: vec!["wr-9".to_owned()] };
    let next = bench.answer(find, Ok(Answer { body: Body::Found(listing), ..Answer::default() }));
    waits(&next, 13..=15);
    assert_eq!(bench.current().attempt, Some(1));
}

#[test]
fn what_others_are_making_does_not_hold_up_a_first_create() {
    let mut bench = Bench::queue();
    let find = bench.wake();
    let listing = operations::Found { resources: Vec::new(), creating: vec!["wr-9".to_owned()] };
    let create = bench.answer(find, Ok(Answer { body: Body::Found(listing), ..Answer::default() }));
    assert!(matches!(create, Next::Call(Call::Create { .. })), "{create:?}");
}

#[test]
fn what_the_work_request_says_beats_what_was_written_down() {
    let mut bench = Bench::creating();
    let poll = bench.wake();
    bench.answer(poll, work("UPDATE_THING", "IN_PROGRESS"));
    assert_eq!(
        (bench.current().phase, bench.current().work_request_id.as_deref()),
        (Phase::Update, Some("wr-7"))
    );
    assert_eq!(bench.status.status.reason.as_deref(), Some("Updating"));
    insta::assert_snapshot!(bench.said[0], @"Queue work request wr-7 does UPDATE_THING, although create was expected");
    // Once it is believed, it is no news any more.
    let poll = bench.wake();
    bench.answer(poll, work("UPDATE_THING", "IN_PROGRESS"));
    assert_eq!(bench.said, [""; 0]);
}

#[test]
fn an_operation_type_that_is_not_ours_leaves_the_phase_to_the_intent() {
    let mut bench = Bench::creating();
    let poll = bench.wake();
    bench.answer(poll, work("POLISH_THING", "IN_PROGRESS"));
    assert_eq!((bench.current().phase, bench.current().normalized_class), (Phase::Create, Class::Pending));
    assert_eq!(bench.current().raw_operation_type.as_deref(), Some("POLISH_THING"));
}

#[test]
fn the_request_id_is_that_of_mutations_and_surfaced_errors_only() {
    let mut bench = Bench::ready();
    assert_eq!(bench.request_id(), Some("opened wr-7"), "reads that go well leave it alone");
    let get = bench.wake();
    bench.answer(get, refused(503, "ServiceUnavailable", None));
    assert_eq!(bench.request_id(), Some("refused 503"));
    let get = bench.wake();
    bench.answer(get, resource("ACTIVE", 1));
    assert_eq!(bench.request_id(), Some("refused 503"));
    bench.spec.size = 2;
    let get = bench.wake();
    let update = bench.answer(get, resource("ACTIVE", 1));
    bench.answer(update, Ok(Answer { request_id: Some(" ".to_owned()), ..accepted("wr-8") }));
    assert_eq!(bench.request_id(), Some("refused 503"), "a blank one says nothing");
}

#[test]
fn retry_after_is_honoured_within_bounds() {
    let check = |status: u16, retry_after: Option<u64>, expected: u64| {
        let mut bench = Bench::creating();
        let poll = bench.wake();
        waits(&bench.answer(poll, refused(status, "", retry_after)), expected..=expected);
        assert_eq!(bench.condition(ConditionType::Progressing), "True/Retrying");
        assert_eq!(bench.current().normalized_class, Class::Pending);
    };
    check(429, Some(0), 1);
    check(429, Some(42), 42);
    check(503, Some(86_400), 300);
    check(500, None, 1);

    let mut bench = Bench::creating();
    let pauses: Vec<u64> = (0..10)
        .map(|_| {
            let poll = bench.wake();
            match bench.answer(poll, refused(500, "", None)) {
                Next::Wait(pause) => pause.as_secs(),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
}

#[test]
fn a_poll_that_says_nothing_new_writes_nothing() {
    let mut bench = Bench::creating();
    let poll = bench.wake();
    bench.answer(poll, work("CREATE_THING", "IN_PROGRESS"));
    let before = bench.status.clone();
    bench.now += 15;
    let poll = bench.wake();
    bench.answer(poll, work("CREATE_THING", "IN_PROGRESS"));
    assert_eq!(bench.status, before);
}

#[test]
fn attention_and_unknown_keep_the_handle_and_are_looked_at_slowly() {
    for (status, class, reason) in
        [("NEEDS_ATTENTION", Class::Attention, "Attention"), ("MYSTERIOUS", Class::Unknown, "Unknown")]
    {
        let mut bench = Bench::creating();
        let mut pauses = Vec::new();
        for _ in 0..4 {
            let poll = bench.wake();
            let Next::Wait(pause) = bench.answer(poll, work("CREATE_THING", status)) else {
                panic!("no wait")
            };
            pauses.push(pause.as_secs() / 60);
            bench.now += i64::try_from(pause.as_secs()).unwrap();
        }
        assert_eq!(pauses, [5, 5, 10, 20]);
        assert_eq!(bench.current().normalized_class, class);
        assert_eq!(bench.current().work_request_id.as_deref(), Some("wr-7"));
        assert_eq!(bench.condition(ConditionType::Stalled), format!("True/{reason}"));
        assert_eq!(bench.condition(ConditionType::Ready), format!("False/{reason}"));
        assert_eq!(bench.status.status.conditions.last().unwrap().status, ConditionStatus::False);
        let poll = bench.wake();
        bench.answer(poll, work("CREATE_THING", "IN_PROGRESS"));
        assert_eq!(bench.condition(ConditionType::Stalled), "False/AsExpected");
    }
}

#[test]
fn past_its_deadline_an_operation_is_stalled_and_still_polled() {
    let mut bench = Bench::creating();
    bench.now += 3601;
    let poll = bench.wake();
    let next = bench.answer(poll, work("CREATE_THING", "IN_PROGRESS"));
    waits(&next, 13..=15);
    assert_eq!(bench.condition(ConditionType::Stalled), "True/DeadlineExceeded");
    assert_eq!(bench.condition(ConditionType::Progressing), "True/Provisioning");
    assert_eq!(bench.condition(ConditionType::Ready), "False/Provisioning");
    assert_eq!(bench.said, ["Queue create work request wr-7 is IN_PROGRESS"]);
    let poll = bench.wake();
    bench.answer(poll, refused(503, "", None));
    assert_eq!(bench.condition(ConditionType::Stalled), "True/DeadlineExceeded");
    let poll = bench.wake();
    let get = bench.answer(poll, work("CREATE_THING", "SUCCEEDED"));
    bench.answer(get, resource("ACTIVE", 1));
    assert_eq!(bench.condition(ConditionType::Stalled), "False/AsExpected");
}

#[test]
fn an_operation_that_succeeded_is_published_without_another_wait() {
    let mut bench = Bench::creating();
    let poll = bench.wake();
    let get = bench.answer(poll, work("CREATE_THING", "SUCCEEDED"));
    assert!(matches!(get, Next::Call(Call::Get { .. })), "{get:?}");
    assert_eq!(bench.condition(ConditionType::Ready), "False/Provisioning");
    let next = bench.answer(get, resource("ACTIVE", 1));
    assert!(matches!(next, Next::Wait(_)), "{next:?}");
    assert_eq!(bench.condition(ConditionType::Ready), "True/Available");
}

#[test]
fn what_applications_cannot_be_told_of_is_not_ready() {
    let mut bench = Bench::creating();
    bench.desired.obstacle = Some("Secret x is somebody else's".to_owned());
    let poll = bench.wake();
    let get = bench.answer(poll, work("CREATE_THING", "SUCCEEDED"));
    waits(&bench.answer(get, resource("ACTIVE", 1)), 300..=330);
    assert_eq!(bench.condition(ConditionType::Ready), "False/EndpointSecret");
    assert_eq!(bench.condition(ConditionType::Stalled), "True/EndpointSecret");
    assert_eq!(bench.status.current(), None, "the operation itself is over");
    assert_eq!(bench.said, ["Secret x is somebody else's"]);
    bench.desired.obstacle = None;
    let get = bench.wake();
    bench.answer(get, resource("ACTIVE", 1));
    assert_eq!(bench.condition(ConditionType::Ready), "True/Available");
}

#[test]
fn a_rejected_create_says_so_and_the_next_spec_is_tried_at_once() {
    let mut bench = Bench::queue();
    let find = bench.wake();
    let create = bench.answer(find, found(&[]));
    waits(&bench.answer(create, refused(400, "InvalidParameter", None)), 300..=300);
    assert_eq!(bench.condition(ConditionType::Stalled), "True/Rejected");
    assert_eq!(bench.status.current(), None);
    let last = bench.status.last_operation().unwrap();
    assert_eq!(last.message.as_deref(), Some("Queue create: 400 InvalidParameter: no"));
    assert_eq!(bench.request_id(), Some("refused 400"));
    waits(&bench.wake(), 300..=300);
    bench.desired.generation = 2;
    let find = bench.wake();
    let create = bench.answer(find, found(&[]));
    assert!(matches!(create, Next::Call(Call::Create { replay: false, .. })), "{create:?}");
}

#[test]
fn a_field_that_cannot_change_is_reported_and_nothing_is_sent() {
    /// A queue of which only the fixed field differs.
    struct Fixed;
    impl ExternalService for Fixed {
        type Spec = Spec;
        const KIND: operations::Kind = Queues::KIND;
        fn create_body(spec: &Spec, uid: &str) -> Value {
            Queues::create_body(spec, uid)
        }
        fn read(spec: &Spec, uid: &str, body: &Value) -> Option<operations::Resource> {
            let fields = vec!["spec.compartmentId".to_owned()];
            Some(operations::Resource { drift: Drift::Immutable(fields), ..Queues::read(spec, uid, body)? })
        }
        async fn call(&self, _: &Spec, _: &str, _: &Call) -> Result<Answer, Trouble> {
            json(Value::Null)
        }
    }
    let mut bench = Bench { observe: Observation::answered::<Fixed>, ..Bench::ready() };
    let get = bench.wake();
    waits(&bench.answer(get, resource("ACTIVE", 1)), 300..=300);
    let ready = bench.status.condition(ConditionType::Ready).unwrap();
    insta::assert_snapshot!(format!("{}: {}", ready.reason, ready.message), @"Rejected: a field cannot be changed after the create: spec.compartmentId; restore the old value, or delete the object and create it anew");
}

#[test]
fn what_another_object_holds_is_left_to_it() {
    let theirs = || {
        json(json!({"id": "q1", "lifecycleState": "ACTIVE", "size": 5, "tags": {"plimsoll-uid": "other"}}))
    };
    let mut bench = Bench::ready();
    let get = bench.wake();
    waits(&bench.answer(get, theirs()), 300..=300);
    assert_eq!(bench.condition(ConditionType::Stalled), "True/HeldByAnother");
    bench.desired.wishes.adopt = Some("q1".to_owned());
    let get = bench.wake();
    let update = bench.answer(get, theirs());
    assert!(matches!(update, Next::Call(Call::Update { .. })), "a person may take it over: {update:?}");

    let mut bench = Bench::ready();
    bench.desired.deleting = true;
    let get = bench.wake();
    assert_eq!(bench.answer(get, theirs()), Next::Release(Evidence::HeldByAnother));
}

#[test]
fn an_older_operators_resource_is_owned_without_a_tag() {
    let mut bench = Bench::queue();
    bench.status = serde_json::from_value(json!({"status": {"ocid": "q1"}})).unwrap();
    let get = bench.wake();
    bench.answer(get, json(json!({"id": "q1", "lifecycleState": "ACTIVE", "size": 1})));
    assert_eq!(bench.condition(ConditionType::Ready), "True/Available");
}

#[test]
fn an_operation_an_older_operator_left_is_resumed_from_its_mirror_alone() {
    let mut bench = Bench::queue();
    let mirrors = Mirrors { update_work_request_id: Some("wr-7".to_owned()), ..Mirrors::default() };
    bench.status.status.ocid = Some("q1".to_owned());
    mirrors.resume(&mut bench.status, jiff::Timestamp::from_second(bench.now).unwrap());
    let poll = bench.wake();
    assert_eq!(poll, Next::Call(Call::GetWorkRequest { id: "wr-7".to_owned() }));
    let get = bench.answer(poll, work("UPDATE_THING", "SUCCEEDED"));
    bench.answer(get, resource("ACTIVE", 1));
    assert_eq!(bench.condition(ConditionType::Ready), "True/Available");
    assert_eq!(Mirrors::of(&bench.status), Mirrors::default());
}

#[test]
fn a_failed_tracker_an_older_operator_kept_is_released() {
    let mut bench = Bench::queue();
    bench.status = serde_json::from_value(json!({"status": {"async": {"current": {
        "source": "workrequest", "phase": "create", "workRequestId": "wr-7", "normalizedClass": "failed",
        "updatedAt": "2026-01-02T03:04:05Z",
    }}}}))
    .unwrap();
    let poll = bench.wake();
    let explain = bench.answer(poll, work("CREATE_THING", "FAILED"));
    let Next::Call(Call::ExplainFailure { work_request }) = &explain else { panic!("{explain:?}") };
    assert_eq!(work_request.class, Class::Failed);
    bench.answer(explain, refused(500, "", None));
    assert_eq!(bench.status.current(), None);
    let message = bench.status.last_operation().unwrap().message.clone();
    assert_eq!(message.as_deref(), Some("Queue create work request wr-7 is FAILED"));
}

#[test]
fn a_lifecycle_kind_keeps_its_source_and_the_id_of_the_opening_answer() {
    let mut bench = Bench::of::<Streams>();
    let find = bench.wake();
    let create = bench.answer(find, found(&[]));
    assert!(matches!(&create, Next::Call(Call::Create { token: None, .. })), "{create:?}");
    let opened = Answer { work_request_id: Some("wr-1".to_owned()), ..resource("CREATING", 1).unwrap() };
    bench.answer(create, Ok(opened));
    for _ in 0..3 {
        let current = bench.current();
        assert_eq!((current.source, current.work_request_id.as_deref()), (Source::Lifecycle, Some("wr-1")));
        let get = bench.wake();
        assert_eq!(get, Next::Call(Call::Get { id: "q1".to_owned(), listed: false }));
        bench.answer(get, resource("CREATING", 1));
    }
    // The phase is another, so the id is that of something else.
    let get = bench.wake();
    bench.answer(get, resource("UPDATING", 1));
    assert_eq!((bench.current().phase, bench.current().work_request_id.as_deref()), (Phase::Update, None));
}

#[test]
fn a_kind_without_tokens_is_not_created_again_before_the_grace_has_passed() {
    let mut bench = Bench::of::<Streams>();
    let find = bench.wake();
    bench.answer(find, found(&[]));
    bench.memory = Memory::default();
    for seconds in [1, 60, 59] {
        bench.now += seconds;
        let find = bench.wake();
        let next = bench.answer(find, found(&[]));
        assert!(matches!(next, Next::Wait(_)), "{next:?}");
    }
    // A restart counts as a sighting, so the grace began with the first look after it.
    bench.now += 2;
    let find = bench.wake();
    let create = bench.answer(find, found(&[]));
    assert!(matches!(create, Next::Call(Call::Create { replay: false, .. })), "{create:?}");
    assert_eq!(bench.current().attempt, Some(2));
}

#[test]
fn a_deletion_ends_without_a_call_when_there_is_nothing_to_wait_for() {
    let check = |change: fn(&mut Bench), evidence: Evidence| {
        let mut bench = Bench::queue();
        bench.desired.deleting = true;
        change(&mut bench);
        assert_eq!(bench.wake(), Next::Release(evidence));
    };
    check(|_| {}, Evidence::NeverCreated);
    check(|bench| bench.desired.held = false, Evidence::NotHeld);
    check(
        |bench| {
            bench.status.status.ocid = Some("q1".to_owned());
            bench.desired.wishes.deletion_policy = DeletionPolicy::Retain;
        },
        Evidence::Retained,
    );
    check(
        |bench| {
            bench.status.status.ocid = Some("q1".to_owned());
            bench.desired.wishes.paused = true;
            bench.desired.wishes.release = true;
        },
        Evidence::AskedTo,
    );
}

#[test]
fn a_paused_object_is_left_alone_and_still_looked_at() {
    let mut bench = Bench::ready();
    let before = bench.status.clone();
    bench.desired.wishes.paused = true;
    bench.desired.deleting = true;
    waits(&bench.wake(), 540..=600);
    assert_eq!(bench.status, before);
}

#[test]
fn every_mutation_names_the_version_that_was_looked_at() {
    let tagged = |state| Ok(Answer { etag: Some("e5".to_owned()), ..resource(state, 1).unwrap() });
    let mut bench = Bench::ready();
    bench.spec.size = 2;
    let get = bench.wake();
    let update = bench.answer(get, tagged("ACTIVE"));
    assert!(
        matches!(&update, Next::Call(Call::Update { if_match: Some(etag), .. }) if etag == "e5"),
        "{update:?}"
    );
    // Somebody was faster: look again, soon.
    waits(&bench.answer(update, refused(412, "NoEtagMatch", None)), 1..=1);
    let get = bench.wake();
    assert!(matches!(get, Next::Call(Call::Get { .. })), "{get:?}");

    bench.desired.deleting = true;
    let get = bench.wake();
    let delete = bench.answer(get, tagged("ACTIVE"));
    assert!(
        matches!(&delete, Next::Call(Call::Delete { if_match: Some(etag), .. }) if etag == "e5"),
        "{delete:?}"
    );
}

#[test]
fn an_update_that_does_not_last_is_not_sent_in_a_loop() {
    let mut bench = Bench::ready();
    bench.spec.size = 2;
    let get = bench.wake();
    let update = bench.answer(get, resource("ACTIVE", 1));
    bench.answer(update, Ok(accepted("wr-8")));
    let poll = bench.wake();
    let get = bench.answer(poll, work("UPDATE_THING", "SUCCEEDED"));
    waits(&bench.answer(get, resource("ACTIVE", 1)), 13..=15);
    bench.now += 125;
    let get = bench.wake();
    waits(&bench.answer(get, resource("ACTIVE", 1)), 170..=300);
    let stalled = bench.status.condition(ConditionType::Stalled).unwrap();
    assert_eq!(stalled.message, "Queue still differs from its spec after an update that succeeded");
    bench.now += 180;
    let get = bench.wake();
    let update = bench.answer(get, resource("ACTIVE", 1));
    assert!(matches!(update, Next::Call(Call::Update { .. })), "{update:?}");
}

#[test]
fn bad_answers_leave_a_readable_condition_and_a_wake_up() {
    let html = || {
        Err(Trouble {
            status: Some(502),
            code: String::new(),
            message: "the body is not JSON: <html>\n<body>Bad Gateway".to_owned(),
            request_id: None,
            retry_after: None,
        })
    };
    let check = |answer: Result<Answer, Trouble>, expected: &str| {
        let mut bench = Bench::ready();
        let get = bench.wake();
        let next = bench.answer(get, answer);
        assert!(matches!(next, Next::Wait(_)), "{next:?}");
        let progressing = bench.status.condition(ConditionType::Progressing).unwrap();
        assert_eq!(format!("{}: {}", progressing.reason, progressing.message), expected);
        assert_eq!(bench.condition(ConditionType::Ready), "True/Available");
    };
    check(html(), "Retrying: Queue get: 502: the body is not JSON: <html> <body>Bad Gateway; trying again");
    check(json(json!([1, 2])), "Retrying: Queue get: the answer to get cannot be read; trying again");
    check(Ok(Answer::default()), "Retrying: Queue get: the answer to get cannot be read; trying again");
}

#[test]
fn a_listing_with_an_unreadable_entry_is_no_evidence() {
    let mut bench = Bench::queue();
    let find = bench.wake();
    let next = bench.answer(find, found(&[json!({"lifecycleState": "ACTIVE"})]));
    assert!(matches!(next, Next::Wait(_)), "nothing is created on such a listing: {next:?}");
    assert_eq!(bench.condition(ConditionType::Progressing), "True/Retrying");
}

#[test]
fn several_resources_with_our_tag_are_named_and_the_working_one_is_followed() {
    let one = |id: &str, state: &str| json!({"id": id, "lifecycleState": state, "size": 1, "tags": {"plimsoll-uid": UID}});
    let mut bench = Bench::queue();
    let find = bench.wake();
    let get = bench.answer(find, found(&[one("a", "FAILED"), one("b", "DELETED"), one("c", "ACTIVE")]));
    assert_eq!(get, Next::Call(Call::Get { id: "c".to_owned(), listed: true }));
    assert_eq!(bench.said, ["2 Queues carry the tag of this object; c is followed"]);
}

#[test]
fn people_hear_of_transitions_once() {
    let mut bench = Bench::queue();
    let mut heard = Vec::new();
    let mut next = bench.wake();
    for answer in [
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
        next = match answer {
            Some(answer) => bench.answer(next, answer),
            None => bench.wake(),
        };
        heard.append(&mut bench.said);
    }
    insta::assert_snapshot!(heard.join("\n"), @r"
    Queue create is in flight
    Queue get-work-request: 503 ServiceUnavailable: no; trying again
    Queue is as its spec asks
    Queue requires attention (state INACTIVE)
    ");
}
