//! Whole stories in which OSOK is known to fail; each ends as it should.

use operations::{
    Annotations, Class, ConditionStatus, ConditionType, FinalizeReason, OnMissing, Phase,
    SharedConditionType, Source,
};

use crate::cloud::{Behavior, Outcome};
use crate::operator::{Fault, Simulation, UID};

const READY: (ConditionStatus, &str) = (ConditionStatus::True, "Available");

fn queue() -> Simulation {
    Simulation::new(Behavior { work_requests: true, untracked_ids: false, takes: 40, lag: 0, hides: false })
}

fn stream() -> Simulation {
    Simulation::new(Behavior { work_requests: false, untracked_ids: false, takes: 40, lag: 0, hides: false })
}

fn ready(mut sim: Simulation) -> Simulation {
    sleep_until(&mut sim, |sim| sim.is(ConditionType::Ready, READY));
    sim
}

#[track_caller]
fn sleep_until(sim: &mut Simulation, done: impl Fn(&Simulation) -> bool) {
    for _ in 0..40 {
        if done(sim) {
            return;
        }
        sim.sleep(&[]);
    }
    panic!("it never gets there: {:#?} {:#?}", sim.object, sim.cloud().journal);
}

fn resize(sim: &mut Simulation, size: i64) {
    sim.edit(|object| {
        object.spec.size = size;
        object.generation += 1;
    });
}

fn delete(sim: &mut Simulation) {
    sim.edit(|object| {
        object.deleting = true;
        object.generation += 1;
    });
}

#[test]
fn a_transient_error_never_fails_a_healthy_create() {
    for (status, code) in
        [(429, "TooManyRequests"), (500, "InternalServerError"), (503, "ServiceUnavailable")]
    {
        let mut sim = queue();
        sim.sleep(&[]);
        let before = sim.object().status.current().unwrap().clone();
        sim.sleep(&[Fault::Refused(status, code)]);
        let object = sim.object();
        let current = object.status.current().unwrap();
        assert_eq!((current.record.normalized_class, current.record.phase), (Class::Pending, Phase::Create));
        assert_eq!(current.record.work_request_id, before.record.work_request_id);
        assert_eq!(object.condition(ConditionType::Ready), (ConditionStatus::False, "Provisioning"));
        assert_eq!(object.condition(ConditionType::Progressing), (ConditionStatus::True, "Retrying"));
        assert_eq!(object.condition(ConditionType::Stalled).0, ConditionStatus::False);
        assert!(sim.requeue_at - sim.now() <= 9, "it is retried soon");
        sleep_until(&mut sim, |sim| sim.is(ConditionType::Ready, READY));
        assert_eq!(sim.cloud().calls("create"), 1);
    }
}

#[test]
fn a_404_proves_nothing() {
    let mut sim = ready(queue());
    sim.cloud().revoked = true;
    delete(&mut sim);
    for _ in 0..20 {
        sim.sleep(&[]);
    }
    let unclear = (ConditionStatus::True, "AccessOrAbsenceUnclear");
    assert_eq!(sim.object().condition(ConditionType::Stalled), unclear);
    assert_eq!(sim.cloud().alive(UID).len(), 1, "nothing was orphaned");
    let message = &sim.object().status.condition(ConditionType::Stalled).unwrap().message;
    assert!(message.ends_with(&format!(
        "to delete the object regardless, annotate it with plimsoll.dev/release: {UID}"
    )));
    sim.cloud().revoked = false;
    sleep_until(&mut sim, |sim| sim.object.is_none());
    assert_eq!(sim.released, Some(FinalizeReason::WorkRequestSucceeded));
    assert_eq!(sim.cloud().calls("delete"), 1);
}

#[test]
fn a_resource_absent_from_listings_is_recreated() {
    let mut sim = ready(queue());
    sim.sleep(&[]);
    sim.cloud().delete_externally(UID, false);
    sleep_until(&mut sim, |sim| sim.cloud().calls("create") == 2);
    sleep_until(&mut sim, |sim| sim.is(ConditionType::Ready, READY));
    assert_eq!(sim.cloud().alive(UID).len(), 1);
}

#[test]
fn the_release_annotation_removes_the_finalizer() {
    let mut sim = ready(queue());
    sim.cloud().revoked = true;
    delete(&mut sim);
    sim.sleep(&[]);
    assert!(sim.object.is_some());
    sim.edit(|object| object.annotations.release = true);
    sim.sleep(&[]);
    assert_eq!((sim.object.is_none(), sim.released), (true, Some(FinalizeReason::ReleaseRequested)));
}

