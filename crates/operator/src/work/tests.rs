//! Passes under a clock that stands still until everybody waits.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Runs passes that take `length` and end with what `next` says for the key and the number of the pass, for
/// `lifetime`; which pass began when, in seconds.
async fn check(
    work: &Work<&'static str>,
    limit: usize,
    length: Duration,
    lifetime: Duration,
    next: impl Fn(&'static str, usize) -> Next + Send + Sync + 'static,
) -> Vec<(u64, &'static str)> {
    let began = Instant::now();
    let stop = CancellationToken::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let (seen, next) = (Arc::clone(&log), Arc::new(next));
    let running = work.run(limit, stop.clone(), move |key| {
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push((began.elapsed().as_secs(), key));
            seen.iter().filter(|(_, other)| *other == key).count()
        };
        let next = Arc::clone(&next);
        async move {
            tokio::time::sleep(length).await;
            next(key, number)
        }
    });
    let ending = async {
        tokio::time::sleep(lifetime).await;
        stop.cancel();
    };
    tokio::join!(running, ending);
    Arc::try_unwrap(log).unwrap().into_inner().unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_is_due_first_is_done_first_and_the_earliest_time_wins() {
    let work = Work::new();
    work.after("late", seconds(9));
    work.after("soon", seconds(7));
    work.after("soon", seconds(3));
    work.after("soon", seconds(5));
    work.now("first");
    work.now("second");
    let log = check(&work, 1, Duration::ZERO, seconds(60), |_, _| Next::Idle).await;
    assert_eq!(log, [(0, "first"), (0, "second"), (3, "soon"), (9, "late")]);
}

#[tokio::test(start_paused = true)]
async fn a_pass_says_when_the_next_one_is_due() {
    let work = Work::new();
    work.now("a");
    let next = |_, number| if number < 3 { Next::In(seconds(10)) } else { Next::Idle };
    let log = check(&work, 4, seconds(1), seconds(600), next).await;
    assert_eq!(log, [(0, "a"), (11, "a"), (22, "a")]);
    assert!(work.plan().entries.is_empty(), "what is idle costs nothing");
}

#[tokio::test(start_paused = true)]
async fn a_wait_may_be_as_long_as_can_be_said() {
    let work = Work::new();
    work.after("a", Duration::MAX);
    work.now("b");
    let log = check(&work, 4, Duration::ZERO, seconds(9), |_, _| Next::In(Duration::MAX)).await;
    assert_eq!(log, [(0, "b")]);
}

#[tokio::test(start_paused = true)]
async fn a_key_named_during_its_pass_is_gone_over_right_after_it() {
    let work = Work::new();
    work.now("a");
    let other = work.clone();
    let naming = async {
        tokio::time::sleep(seconds(2)).await;
        other.now("a");
        other.now("a");
    };
    let next = |_, number| if number == 1 { Next::In(seconds(300)) } else { Next::Idle };
    let (log, ()) = tokio::join!(check(&work, 4, seconds(5), seconds(600), next), naming);
    assert_eq!(log, [(0, "a"), (5, "a")]);
}

#[tokio::test(start_paused = true)]
async fn no_more_passes_than_allowed_go_on_at_once() {
    let work = Work::new();
    for key in ["a", "b", "c", "d"] {
        work.now(key);
    }
    let log = check(&work, 2, seconds(10), seconds(60), |_, _| Next::Idle).await;
    assert_eq!(log, [(0, "a"), (0, "b"), (10, "c"), (10, "d")]);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_key_is_left_alone_until_it_is_named_again() {
    let work = Work::new();
    work.now("running");
    work.after("waiting", seconds(5));
    let other = work.clone();
    let forgetting = async {
        tokio::time::sleep(seconds(1)).await;
        other.forget(&"running");
        other.forget(&"waiting");
        other.forget(&"unknown");
        tokio::time::sleep(seconds(99)).await;
        other.now("running");
    };
    let next = |_, number| if number == 1 { Next::In(seconds(10)) } else { Next::Idle };
    let (log, ()) = tokio::join!(check(&work, 4, seconds(3), seconds(600), next), forgetting);
    assert_eq!(log, [(0, "running"), (100, "running")]);
    assert!(work.plan().entries.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_panics_is_tried_again_ever_later_and_others_do_not_notice() {
    let work = Work::new();
    work.now("broken");
    work.after("sound", seconds(2));
    let next = |key, number| {
        assert!(key == "sound" || number == 4, "a pass of a test that panics");
        Next::Idle
    };
    let log = check(&work, 4, Duration::ZERO, seconds(600), next).await;
    // 1, 2 and 4 seconds, each up to a tenth less.
    assert_eq!(log, [(0, "broken"), (0, "broken"), (2, "sound"), (2, "broken"), (6, "broken")]);
    assert!(work.plan().entries.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_passes_end_but_not_for_ever() {
    let ended = Arc::new(AtomicUsize::new(0));
    let work = Work::new();
    work.now(5);
    work.now(3600);
    work.after(0, seconds(2));
    let stop = CancellationToken::new();
    let counted = Arc::clone(&ended);
    let running = work.run(8, stop.clone(), move |length| {
        let ended = Arc::clone(&counted);
        async move {
            tokio::time::sleep(seconds(length)).await;
            ended.fetch_add(1, Ordering::Relaxed);
            Next::In(Duration::ZERO)
        }
    });
    let began = Instant::now();
    let stopping = async {
        tokio::time::sleep(seconds(1)).await;
        stop.cancel();
    };
    tokio::join!(running, stopping);
    assert_eq!(began.elapsed(), seconds(1) + GRACE);
    assert_eq!(ended.load(Ordering::Relaxed), 1, "one ended, one was given up, none was begun");
}
