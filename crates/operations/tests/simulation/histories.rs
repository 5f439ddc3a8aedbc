//! Random histories: whatever happens, in whatever order, the invariants hold at every step, and once faults stop the
//! cloud converges to what the object asks for.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use testkit::seed;

use operations::{Annotations, ConditionStatus, ConditionType, OnMissing};

use crate::cloud::{Behavior, Outcome};
use crate::operator::{Fault, Simulation, UID, place_of};

/// How many histories `cargo test` plays of each kind: about twenty seconds of one core.
const SAMPLE: u64 = 10_000;

#[derive(Clone, Debug)]
enum Incident {
    /// Time reconciles until the requeue, then a reconcile with these faults.
    Sleep(Vec<Fault>),
    /// Some seconds pass, then an unscheduled reconcile.
    ReconcileAfter(i64, Vec<Fault>),
    /// The user changes the spec; the cloud rejects a negative size.
    Resize(i64),
    /// The user moves the resource to another pool.
    Repool(i64),
    /// The credentials are replaced by those of another region or tenancy.
    ChangeCredentials(usize),
    Delete,
    Pause(bool),
    OnMissing(OnMissing),
    /// How the next mutation ends.
    NextOutcome(Outcome),
    FinishHanging,
    /// Work requests in flight report to be updates.
    ReportUpdate,
    RevokeAccess(bool),
    /// The resource is deleted behind the operator's back.
    DeleteExternally {
        tombstone: bool,
    },
    /// The resource is changed behind the operator's back.
    ModifyExternally(i64),
    Restart,
    /// The clock is off by this many seconds.
    Skew(i64),
    /// The clock is set back and stays so.
    SetClockBack,
    /// The cluster is restored from a backup of so many versions ago, and perhaps a user deletes the object or the operator
    /// restarts before it is reconciled.
    Restore {
        age: usize,
        deletes: bool,
        restarts: bool,
    },
    /// A reconcile of an old version of the object.
    Stale,
    /// A leader freezes before its n-th call, and another one takes over.
    Freeze(usize),
    /// The frozen leader continues.
    Thaw,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        8 => Just(Fault::None),
        1 => Just(Fault::CrashesBeforeStore),
        1 => Just(Fault::LosesWrite),
        1 => Just(Fault::CrashesBeforeCall),
        1 => Just(Fault::CrashesAfterCall),
        1 => Just(Fault::LosesResponse),
        2 => prop_oneof![
            Just(Fault::Refused(429, "TooManyRequests")),
            Just(Fault::Refused(500, "InternalServerError")),
            Just(Fault::Refused(503, "ServiceUnavailable")),
            Just(Fault::Refused(401, "NotAuthenticated")),
            Just(Fault::Refused(404, "NotAuthorizedOrNotFound")),
            Just(Fault::Refused(404, "NotFound")),
            Just(Fault::Refused(409, "IncorrectState")),
            Just(Fault::Refused(412, "NoEtagMatch")),
            Just(Fault::Refused(400, "LimitExceeded")),
        ],
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Fails),
        Just(Outcome::FailsLeavingNothing),
        Just(Outcome::IsCanceled),
        Just(Outcome::Hangs("NEEDS_ATTENTION")),
        Just(Outcome::Hangs("A_NEW_STATUS")),
    ]
}

fn incident() -> impl Strategy<Value = Incident> {
    let faults = || prop::collection::vec(fault(), 0..4);
    prop_oneof![
        16 => faults().prop_map(Incident::Sleep),
        6 => (0..40_i64, faults()).prop_map(|(seconds, faults)| Incident::ReconcileAfter(seconds, faults)),
        3 => (-1..5_i64).prop_map(Incident::Resize),
        2 => (0..3_i64).prop_map(Incident::Repool),
        2 => (0..3_usize).prop_map(Incident::ChangeCredentials),
        1 => Just(Incident::Delete),
        1 => any::<bool>().prop_map(Incident::Pause),
        1 => prop_oneof![Just(OnMissing::Recreate), Just(OnMissing::Report)].prop_map(Incident::OnMissing),
        3 => outcome().prop_map(Incident::NextOutcome),
        1 => Just(Incident::FinishHanging),
        1 => Just(Incident::ReportUpdate),
        2 => any::<bool>().prop_map(Incident::RevokeAccess),
        1 => any::<bool>().prop_map(|tombstone| Incident::DeleteExternally { tombstone }),
        1 => (0..5_i64).prop_map(Incident::ModifyExternally),
        2 => Just(Incident::Restart),
        1 => (-20..20_i64).prop_map(Incident::Skew),
        1 => Just(Incident::SetClockBack),
        1 => (0..12_usize, prop::bool::weighted(0.2), any::<bool>())
            .prop_map(|(age, deletes, restarts)| Incident::Restore { age, deletes, restarts }),
        2 => Just(Incident::Stale),
        2 => (0..4_usize).prop_map(Incident::Freeze),
        2 => Just(Incident::Thaw),
    ]
}

