//! What was found wrong with the reference by running it, replayed: each ends as it should have.

use operations::{
    Class, ConditionStatus, ConditionType, Evidence, OnMissing, Phase, SharedConditionType, Source, Wishes,
};

use crate::cloud::{Manners, Outcome};
use crate::operator::{Fault, UID, World};

const READY: (ConditionStatus, &str) = (ConditionStatus::True, "Available");

fn queue() -> World {
    World::new(Manners { work_requests: true, breadcrumbs: false, takes: 40, lag: 0, hides: false })
}

fn stream() -> World {
    World::new(Manners { work_requests: false, breadcrumbs: false, takes: 40, lag: 0, hides: false })
}

fn ready(mut world: World) -> World {
    sleep_until(&mut world, |world| world.is(ConditionType::Ready, READY));
    world
}

#[track_caller]
fn sleep_until(world: &mut World, done: impl Fn(&World) -> bool) {
    for _ in 0..40 {
        if done(world) {
            return;
        }
        world.sleep(&[]);
    }
    panic!("it never comes to this: {:#?} {:#?}", world.object, world.cloud().journal);
}

fn resize(world: &mut World, size: i64) {
    world.edit(|object| {
        object.spec.size = size;
        object.generation += 1;
    });
}

fn delete(world: &mut World) {
    world.edit(|object| {
        object.deleting = true;
        object.generation += 1;
    });
}

#[test]
fn finding_10_1_trouble_that_passes_never_turns_a_healthy_create_into_a_failed_one() {
    for (status, code) in
        [(429, "TooManyRequests"), (500, "InternalServerError"), (503, "ServiceUnavailable")]
    {
        let mut world = queue();
        world.sleep(&[]);
        let before = world.object().status.current().unwrap().clone();
        world.sleep(&[Fault::Refused(status, code)]);
        let object = world.object();
        let current = object.status.current().unwrap();
        assert_eq!((current.normalized_class, current.phase), (Class::Pending, Phase::Create));
        assert_eq!(current.work_request_id, before.work_request_id);
        assert_eq!(object.condition(ConditionType::Ready), (ConditionStatus::False, "Provisioning"));
        assert_eq!(object.condition(ConditionType::Progressing), (ConditionStatus::True, "Retrying"));
        assert_eq!(object.condition(ConditionType::Stalled).0, ConditionStatus::False);
        assert!(world.wake - world.now() <= 9, "it is asked again soon");
        sleep_until(&mut world, |world| world.is(ConditionType::Ready, READY));
        assert_eq!(world.cloud().calls("create"), 1);
    }
}

#[test]
fn finding_10_2_a_404_proves_nothing() {
    let mut world = ready(queue());
    world.cloud().revoked = true;
    delete(&mut world);
    for _ in 0..20 {
        world.sleep(&[]);
    }
    let unclear = (ConditionStatus::True, "AccessOrAbsenceUnclear");
    assert_eq!(world.object().condition(ConditionType::Stalled), unclear);
    assert_eq!(world.cloud().alive(UID).len(), 1, "nothing was orphaned");
    let message = &world.object().status.condition(ConditionType::Stalled).unwrap().message;
    assert!(
        message.ends_with(&format!(
            "annotate the object with plimsoll.dev/release: {UID} to let it go regardless"
        ))
    );
    world.cloud().revoked = false;
    sleep_until(&mut world, |world| world.object.is_none());
    assert_eq!(world.released, Some(Evidence::WorkRequestSucceeded));
    assert_eq!(world.cloud().calls("delete"), 1);
}

#[test]
fn finding_10_2_a_resource_that_is_really_gone_is_made_anew_when_a_listing_lacks_it() {
    let mut world = ready(queue());
    world.sleep(&[]);
    world.cloud().vandalise(UID, false);
    sleep_until(&mut world, |world| world.cloud().calls("create") == 2);
    sleep_until(&mut world, |world| world.is(ConditionType::Ready, READY));
    assert_eq!(world.cloud().alive(UID).len(), 1);
}

#[test]
fn finding_10_2_a_person_can_let_go_without_evidence() {
    let mut world = ready(queue());
    world.cloud().revoked = true;
    delete(&mut world);
    world.sleep(&[]);
    assert!(world.object.is_some());
    world.edit(|object| object.wishes.release = true);
    world.sleep(&[]);
    assert_eq!((world.object.is_none(), world.released), (true, Some(Evidence::AskedTo)));
}

