use proptest::prelude::*;

use super::*;

const fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn open_breaker() -> Breaker {
    let mut breaker = Breaker::new(Limits::default(), at(0));
    for _ in 0..51 {
        assert!(breaker.admits("ConfigMap a/loud", Change::Updated, at(0)));
    }
    breaker
}

#[test]
fn fifty_updates_are_admitted_at_once_and_the_next_opens() {
    let mut breaker = Breaker::new(Limits::default(), at(0));
    for _ in 0..50 {
        assert!(breaker.admits("ConfigMap a/b", Change::Updated, at(0)));
    }
    assert_eq!(breaker.condition(Timestamp::UNIX_EPOCH).reason, "WatchCircuitClosed");
    assert!(breaker.admits("ConfigMap a/b", Change::Updated, at(0)));
    let condition = breaker.condition(Timestamp::UNIX_EPOCH);
    assert_eq!((condition.status, condition.reason.as_str()), (ConditionStatus::False, "WatchCircuitOpen"));
    assert_eq!(condition.message, "Too many watch events from ConfigMap a/b. Allowing events periodically.");
}

#[test]
fn one_update_every_two_seconds_is_always_admitted() {
    let mut breaker = Breaker::new(Limits::default(), at(0));
    for second in (0..4000).step_by(2) {
        assert!(breaker.admits("a", Change::Updated, at(second)));
    }
    assert_eq!(breaker.closes_at(), None);
}

#[test]
fn an_open_breaker_lets_a_probe_through_every_half_minute() {
    let mut breaker = open_breaker();
    let passed: Vec<u64> =
        (1..300).filter(|second| breaker.admits("a", Change::Updated, at(*second))).collect();
    assert_eq!(passed, [31, 62, 93, 124, 155, 186, 217, 248, 279]);
    // A deletion has no second event.
    assert!(breaker.admits("a", Change::Deleted, at(10)));
}

#[test]
fn a_breaker_that_held_events_back_causes_a_reconcile_when_it_closes() {
    let mut breaker = open_breaker();
    assert_eq!(breaker.closes_at(), Some(at(300)));
    assert!(!breaker.admits("a", Change::Updated, at(5)));
    assert!(!breaker.tick(at(299)));
    assert!(breaker.tick(at(300)));
    assert_eq!(breaker.closes_at(), None);
    assert!(!breaker.tick(at(301)));
    // Without anything held back nothing is owed.
    let mut quiet = open_breaker();
    assert!(!quiet.tick(at(300)));
    assert_eq!(quiet.closes_at(), None);
}

#[test]
fn the_loudest_source_of_the_last_sixteen_is_named() {
    let mut breaker = Breaker::new(Limits { burst: 30.0, ..Limits::default() }, at(0));
    for _ in 0..10 {
        breaker.admits("early", Change::Updated, at(0));
    }
    for _ in 0..5 {
        breaker.admits("late", Change::Updated, at(0));
        breaker.admits("other", Change::Created, at(0));
    }
    assert!(breaker.condition(Timestamp::UNIX_EPOCH).message.contains("from late."));
}

proptest! {
    #[test]
    fn what_is_held_back_is_made_good(events in prop::collection::vec((0_u64..5, any::<bool>()), 0..400)) {
        let mut breaker = Breaker::new(Limits::default(), at(0));
        let (mut now, mut owed) = (0_u64, false);
        for (pause, update) in events {
            now += pause;
            breaker.tick(at(now));
            let change = if update { Change::Updated } else { Change::Created };
            owed = !breaker.admits("a", change, at(now));
        }
        // A reconcile follows the last event: right away, or when the breaker closes.
        if owed {
            let closes = breaker.closes_at().expect("only an open breaker holds back");
            prop_assert!(breaker.tick(closes));
        }
    }
}