fn behavior(work_requests: bool) -> impl Strategy<Value = Behavior> {
    // A create that leaves no trace for longer than the grace is indistinguishable from one that was never sent; a work
    // request is a trace.
    let takes = if work_requests { 0..250_i64 } else { 0..100_i64 };
    (any::<bool>(), takes, 0..30_i64, any::<bool>()).prop_map(move |(untracked_ids, takes, lag, hides)| {
        Behavior { work_requests, untracked_ids, takes, lag, hides: hides && work_requests }
    })
}

fn apply(sim: &mut Simulation, base: &mut i64, incident: Incident) {
    match incident {
        Incident::Sleep(faults) => sim.sleep(&faults),
        Incident::ReconcileAfter(seconds, faults) => {
            sim.cloud().advance(seconds);
            sim.reconcile(&faults);
        }
        Incident::Resize(size) => sim.edit(|object| {
            if object.spec.size != size {
                object.spec.size = size;
                object.generation += 1;
            }
        }),
        Incident::Repool(_) if sim.is_found_by_its_spec_only() => {}
        Incident::Repool(pool) => sim.edit(|object| {
            if object.spec.pool != pool {
                object.spec.pool = pool;
                object.generation += 1;
            }
        }),
        Incident::ChangeCredentials(place) => {
            sim.place = place;
            sim.requeue_at = sim.now();
        }
        Incident::Delete => delete(sim),
        Incident::Pause(paused) => sim.edit(|object| object.annotations.paused = paused),
        Incident::OnMissing(on_missing) => sim.edit(|object| object.annotations.on_missing = on_missing),
        Incident::NextOutcome(outcome) => sim.cloud().next_outcome = outcome,
        Incident::ReportUpdate => sim.cloud().report_update(),
        Incident::FinishHanging => sim.cloud().finish_hanging(),
        Incident::RevokeAccess(revoked) => sim.cloud().revoked = revoked,
        Incident::DeleteExternally { tombstone } => sim.cloud().delete_externally(UID, tombstone),
        Incident::ModifyExternally(size) => sim.cloud().modify_externally(UID, size),
        Incident::Restart => sim.restart(),
        Incident::Skew(skew) => sim.skew = *base + skew,
        Incident::SetClockBack => {
            *base -= 7200;
            sim.skew = *base;
        }
        Incident::Restore { age, deletes, restarts } => {
            sim.restore(age);
            if restarts {
                sim.restart();
            }
            if deletes {
                delete(sim);
            }
            sim.reconcile(&[]);
        }
        Incident::Stale => sim.reconcile_stale(),
        Incident::Freeze(calls) => sim.freeze(calls),
        Incident::Thaw => sim.thaw(),
    }
}

fn delete(sim: &mut Simulation) {
    sim.edit(|object| {
        if object.has_finalizer && !object.deleting {
            object.deleting = true;
            object.generation += 1;
        }
    });
}

/// Faults stop, and the object asks for something possible.
fn stabilize(sim: &mut Simulation) {
    sim.thaw();
    {
        let mut cloud = sim.cloud();
        cloud.revoked = false;
        cloud.next_outcome = Outcome::Succeeds;
        cloud.finish_hanging();
        cloud.make_pending_succeed();
    }
    // The right credentials are those on record.
    let bound = sim.object.as_ref().and_then(|object| object.status.status.binding.clone());
    if let Some(bound) = bound {
        sim.place = place_of(&bound).expect("one of the three");
    }
    sim.edit(|object| {
        object.annotations = Annotations::default();
        if object.spec.size < 0 {
            object.spec.size = 3;
            object.generation += 1;
        }
    });
    // Ten consecutive reconciles without a write or an operation in flight count as forever.
    let (mut quiet, mut reconciles) = (0, 0);
    while quiet < 10 && reconciles < 200 {
        let writes = sim.writes;
        sim.sleep(&[]);
        let waits = sim.object.as_ref().is_some_and(|object| object.status.current().is_some());
        quiet = if sim.writes == writes && !waits { quiet + 1 } else { 0 };
        reconciles += 1;
    }
}

fn assert_converged(sim: &mut Simulation) {
    let alive: Vec<(String, (i64, i64))> = sim
        .cloud()
        .alive(UID)
        .into_iter()
        .map(|(_, thing)| (thing.state.to_owned(), (thing.size, thing.pool)))
        .collect();
    let foreign = sim.cloud().things["foreign"].clone();
    assert_eq!((foreign.state, foreign.size), ("ACTIVE", 77), "another owner's resource was touched");
    let Some(object) = sim.object.clone() else {
        assert_eq!(alive, [], "an orphan is left");
        return;
    };
    assert!(!object.deleting, "the deletion never ends: {:#?} {:#?}", object.status, sim.cloud().journal);
    if sim.is_restored && alive.iter().any(|(state, _)| state == "FAILED") {
        // Without a record that it is the leftover of a failed create, it may hold a user's data.
        assert_eq!(object.condition(ConditionType::Stalled), (ConditionStatus::True, "Failed"));
        return;
    }
    let wanted = ("ACTIVE".to_owned(), (object.spec.size, object.spec.pool));
    assert_eq!(alive, [wanted], "{:#?}", object.status);
    assert_eq!(object.condition(ConditionType::Ready), (ConditionStatus::True, "Available"));
    assert_eq!(object.condition(ConditionType::Progressing), (ConditionStatus::False, "Idle"));
    assert_eq!(object.condition(ConditionType::Stalled), (ConditionStatus::False, "AsExpected"));
    assert_eq!(object.status.observed_generation, Some(object.generation));
    assert_eq!(object.status.current(), None);
    // Nothing changed, so nothing is written.
    let writes = sim.writes;
    for _ in 0..3 {
        sim.sleep(&[]);
    }
    sim.restart();
    sim.sleep(&[]);
    assert_eq!(sim.writes, writes, "an idle object was written: {:#?}", object.status);
}

