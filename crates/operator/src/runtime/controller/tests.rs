//! Reconciles with tokio's paused time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use super::*;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

type Next = dyn Fn(&'static str, usize) -> Result<Action, ReconcileError<&'static str>> + Send + Sync;

/// Reconciles take `length` and end as `next` says for the key and the number of the reconcile.
struct Script<const LIMIT: usize> {
    queue: Queue<Self>,
    length: Duration,
    next: Box<Next>,
    began: Instant,
    /// Which reconcile began when, in seconds.
    log: Mutex<Vec<(u64, &'static str)>>,
    /// What each memory held when it was last seen.
    memories: Mutex<Vec<u32>>,
    /// The uid of every object; none exists while it is 0.
    uid: AtomicU64,
}

impl<const LIMIT: usize> Script<LIMIT> {
    fn new(
        length: Duration,
        next: impl Fn(&'static str, usize) -> Result<Action, ReconcileError<&'static str>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue: Queue::default(),
            length,
            next: Box::new(next),
            began: Instant::now(),
            log: Mutex::default(),
            memories: Mutex::default(),
            uid: AtomicU64::new(1),
        })
    }

    /// Runs for `lifetime`.
    async fn run(self: &Arc<Self>, lifetime: Duration) -> Vec<(u64, &'static str)> {
        let stop = CancellationToken::new();
        let stopping = async {
            tokio::time::sleep(lifetime).await;
            stop.cancel();
        };
        let metrics = Metrics::new();
        tokio::join!(run(self, &self.queue, &metrics, stop.clone()), stopping);
        self.log.lock().unwrap().clone()
    }

    /// Runs `change` after `wait`.
    async fn later(self: &Arc<Self>, wait: Duration, change: impl FnOnce(&Self)) {
        tokio::time::sleep(wait).await;
        change(self);
    }
}

impl<const LIMIT: usize> Reconciler for Script<LIMIT> {
    type Key = &'static str;
    type Memory = u32;
    type Signals = ();
    type Error = &'static str;

    const NAME: &'static str = "test";
    const MAX_CONCURRENT_RECONCILES: usize = LIMIT;
    const RESERVED_FOR_CHANGES: usize = 1;
    const BACKOFF: Backoff = Backoff::new(seconds(10), seconds(60));

    fn find(&self, key: &&'static str) -> Option<Arc<Value>> {
        let uid = self.uid.load(Ordering::Relaxed);
        (uid > 0).then(|| Arc::new(json!({"metadata": {"name": key, "uid": uid.to_string()}})))
    }

    async fn reconcile(
        self: &Arc<Self>,
        key: &&'static str,
        _object: Arc<Value>,
        memory: &mut u32,
    ) -> Result<Action, ReconcileError<&'static str>> {
        *memory += 1;
        self.memories.lock().unwrap().push(*memory);
        let number = {
            let mut log = self.log.lock().unwrap();
            log.push((self.began.elapsed().as_secs(), *key));
            log.iter().filter(|(_, other)| other == key).count()
        };
        tokio::time::sleep(self.length).await;
        (self.next)(key, number)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a script returns what a reconcile returns")]
const fn done(_: &'static str, _: usize) -> Result<Action, ReconcileError<&'static str>> {
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn priority_keys_do_not_wait_for_ordinary_keys() {
    let script = Script::<2>::new(seconds(100), done);
    for key in ["due-1", "due-2", "due-3", "due-4"] {
        script.queue.enqueue(key);
    }
    let changes = script.later(seconds(5), |script| {
        script.queue.enqueue("due-5");
        // It was merely due before.
        script.queue.enqueue_first("due-4");
        script.queue.enqueue("due-4");
        script.queue.enqueue_first("new");
    });
    let (log, ()) = tokio::join!(script.run(seconds(250)), changes);
    let expected = [(0, "due-1"), (0, "due-2"), (5, "due-4"), (100, "new"), (105, "due-3"), (200, "due-5")];
    assert_eq!(log, expected, "one more may run than is usual, and the others keep their order");
}

#[tokio::test(start_paused = true)]
async fn the_earliest_key_comes_first_and_the_earliest_time_of_a_key_wins() {
    let script = Script::<1>::new(Duration::ZERO, done);
    script.queue.enqueue_after("late", seconds(9));
    script.queue.enqueue_after("soon", seconds(7));
    script.queue.enqueue_after("soon", seconds(3));
    script.queue.enqueue_after("soon", seconds(5));
    script.queue.enqueue("first");
    script.queue.enqueue("second");
    let log = script.run(seconds(60)).await;
    assert_eq!(log, [(0, "first"), (0, "second"), (3, "soon"), (9, "late")]);
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_says_when_the_next_one_is_due() {
    let next = |_, number| Ok(if number < 3 { Action::requeue(seconds(10)) } else { Action::await_change() });
    let script = Script::<4>::new(seconds(1), next);
    script.queue.enqueue("a");
    assert_eq!(script.run(seconds(600)).await, [(0, "a"), (11, "a"), (22, "a")]);
    assert_eq!(*script.memories.lock().unwrap(), [1, 2, 3], "what one leaves the next one has");
}

#[tokio::test(start_paused = true)]
async fn a_wait_may_be_as_long_as_a_duration_can_be() {
    let script = Script::<4>::new(Duration::ZERO, |_, _| Ok(Action::requeue(Duration::MAX)));
    script.queue.enqueue_after("a", Duration::MAX);
    script.queue.enqueue("b");
    assert_eq!(script.run(seconds(9)).await, [(0, "b")]);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_enqueued_during_its_reconcile_is_reconciled_once_more_right_after() {
    let next =
        |_, number| Ok(if number == 1 { Action::requeue(seconds(300)) } else { Action::await_change() });
    let script = Script::<4>::new(seconds(5), next);
    script.queue.enqueue("a");
    let enqueuing = script.later(seconds(2), |script| {
        script.queue.enqueue("a");
        script.queue.enqueue("a");
    });
    let (log, ()) = tokio::join!(script.run(seconds(600)), enqueuing);
    assert_eq!(log, [(0, "a"), (5, "a")]);
}

#[tokio::test(start_paused = true)]
async fn no_more_reconciles_run_at_once_than_allowed() {
    let script = Script::<2>::new(seconds(10), done);
    for key in ["a", "b", "c", "d"] {
        script.queue.enqueue(key);
    }
    assert_eq!(script.run(seconds(60)).await, [(0, "a"), (0, "b"), (10, "c"), (10, "d")]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_key_backs_off_and_a_success_ends_that() {
    let next = |_, number| match number {
        1..=3 => Err(ReconcileError::Failed("it fails")),
        4 => Err(ReconcileError::Conflict),
        5 => Ok(Action::requeue(seconds(100))),
        6 => Err(ReconcileError::Failed("it fails again")),
        _ => Ok(Action::await_change()),
    };
    let script = Script::<4>::new(Duration::ZERO, next);
    script.queue.enqueue("a");
    let watching = script.later(seconds(40), |script| assert_eq!(script.queue.failing(), ["a"]));
    let (log, ()) = tokio::join!(script.run(seconds(600)), watching);
    let gaps: Vec<u64> = log.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    // 10, 20 and 40 seconds, each up to a tenth less; a conflict is retried at once and is not a failure.
    let bounds = [9..=10, 18..=20, 36..=40, 0..=1, 100..=100, 9..=10];
    assert!(gaps.len() == 6 && gaps.iter().zip(bounds).all(|(gap, bound)| bound.contains(gap)), "{gaps:?}");
    assert!(script.queue.failing().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_key_that_meets_one_conflict_after_another_waits_longer_each_time() {
    let script = Script::<4>::new(Duration::ZERO, |_, _| Err(ReconcileError::Conflict));
    script.queue.enqueue("a");
    let log = script.run(seconds(60)).await;
    // From 50 ms to 5 s, each up to a tenth less.
    assert!((17..=21).contains(&log.len()), "{log:?}");
    let gaps: Vec<u64> = log.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps[9..].iter().all(|gap| (4..=5).contains(gap)), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn what_was_being_reconciled_when_a_controller_panicked_is_due_when_it_is_started_again() {
    let script = Script::<4>::new(seconds(10), done);
    script.queue.enqueue("a");
    let stop = CancellationToken::new();
    let metrics = Metrics::new();
    tokio::select! {
        () = run(&script, &script.queue, &metrics, stop.clone()) => unreachable!("it is not stopped"),
        () = script.later(seconds(5), |script| script.queue.enqueue("a")) => {}
    }
    assert_eq!(script.run(seconds(60)).await, [(0, "a"), (5, "a")]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_key_waits_as_long_as_the_server_asks() {
    let script = Script::<4>::new(Duration::ZERO, |_, number| {
        if number == 1 {
            asked_to_wait(seconds(120));
        }
        if number < 3 { Err(ReconcileError::Failed("too many requests")) } else { Ok(Action::await_change()) }
    });
    script.queue.enqueue("a");
    let log = script.run(seconds(600)).await;
    let gaps: Vec<u64> = log.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.len() == 2 && gaps[0] == 120 && (18..=20).contains(&gaps[1]), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_finds_nothing_due_does_not_reset_the_backoff() {
    let next = |_, number| match number {
        1 | 3 => Err(ReconcileError::Failed("it fails")),
        2 => Ok(Action::requeue(seconds(5)).skipped()),
        _ => Ok(Action::await_change()),
    };
    let script = Script::<4>::new(Duration::ZERO, next);
    script.queue.enqueue("a");
    let log = script.run(seconds(600)).await;
    let gaps: Vec<u64> = log.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.len() == 3 && (18..=20).contains(&gaps[2]), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn deleted_objects_are_forgotten_and_their_successors_start_afresh() {
    let script = Script::<4>::new(Duration::ZERO, done);
    script.queue.enqueue("a");
    let changing = async {
        let at = |uid: u64| {
            move |script: &Script<4>| {
                script.uid.store(uid, Ordering::Relaxed);
                script.queue.enqueue("a");
            }
        };
        script.later(seconds(1), at(1)).await;
        script.later(seconds(1), at(2)).await;
        script.later(seconds(1), at(0)).await;
        script.later(seconds(1), |script| assert!(script.queue.keys_where(|()| true).is_empty())).await;
        script.later(seconds(1), at(2)).await;
    };
    let (log, ()) = tokio::join!(script.run(seconds(60)), changing);
    assert_eq!(log, [(0, "a"), (1, "a"), (2, "a"), (5, "a")]);
    assert_eq!(*script.memories.lock().unwrap(), [1, 2, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_retried_with_a_backoff_and_other_keys_do_not_notice() {
    let next = |key, number| {
        assert!(key == "sound" || number == 4, "a reconcile that panics, for a test");
        Ok(Action::await_change())
    };
    let script = Script::<4>::new(Duration::ZERO, next);
    script.queue.enqueue("broken");
    script.queue.enqueue_after("sound", seconds(2));
    let log = script.run(seconds(600)).await;
    // After 1, 2 and 4 seconds, each up to a tenth less: little jitter rounds up to a whole second.
    let bounds =
        [("broken", 0..=0), ("broken", 0..=1), ("sound", 2..=2), ("broken", 2..=3), ("broken", 6..=7)];
    let as_expected =
        log.iter().zip(&bounds).all(|((at, key), (name, bound))| key == name && bound.contains(at));
    assert!(log.len() == bounds.len() && as_expected, "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_reconciles_end_within_a_limit() {
    let ended = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&ended);
    let script = Script::<8>::new(Duration::ZERO, move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(Action::requeue(Duration::ZERO))
    });
    let slow = |length| {
        let script = Script::<8>::new(seconds(length), done);
        script.queue.enqueue("a");
        script
    };
    script.queue.enqueue_after("a", seconds(2));
    let (short, long) = (slow(5), slow(3600));
    let began = Instant::now();
    tokio::join!(script.run(seconds(1)), short.run(seconds(1)), long.run(seconds(1)));
    assert_eq!(began.elapsed(), seconds(1) + GRACE);
    assert_eq!(ended.load(Ordering::Relaxed), 0, "nothing begins after a stop");
    assert_eq!(short.queue.failures(&"a"), 0);
}
