//! Random histories: whatever happens in whatever order, the laws hold at every step, and once things calm down the
//! cloud is as the object asks.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use operations::{ConditionStatus, ConditionType, OnMissing, Wishes};

use crate::cloud::{Manners, Outcome};
use crate::operator::{Fault, UID, World};

/// Something that happens.
#[derive(Clone, Debug)]
enum Move {
    /// Time passes until the wake-up, then a pass with these faults.
    Sleep(Vec<Fault>),
    /// Some seconds pass, then a pass that nobody asked for.
    Poke(i64, Vec<Fault>),
    /// A person changes the spec; a negative size is refused by the cloud.
    Resize(i64),
    Delete,
    Pause(bool),
    OnMissing(OnMissing),
    /// How the next mutation ends.
    Next(Outcome),
    Unhang,
    /// What is in flight calls itself an update.
    Contradict,
    Revoke(bool),
    /// Somebody removes the resource behind our back, with or without a trace.
    Vandal {
        trace: bool,
    },
    /// Somebody changes the resource behind our back.
    Meddle(i64),
    Restart,
    /// The clock is set to this much off.
    Skew(i64),
    /// The clock is set back for good.
    SetBack,
    /// A pass on an old version of the object.
    Stale,
    /// A leader freezes in front of its n-th call, and another one takes over.
    Freeze(usize),
    /// The frozen leader goes on.
    Thaw,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        8 => Just(Fault::None),
        1 => Just(Fault::DiesBeforeStore),
        1 => Just(Fault::DiesBeforeCall),
        1 => Just(Fault::DiesAfterCall),
        1 => Just(Fault::LosesAnswer),
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
        Just(Outcome::Hangs("A_NEW_WORD")),
    ]
}

fn happening() -> impl Strategy<Value = Move> {
    let faults = || prop::collection::vec(fault(), 0..4);
    prop_oneof![
        16 => faults().prop_map(Move::Sleep),
        6 => (0..40_i64, faults()).prop_map(|(seconds, faults)| Move::Poke(seconds, faults)),
        3 => (-1..5_i64).prop_map(Move::Resize),
        1 => Just(Move::Delete),
        1 => any::<bool>().prop_map(Move::Pause),
        1 => prop_oneof![Just(OnMissing::Recreate), Just(OnMissing::Report)].prop_map(Move::OnMissing),
        3 => outcome().prop_map(Move::Next),
        1 => Just(Move::Unhang),
        1 => Just(Move::Contradict),
        2 => any::<bool>().prop_map(Move::Revoke),
        1 => any::<bool>().prop_map(|trace| Move::Vandal { trace }),
        1 => (0..5_i64).prop_map(Move::Meddle),
        2 => Just(Move::Restart),
        1 => (-20..20_i64).prop_map(Move::Skew),
        1 => Just(Move::SetBack),
        2 => Just(Move::Stale),
        2 => (0..4_usize).prop_map(Move::Freeze),
        2 => Just(Move::Thaw),
    ]
}

fn manners(work_requests: bool) -> impl Strategy<Value = Manners> {
    // A create that nothing at all shows for longer than the grace cannot be told from one that never was; with a
    // work request there is something that shows it.
    let takes = if work_requests { 0..250_i64 } else { 0..100_i64 };
    (any::<bool>(), takes, 0..30_i64, any::<bool>()).prop_map(move |(breadcrumbs, takes, lag, hides)| {
        Manners { work_requests, breadcrumbs, takes, lag, hides: hides && work_requests }
    })
}

fn happen(world: &mut World, base: &mut i64, happening: Move) {
    match happening {
        Move::Sleep(faults) => world.sleep(&faults),
        Move::Poke(seconds, faults) => {
            world.cloud().advance(seconds);
            world.pass(&faults);
        }
        Move::Resize(size) => world.edit(|object| {
            if object.spec.size != size {
                object.spec.size = size;
                object.generation += 1;
            }
        }),
        Move::Delete => world.edit(|object| {
            if object.held && !object.deleting {
                object.deleting = true;
                object.generation += 1;
            }
        }),
        Move::Pause(paused) => world.edit(|object| object.wishes.paused = paused),
        Move::OnMissing(on_missing) => world.edit(|object| object.wishes.on_missing = on_missing),
        Move::Next(outcome) => world.cloud().next_outcome = outcome,
        Move::Contradict => world.cloud().contradict(),
        Move::Unhang => world.cloud().unhang(),
        Move::Revoke(revoked) => world.cloud().revoked = revoked,
        Move::Vandal { trace } => world.cloud().vandalise(UID, trace),
        Move::Meddle(size) => world.cloud().meddle(UID, size),
        Move::Restart => world.restart(),
        Move::Skew(skew) => world.skew = *base + skew,
        Move::SetBack => {
            *base -= 7200;
            world.skew = *base;
        }
        Move::Stale => world.stale_pass(),
        Move::Freeze(calls) => world.freeze(calls),
        Move::Thaw => world.thaw(),
    }
}