/// Plays the history of a seed; how many steps it took, or the simplest history that fails, too.
fn play(work_requests: bool, seed: u64) -> Result<u64, String> {
    let steps = Cell::new(0);
    let config =
        Config { cases: 1, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    // The cheapest generator, since in a debug build the better ones take longer than everything else. Of similar seeds it
    // makes similar numbers.
    let mut bytes = [1; 16];
    bytes[..8].copy_from_slice(&hash(seed).to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let histories = (behavior(work_requests), prop::collection::vec(incident(), 1..80));
    let result = runner.run(&histories, |(behavior, history)| {
        let mut sim = Simulation::new(behavior);
        let mut base = 0;
        for next in history {
            apply(&mut sim, &mut base, next);
        }
        stabilize(&mut sim);
        assert_converged(&mut sim);
        steps.set(sim.steps as u64);
        Ok(())
    });
    result
        .map(|()| steps.get())
        .map_err(|failure| format!("{failure}\n\nPLIMSOLL_SEED={seed} plays it again."))
}

fn hash(seed: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    hasher.finish()
}

fn check(work_requests: bool) {
    let (played, steps) = (AtomicU64::new(0), AtomicU64::new(0));
    let seeds = seed::histories("histories of operations", SAMPLE);
    let failed = seed::first_failing(seeds, |seed| {
        let took = play(work_requests, seed);
        played.fetch_add(1, Ordering::Relaxed);
        took.map(|took| steps.fetch_add(took, Ordering::Relaxed)).is_err()
    });
    if let Some(seed) = failed {
        panic!("{}", play(work_requests, seed).expect_err("a history fails again"));
    }
    let (played, steps) = (played.into_inner(), steps.into_inner());
    assert!(played < SAMPLE || steps > 50 * played, "{steps} steps in {played} histories");
}

#[test]
fn a_kind_with_work_requests_upholds_the_invariants() {
    check(true);
}

#[test]
fn a_lifecycle_kind_upholds_the_invariants() {
    check(false);
}

/// Create, update and delete, with one fault at the `at`-th step; whether it occurred at all.
fn full_lifecycle(behavior: Behavior, at: usize, fault: Fault) -> bool {
    let mut sim = Simulation::new(behavior);
    sim.planned_fault = Some((at, fault));
    let settle = |sim: &mut Simulation| {
        for _ in 0..30 {
            sim.sleep(&[]);
            // Only an object with nothing in flight is requeued that late.
            if sim.object.is_none() || sim.requeue_at - sim.now() > 400 {
                return;
            }
        }
        panic!("it does not settle: {:#?}", sim.cloud().journal);
    };
    settle(&mut sim);
    assert_eq!(sim.object().condition(ConditionType::Ready), (ConditionStatus::True, "Available"));
    apply(&mut sim, &mut 0, Incident::Resize(4));
    settle(&mut sim);
    let sizes: Vec<i64> = sim.cloud().alive(UID).iter().map(|(_, thing)| thing.size).collect();
    assert_eq!(sizes, [4]);
    apply(&mut sim, &mut 0, Incident::Delete);
    settle(&mut sim);
    assert!(sim.object.is_none(), "{:#?}", sim.cloud().journal);
    let cloud = sim.cloud();
    assert_eq!((cloud.alive(UID).len(), cloud.created), (0, 1), "{:#?}", cloud.journal);
    drop(cloud);
    sim.planned_fault.is_none()
}

#[test]
fn a_fault_at_any_single_step_changes_only_how_long_it_takes() {
    for work_requests in [true, false] {
        let behavior = Behavior { work_requests, untracked_ids: false, takes: 20, lag: 5, hides: false };
        for fault in [
            Fault::CrashesBeforeStore,
            Fault::CrashesBeforeCall,
            Fault::CrashesAfterCall,
            Fault::LosesResponse,
            Fault::Refused(503, ""),
        ] {
            let steps = (0..1000).take_while(|at| full_lifecycle(behavior, *at, fault)).count();
            assert!(steps > 12, "{fault:?} was tried at {steps} steps only");
        }
    }
}