#[test]
fn conditions_neither_accumulate_nor_contradict_each_other() {
    use SharedConditionType::{Active, Provisioning, Updating};
    let mut sim = queue();
    for _ in 0..12 {
        sim.cloud().advance(3);
        sim.reconcile(&[]);
    }
    let shared = &sim.object().status.status.conditions;
    assert_eq!(shared.len(), 1, "{shared:#?}");
    let mut sim = ready(sim);
    resize(&mut sim, 5);
    sim.sleep(&[]);
    let kinds = |sim: &Simulation| -> Vec<_> {
        sim.object().status.status.conditions.iter().map(|condition| condition.kind).collect()
    };
    assert_eq!(kinds(&sim), [Provisioning, Active, Updating]);
    assert_eq!(sim.object().condition(ConditionType::Ready), READY, "it stays usable during an update");
    sleep_until(&mut sim, |sim| sim.is(ConditionType::Progressing, (ConditionStatus::False, "Idle")));
    assert_eq!(kinds(&sim), [Provisioning, Updating, Active]);
    assert_eq!(sim.object().status.status.reason.as_deref(), Some("Active"));
    assert_eq!(sim.object().status.conditions.len(), 3);
}

#[test]
fn a_failed_create_is_recorded_and_retried() {
    let mut sim = queue();
    sim.cloud().next_outcome = Outcome::Fails;
    let failed = (ConditionStatus::True, "Failed");
    sleep_until(&mut sim, |sim| sim.is(ConditionType::Stalled, failed));
    let status = sim.object().status.clone();
    assert_eq!(status.current(), None, "the work request is no longer followed");
    let last = status.last_operation().unwrap();
    assert_eq!(
        (last.record.phase, last.record.normalized_class, last.record.attempt),
        (Phase::Create, Class::Failed, Some(1))
    );
    assert_eq!(
        last.record.message.as_deref(),
        Some("Queue create work request wr-2 is FAILED: the disk is full"),
        "the provider's explanation is included"
    );
    // Retried after five minutes, once the leftover is deleted.
    let delay = sim.requeue_at - sim.now();
    assert!((300..=335).contains(&delay), "{delay}");
    sim.sleep(&[]);
    let calls = sim.cloud().journal.clone();
    assert_eq!(calls[calls.len() - 2..], ["get thing-1", "delete thing-1"]);
    sleep_until(&mut sim, |sim| sim.is(ConditionType::Ready, READY));
    assert!(sim.cloud().journal.contains(&format!("create {UID}-1-3")), "{:#?}", sim.cloud().journal);
    assert_eq!(sim.cloud().alive(UID).len(), 1);
}

#[test]
fn a_new_spec_is_tried_at_once_with_a_new_token() {
    let mut sim = queue();
    sim.cloud().next_outcome = Outcome::FailsLeavingNothing;
    sleep_until(&mut sim, |sim| sim.is(ConditionType::Stalled, (ConditionStatus::True, "Failed")));
    let failed_at = sim.now();
    resize(&mut sim, 2);
    sleep_until(&mut sim, |sim| sim.cloud().calls("create") == 2);
    assert!(sim.now() - failed_at < 300);
    assert!(sim.cloud().journal.contains(&format!("create {UID}-2-1")));
}

#[test]
fn a_failed_delete_is_retried() {
    let mut sim = ready(queue());
    sim.cloud().next_outcome = Outcome::Fails;
    delete(&mut sim);
    sleep_until(&mut sim, |sim| sim.is(ConditionType::Stalled, (ConditionStatus::True, "Failed")));
    assert_eq!(sim.object().status.current(), None);
    sleep_until(&mut sim, |sim| sim.object.is_none());
    assert_eq!(sim.cloud().calls("delete"), 2);
    assert_eq!(sim.cloud().alive(UID).len(), 0);
}

#[test]
fn consecutive_failures_back_off() {
    let mut sim = queue();
    let mut delays = Vec::new();
    sim.cloud().next_outcome = Outcome::FailsLeavingNothing;
    for _ in 0..6 {
        sleep_until(&mut sim, |sim| sim.is(ConditionType::Stalled, (ConditionStatus::True, "Failed")));
        delays.push((sim.requeue_at - sim.now()) / 60);
        sim.cloud().next_outcome = Outcome::FailsLeavingNothing;
        let attempts = sim.cloud().calls("create");
        sleep_until(&mut sim, |sim| sim.cloud().calls("create") > attempts);
    }
    assert_eq!(
        delays,
        [5, 10, 21, 42, 63, 63],
        "five minutes doubling to an hour, with a twentieth of jitter"
    );
}

#[test]
fn a_resource_in_progress_counts_as_progress() {
    let mut sim = queue();
    sim.sleep(&[]);
    sim.sleep(&[]);
    let object = sim.object();
    let current = object.status.current().unwrap();
    assert_eq!((current.record.normalized_class, current.source), (Class::Pending, Source::WorkRequest));
    assert_eq!(current.record.message.as_deref(), Some("Queue create work request wr-2 is ACCEPTED"));
    assert_eq!(object.status.ocid(), Some("thing-1"), "the work request names the resource");
}

#[test]
fn only_drift_is_sent() {
    let mut sim = ready(queue());
    for _ in 0..5 {
        sim.sleep(&[]);
    }
    assert_eq!(sim.cloud().calls("update"), 0);
    sim.cloud().modify_externally(UID, 9);
    sim.sleep(&[]);
    assert_eq!(sim.cloud().calls("update"), 1);
}

