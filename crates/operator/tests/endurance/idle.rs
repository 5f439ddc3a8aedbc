//! Idle objects cause no writes and take little memory, and polls keep to their interval.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use oraclecloud::Catalogue;
use oraclecloud_emulator::{JournalEntry, Operation, Pace, Script};
use serde_json::Value;

use super::place::{Place, a_moment, is_ready};
use super::process::Memory;

/// `cargo xtask idle` sets `PLIMSOLL_WHOLE`: 1,000 objects, three minutes, with the intervals of a deployment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_for_idle_objects() {
    let is_whole = std::env::var_os("PLIMSOLL_WHOLE").is_some();
    let (objects, drift) =
        if is_whole { (1000, "--drift-interval=30s") } else { (20, "--drift-interval=1s") };
    let script = Script { pace: Pace::StepMillis(500), ..Script::default() };
    let place = Place::new("idle", script, None).await;
    let operator = place.operator(&["--poll-interval=2s", "--oci-qps=5000", drift]);
    let all: Vec<Value> = (0..objects).map(|number| place.queue(&format!("queue-{number}"))).collect();
    let applied = all.iter().map(|queue| place.namespace.apply_as("person", queue));
    stream::iter(applied).buffer_unordered(8).collect::<Vec<_>>().await;
    for queue in &all {
        place.namespace.until(queue, "ready", |queue| queue.is_some_and(is_ready)).await;
    }
    // The last endpoint Secret is written after its object is ready, and then every object is reconciled once more.
    look_at_all(&place, objects, 2).await;
    let (writes, looks) = (place.writes().len(), place.server.journal().count(Operation::GetQueue));
    if is_whole {
        tokio::time::sleep(Duration::from_secs(180)).await;
    } else {
        look_at_all(&place, objects, 2).await;
    }
    let Memory { resident, own, peak } = operator.memory();
    let new: Vec<String> = place.writes().split_off(writes);
    say(&format!(
        "idle: {objects} objects, {} writes, {} looks, {resident} kB resident ({peak} kB at its peak) of which {own} \
         kB are its own",
        new.len(),
        place.server.journal().count(Operation::GetQueue) - looks,
    ));
    assert_eq!(new, Vec::<String>::new());
    // The size of the program itself does not matter in a development build.
    let taken = if cfg!(debug_assertions) { own } else { resident };
    assert!((1..=60 * 1024).contains(&taken), "{taken} kB");
}

/// Waits until every object has been read this many more times.
async fn look_at_all(place: &Place, objects: usize, times: usize) {
    let looks = || {
        let mut looks: BTreeMap<String, usize> = BTreeMap::new();
        for entry in place.server.journal().entries() {
            if let JournalEntry { operation: Some(Operation::GetQueue), resource: Some(id), .. } = entry {
                *looks.entry(id).or_default() += 1;
            }
        }
        looks
    };
    let before = looks();
    assert_eq!(before.len(), objects);
    while looks().iter().any(|(id, count)| *count < before[id] + times) {
        for _ in 0..25 {
            a_moment().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polls_follow_retry_after_and_end_with_the_operation() {
    const WANTED: u64 = 2;
    let place = Place::new("polls", Script::default(), Some(WANTED)).await;
    let _operator = place.operator(&["--poll-interval=100ms"]);
    let queue = place.queue("orders");
    place.namespace.apply_as("person", &queue).await;
    place.namespace.until(&queue, "ready", |queue| queue.is_some_and(is_ready)).await;
    let polls: Vec<Timestamp> = place
        .server
        .journal()
        .entries()
        .iter()
        .filter(|entry| entry.operation == Some(Operation::GetWorkRequest))
        .map(|entry| entry.time)
        .collect();
    // Three intermediate steps and the end, each polled once.
    assert_eq!(polls.len(), 4, "{polls:?}");
    for pair in polls.windows(2) {
        let apart = pair[1].duration_since(pair[0]);
        assert!(apart.as_secs_f64() >= 1.9, "polled again after {apart:#}");
    }
}

/// The first poll after the end of an operation is the last, and `Ready` follows it at once: an object is ready at most one
/// poll interval after its operation ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_poll_after_the_end_is_enough() {
    let objects = if std::env::var_os("PLIMSOLL_WHOLE").is_some() { 100 } else { 10 };
    let script = Script { pace: Pace::StepMillis(500), ..Script::default() };
    let place = Place::new("ready", script, None).await;
    let _operator = place.operator(&["--poll-interval=2s", "--oci-qps=5000"]);
    let all: Vec<Value> = (0..objects).map(|number| place.queue(&format!("queue-{number}"))).collect();
    let made = all.iter().map(|queue| async {
        place.namespace.apply_as("person", queue).await;
        let ready = place.namespace.until(queue, "ready", |queue| queue.is_some_and(is_ready)).await.unwrap();
        (Timestamp::now(), ready["status"]["status"]["async"]["lastOperation"]["workRequestId"].clone())
    });
    let made: Vec<(Timestamp, Value)> = join_all(made).await;
    let journal = place.server.journal().entries();
    let client = place.client();
    let queues = client.resources(Catalogue::standard().get("queue/Queue").unwrap());
    let mut took = Vec::new();
    for (ready, work_request) in made {
        let id = work_request.as_str().unwrap();
        let shown = queues.work_request(id).await.unwrap().body;
        let finished: Timestamp = shown["timeFinished"].as_str().unwrap().parse().unwrap();
        let is_poll = |entry: &&JournalEntry| entry.request.ends_with(&format!("/workRequests/{id}"));
        let after = journal.iter().filter(is_poll).filter(|entry| entry.time >= finished).count();
        assert_eq!(after, 1, "{id} was polled {after} times after its end");
        took.push(ready.duration_since(finished).as_millis());
    }
    took.sort_unstable();
    say(&format!(
        "ready: {objects} queues, one poll each after SUCCEEDED; Ready=True was seen {} ms after it in the median and {} \
         ms at worst, with a poll interval of 2000 ms",
        took[took.len() / 2],
        took[took.len() - 1],
    ));
}

/// A line of measurements.
#[expect(clippy::print_stderr, reason = "the only way for a test to say what it measured")]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}