#[test]
fn finding_10_3_conditions_neither_grow_nor_lie() {
    use SharedConditionType::{Active, Provisioning, Updating};
    let mut world = queue();
    for _ in 0..12 {
        world.cloud().advance(3);
        world.pass(&[]);
    }
    let shared = &world.object().status.status.conditions;
    assert_eq!(shared.len(), 1, "{shared:#?}");
    let mut world = ready(world);
    resize(&mut world, 5);
    world.sleep(&[]);
    let kinds = |world: &World| -> Vec<_> {
        world.object().status.status.conditions.iter().map(|condition| condition.kind).collect()
    };
    assert_eq!(kinds(&world), [Provisioning, Active, Updating]);
    assert_eq!(world.object().condition(ConditionType::Ready), READY, "it can be used while it is updated");
    sleep_until(&mut world, |world| world.is(ConditionType::Progressing, (ConditionStatus::False, "Idle")));
    assert_eq!(kinds(&world), [Provisioning, Updating, Active]);
    assert_eq!(world.object().status.status.reason.as_deref(), Some("Active"));
    assert_eq!(world.object().status.conditions.len(), 3);
}

#[test]
fn finding_10_4_a_failed_create_is_recorded_released_and_tried_again() {
    let mut world = queue();
    world.cloud().next_outcome = Outcome::Fails;
    let failed = (ConditionStatus::True, "Failed");
    sleep_until(&mut world, |world| world.is(ConditionType::Stalled, failed));
    let status = world.object().status.clone();
    assert_eq!(status.current(), None, "the handle is released");
    let last = status.last_operation().unwrap();
    assert_eq!((last.phase, last.normalized_class, last.attempt), (Phase::Create, Class::Failed, Some(1)));
    assert_eq!(
        last.message.as_deref(),
        Some("Queue create work request wr-2 is FAILED: the disk is full"),
        "the provider says why"
    );
    // By itself after five minutes, and only once what was left behind is gone.
    let pause = world.wake - world.now();
    assert!((300..=335).contains(&pause), "{pause}");
    world.sleep(&[]);
    let calls = world.cloud().journal.clone();
    assert_eq!(calls[calls.len() - 2..], ["get thing-1", "delete thing-1"]);
    sleep_until(&mut world, |world| world.is(ConditionType::Ready, READY));
    assert!(world.cloud().journal.contains(&format!("create {UID}-1-3")), "{:#?}", world.cloud().journal);
    assert_eq!(world.cloud().alive(UID).len(), 1);
}

#[test]
fn finding_10_4_a_new_spec_is_tried_at_once_with_a_new_token() {
    let mut world = queue();
    world.cloud().next_outcome = Outcome::FailsLeavingNothing;
    sleep_until(&mut world, |world| world.is(ConditionType::Stalled, (ConditionStatus::True, "Failed")));
    let failed_at = world.now();
    resize(&mut world, 2);
    sleep_until(&mut world, |world| world.cloud().calls("create") == 2);
    assert!(world.now() - failed_at < 300);
    assert!(world.cloud().journal.contains(&format!("create {UID}-2-1")));
}

#[test]
fn finding_10_4_a_failed_delete_is_read_again_and_deleted_anew() {
    let mut world = ready(queue());
    world.cloud().next_outcome = Outcome::Fails;
    delete(&mut world);
    sleep_until(&mut world, |world| world.is(ConditionType::Stalled, (ConditionStatus::True, "Failed")));
    assert_eq!(world.object().status.current(), None);
    sleep_until(&mut world, |world| world.object.is_none());
    assert_eq!(world.cloud().calls("delete"), 2);
    assert_eq!(world.cloud().alive(UID).len(), 0);
}

#[test]
fn finding_10_4_failures_in_a_row_are_spaced_out() {
    let mut world = queue();
    let mut pauses = Vec::new();
    world.cloud().next_outcome = Outcome::FailsLeavingNothing;
    for _ in 0..6 {
        sleep_until(&mut world, |world| world.is(ConditionType::Stalled, (ConditionStatus::True, "Failed")));
        pauses.push((world.wake - world.now()) / 60);
        world.cloud().next_outcome = Outcome::FailsLeavingNothing;
        let attempts = world.cloud().calls("create");
        sleep_until(&mut world, |world| world.cloud().calls("create") > attempts);
    }
    assert_eq!(
        pauses,
        [5, 10, 21, 42, 63, 63],
        "five minutes doubling to an hour, with a twentieth of jitter"
    );
}

#[test]
fn finding_10_5_a_resource_in_progress_is_progress() {
    let mut world = queue();
    world.sleep(&[]);
    world.sleep(&[]);
    let object = world.object();
    let current = object.status.current().unwrap();
    assert_eq!((current.normalized_class, current.source), (Class::Pending, Source::WorkRequest));
    assert_eq!(current.message.as_deref(), Some("Queue create work request wr-2 is ACCEPTED"));
    assert_eq!(object.status.ocid(), Some("thing-1"), "the action locates the identifier");
}

#[test]
fn finding_10_6_only_what_the_kind_calls_drift_is_sent() {
    let mut world = ready(queue());
    for _ in 0..5 {
        world.sleep(&[]);
    }
    assert_eq!(world.cloud().calls("update"), 0);
    world.cloud().meddle(UID, 9);
    world.sleep(&[]);
    assert_eq!(world.cloud().calls("update"), 1);
}