#[test]
fn a_delete_waits_for_the_create() {
    for mut sim in [queue(), stream()] {
        sim.sleep(&[]);
        delete(&mut sim);
        sim.sleep(&[]);
        assert!(sim.object.is_some(), "the create is not over");
        assert_eq!(sim.cloud().calls("delete"), 0);
        sleep_until(&mut sim, |sim| sim.object.is_none());
        assert_eq!(sim.cloud().calls("delete"), 1);
        assert_eq!(sim.cloud().alive(UID).len(), 0);
    }
}

#[test]
fn a_create_whose_response_was_lost_is_found_before_the_finalizer_is_removed() {
    for mut sim in [queue(), stream()] {
        sim.cloud().behavior.lag = 30;
        sim.sleep(&[Fault::None, Fault::None, Fault::CrashesAfterCall]);
        assert_eq!(sim.cloud().alive(UID).len(), 1);
        delete(&mut sim);
        sleep_until(&mut sim, |sim| sim.object.is_none());
        assert_eq!(sim.cloud().alive(UID).len(), 0);
        assert_eq!(sim.cloud().calls("create"), 1, "an object that is being deleted creates nothing");
    }
}

#[test]
fn nothing_is_bound_or_deleted_by_name() {
    let mut sim = ready(queue());
    assert_ne!(sim.object().status.ocid(), Some("foreign"));
    delete(&mut sim);
    sleep_until(&mut sim, |sim| sim.object.is_none());
    assert_eq!(sim.cloud().things["foreign"].state, "ACTIVE");
}

#[test]
fn a_resource_is_adopted_on_request() {
    let mut sim = queue();
    sim.edit(|object| {
        object.annotations = Annotations { adopt: Some("foreign".to_owned()), ..Annotations::default() }
    });
    sleep_until(&mut sim, |sim| sim.is(ConditionType::Ready, READY));
    assert_eq!(sim.object().status.ocid(), Some("foreign"));
    assert_eq!(sim.cloud().calls("create"), 0);
    assert_eq!(sim.cloud().things["foreign"].size, 1, "it is updated to match the spec");
}

#[test]
fn the_state_updating_is_an_update() {
    let mut sim = ready(stream());
    resize(&mut sim, 4);
    sim.sleep(&[]);
    let object = sim.object();
    let current = object.status.current().unwrap();
    assert_eq!(
        (current.record.phase, current.record.raw_status.as_deref()),
        (Phase::Update, Some("UPDATING"))
    );
    assert_eq!(object.status.status.reason.as_deref(), Some("Updating"));
    assert_eq!(object.condition(ConditionType::Progressing), (ConditionStatus::True, "Updating"));
    assert_eq!(object.status.condition(ConditionType::Ready).unwrap().observed_generation, Some(1));
    sleep_until(&mut sim, |sim| sim.is(ConditionType::Progressing, (ConditionStatus::False, "Idle")));
    assert_eq!(sim.object().status.condition(ConditionType::Ready).unwrap().observed_generation, Some(2));
}

#[test]
fn a_resource_deleted_externally_is_recreated_or_reported() {
    for mut sim in [ready(queue()), ready(stream())] {
        sim.cloud().delete_externally(UID, true);
        sleep_until(&mut sim, |sim| sim.cloud().calls("create") == 2);
        sleep_until(&mut sim, |sim| sim.is(ConditionType::Ready, READY));
    }
    for mut sim in [ready(queue()), ready(stream())] {
        sim.edit(|object| object.annotations.on_missing = OnMissing::Report);
        sim.cloud().delete_externally(UID, true);
        sleep_until(&mut sim, |sim| sim.is(ConditionType::Stalled, (ConditionStatus::True, "Missing")));
        for _ in 0..5 {
            sim.sleep(&[]);
        }
        assert_eq!(sim.cloud().calls("create"), 1);
        assert_eq!(sim.object().condition(ConditionType::Ready), (ConditionStatus::False, "Missing"));
        delete(&mut sim);
        sleep_until(&mut sim, |sim| sim.object.is_none());
    }
}

#[test]
fn inactive_unknown_and_failed_states_stall_without_cleanup() {
    for (state, reason, message) in [
        ("INACTIVE", "Attention", "Queue requires attention (state INACTIVE)"),
        ("HIBERNATING", "Unknown", "Queue is in an unknown state (state HIBERNATING)"),
        ("FAILED", "Failed", "Queue failed (state FAILED)"),
    ] {
        let mut sim = ready(queue());
        sim.cloud().things.get_mut("thing-1").unwrap().state = state;
        sim.sleep(&[]);
        let object = sim.object();
        assert_eq!(object.condition(ConditionType::Stalled), (ConditionStatus::True, reason));
        assert_eq!(object.status.condition(ConditionType::Ready).unwrap().message, message);
        let delay = sim.requeue_at - sim.now();
        assert!((300..=335).contains(&delay), "retried slowly: {delay}");
        assert_eq!(sim.cloud().calls("delete"), 0, "a resource that once worked is never cleaned up");
        sim.cloud().things.get_mut("thing-1").unwrap().state = "ACTIVE";
        sleep_until(&mut sim, |sim| sim.is(ConditionType::Ready, READY));
    }
}