/// Nothing goes wrong any more, and the object asks for something that can be done.
fn calm_down(world: &mut World) {
    world.thaw();
    {
        let mut cloud = world.cloud();
        cloud.revoked = false;
        cloud.next_outcome = Outcome::Succeeds;
        cloud.unhang();
        cloud.settle_outcomes();
    }
    world.edit(|object| {
        object.wishes = Wishes::default();
        if object.spec.size < 0 {
            object.spec.size = 3;
            object.generation += 1;
        }
    });
    // Ten passes in a row that neither write nor wait for anything are as good as for ever.
    let (mut quiet, mut passes) = (0, 0);
    while quiet < 10 && passes < 200 {
        let writes = world.writes;
        world.sleep(&[]);
        let waits = world.object.as_ref().is_some_and(|object| object.status.current().is_some());
        quiet = if world.writes == writes && !waits { quiet + 1 } else { 0 };
        passes += 1;
    }
}

fn converges(world: &mut World) {
    let alive: Vec<(String, i64)> =
        world.cloud().alive(UID).into_iter().map(|(_, thing)| (thing.state.to_owned(), thing.size)).collect();
    let foreign = world.cloud().things["foreign"].clone();
    assert_eq!((foreign.state, foreign.size), ("ACTIVE", 77), "somebody else's resource was touched");
    let Some(object) = world.object.clone() else {
        assert_eq!(alive, [], "an orphan is left");
        return;
    };
    assert!(!object.deleting, "the deletion never ends: {:#?} {:#?}", object.status, world.cloud().journal);
    assert_eq!(alive, [("ACTIVE".to_owned(), object.spec.size)], "{:#?}", object.status);
    assert_eq!(object.condition(ConditionType::Ready), (ConditionStatus::True, "Available"));
    assert_eq!(object.condition(ConditionType::Progressing), (ConditionStatus::False, "Idle"));
    assert_eq!(object.condition(ConditionType::Stalled), (ConditionStatus::False, "AsExpected"));
    assert_eq!(object.status.observed_generation, Some(object.generation));
    assert_eq!(object.status.current(), None);
    // I5: nothing changed, nothing is written.
    let writes = world.writes;
    for _ in 0..3 {
        world.sleep(&[]);
    }
    world.restart();
    world.sleep(&[]);
    assert_eq!(world.writes, writes, "an idle object was written: {:#?}", object.status);
}

fn check(work_requests: bool, cases: u32) -> usize {
    let steps = Cell::new(0);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    // Always the same histories, so that a failure is a failure of the change at hand; and the cheapest generator,
    // since without optimisation the better ones take longer than all the rest.
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::XorShift));
    let histories = (manners(work_requests), prop::collection::vec(happening(), 1..80));
    let result = runner.run(&histories, |(manners, history)| {
        let mut world = World::new(manners);
        let mut base = 0;
        for next in history {
            happen(&mut world, &mut base, next);
        }
        calm_down(&mut world);
        converges(&mut world);
        steps.set(steps.get() + world.steps);
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    steps.get()
}

#[test]
fn a_kind_with_work_requests_keeps_the_laws_whatever_happens() {
    let steps = check(true, 1800);
    assert!(steps > 100_000, "{steps} steps");
}

#[test]
fn a_kind_with_states_only_keeps_the_laws_whatever_happens() {
    let steps = check(false, 1800);
    assert!(steps > 100_000, "{steps} steps");
}

/// Create, update and delete, with one accident at the `at`-th step; whether it happened at all.
fn live_and_die(manners: Manners, at: usize, fault: Fault) -> bool {
    let mut world = World::new(manners);
    world.accident = Some((at, fault));
    let settle = |world: &mut World| {
        for _ in 0..30 {
            world.sleep(&[]);
            // A long pause is that of an object with nothing in flight.
            if world.object.is_none() || world.wake - world.now() > 400 {
                return;
            }
        }
        panic!("it does not settle: {:#?}", world.cloud().journal);
    };
    settle(&mut world);
    assert_eq!(world.object().condition(ConditionType::Ready), (ConditionStatus::True, "Available"));
    happen(&mut world, &mut 0, Move::Resize(4));
    settle(&mut world);
    let sizes: Vec<i64> = world.cloud().alive(UID).iter().map(|(_, thing)| thing.size).collect();
    assert_eq!(sizes, [4]);
    happen(&mut world, &mut 0, Move::Delete);
    settle(&mut world);
    assert!(world.object.is_none(), "{:#?}", world.cloud().journal);
    let cloud = world.cloud();
    assert_eq!((cloud.alive(UID).len(), cloud.created), (0, 1), "{:#?}", cloud.journal);
    drop(cloud);
    world.accident.is_none()
}

/// I8: a crash at any point changes when things happen, and nothing else.
#[test]
fn an_accident_at_any_single_step_changes_nothing_but_the_time_it_takes() {
    for work_requests in [true, false] {
        let manners = Manners { work_requests, breadcrumbs: false, takes: 20, lag: 5, hides: false };
        for fault in [
            Fault::DiesBeforeStore,
            Fault::DiesBeforeCall,
            Fault::DiesAfterCall,
            Fault::LosesAnswer,
            Fault::Refused(503, ""),
        ] {
            let steps = (0..1000).take_while(|at| live_and_die(manners, *at, fault)).count();
            assert!(steps > 12, "{fault:?} was tried at {steps} steps only");
        }
    }
}