#[test]
fn finding_10_7_a_delete_drains_the_create_first() {
    for mut world in [queue(), stream()] {
        world.sleep(&[]);
        delete(&mut world);
        world.sleep(&[]);
        assert!(world.object.is_some(), "not before the create is over");
        assert_eq!(world.cloud().calls("delete"), 0);
        sleep_until(&mut world, |world| world.object.is_none());
        assert_eq!(world.cloud().calls("delete"), 1);
        assert_eq!(world.cloud().alive(UID).len(), 0);
    }
}

#[test]
fn finding_10_7_a_create_whose_answer_was_lost_is_found_before_the_object_goes() {
    for mut world in [queue(), stream()] {
        world.cloud().manners.lag = 30;
        world.sleep(&[Fault::None, Fault::None, Fault::DiesAfterCall]);
        assert_eq!(world.cloud().alive(UID).len(), 1);
        delete(&mut world);
        sleep_until(&mut world, |world| world.object.is_none());
        assert_eq!(world.cloud().alive(UID).len(), 0);
        assert_eq!(world.cloud().calls("create"), 1, "an object that is being deleted makes nothing");
    }
}

#[test]
fn finding_10_8_nothing_is_bound_or_deleted_by_its_name() {
    let mut world = ready(queue());
    assert_ne!(world.object().status.ocid(), Some("foreign"));
    delete(&mut world);
    sleep_until(&mut world, |world| world.object.is_none());
    assert_eq!(world.cloud().things["foreign"].state, "ACTIVE");
}

#[test]
fn finding_10_8_adoption_is_asked_for() {
    let mut world = queue();
    world.edit(|object| object.wishes = Wishes { adopt: Some("foreign".to_owned()), ..Wishes::default() });
    sleep_until(&mut world, |world| world.is(ConditionType::Ready, READY));
    assert_eq!(world.object().status.ocid(), Some("foreign"));
    assert_eq!(world.cloud().calls("create"), 0);
    assert_eq!(world.cloud().things["foreign"].size, 1, "it is made to match the spec");
}

#[test]
fn finding_10_9_updating_is_an_update() {
    let mut world = ready(stream());
    resize(&mut world, 4);
    world.sleep(&[]);
    let object = world.object();
    let current = object.status.current().unwrap();
    assert_eq!((current.phase, current.raw_status.as_deref()), (Phase::Update, Some("UPDATING")));
    assert_eq!(object.status.status.reason.as_deref(), Some("Updating"));
    assert_eq!(object.condition(ConditionType::Progressing), (ConditionStatus::True, "Updating"));
    assert_eq!(object.status.condition(ConditionType::Ready).unwrap().observed_generation, Some(1));
    sleep_until(&mut world, |world| world.is(ConditionType::Progressing, (ConditionStatus::False, "Idle")));
    assert_eq!(world.object().status.condition(ConditionType::Ready).unwrap().observed_generation, Some(2));
}

#[test]
fn finding_10_10_what_somebody_else_deleted_is_made_anew_or_reported() {
    for mut world in [ready(queue()), ready(stream())] {
        world.cloud().vandalise(UID, true);
        sleep_until(&mut world, |world| world.cloud().calls("create") == 2);
        sleep_until(&mut world, |world| world.is(ConditionType::Ready, READY));
    }
    for mut world in [ready(queue()), ready(stream())] {
        world.edit(|object| object.wishes.on_missing = OnMissing::Report);
        world.cloud().vandalise(UID, true);
        sleep_until(&mut world, |world| world.is(ConditionType::Stalled, (ConditionStatus::True, "Missing")));
        for _ in 0..5 {
            world.sleep(&[]);
        }
        assert_eq!(world.cloud().calls("create"), 1);
        assert_eq!(world.object().condition(ConditionType::Ready), (ConditionStatus::False, "Missing"));
        delete(&mut world);
        sleep_until(&mut world, |world| world.object.is_none());
    }
}

#[test]
fn finding_10_10_a_known_state_that_is_neither_good_nor_bad_waits_for_a_person() {
    for (state, reason, message) in [
        ("INACTIVE", "Attention", "Queue requires attention (state INACTIVE)"),
        ("HIBERNATING", "Unknown", "Queue is in a state that is not modelled (state HIBERNATING)"),
        ("FAILED", "Failed", "Queue failed (state FAILED)"),
    ] {
        let mut world = ready(queue());
        world.cloud().things.get_mut("thing-1").unwrap().state = state;
        world.sleep(&[]);
        let object = world.object();
        assert_eq!(object.condition(ConditionType::Stalled), (ConditionStatus::True, reason));
        assert_eq!(object.status.condition(ConditionType::Ready).unwrap().message, message);
        let pause = world.wake - world.now();
        assert!((300..=335).contains(&pause), "a slow look, not none: {pause}");
        assert_eq!(world.cloud().calls("delete"), 0, "what once worked is never cleaned up");
        world.cloud().things.get_mut("thing-1").unwrap().state = "ACTIVE";
        sleep_until(&mut world, |world| world.is(ConditionType::Ready, READY));
    }
}
