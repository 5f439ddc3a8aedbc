//! Objects that nothing happens to: nothing is written for them, and they take little room; and polls come when they
//! should.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use jiff::Timestamp;
use oci_server::{Entry, Operation, Pace, Script};
use serde_json::Value;

use super::place::{Place, a_moment, is_ready};
use super::process::Operator;

/// `cargo xtask idle` sets `PLIMSOLL_WHOLE`: 1,000 objects, three minutes, with the intervals of a deployment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_for_objects_that_nothing_happens_to() {
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
    // The last endpoint Secret is written after its object is ready, and then everybody is looked at once more.
    look_at_all(&place, objects, 2).await;
    let before = Traffic::of(&place, &operator);
    if is_whole {
        tokio::time::sleep(Duration::from_secs(180)).await;
    } else {
        look_at_all(&place, objects, 2).await;
    }
    let after = Traffic::of(&place, &operator);
    let writes: Vec<&String> = after.writes[before.writes.len()..].iter().collect();
    say(&format!(
        "idle: {objects} objects, {} writes, {} looks, {} kB resident of which {} kB are its own",
        writes.len(),
        after.looks - before.looks,
        after.resident,
        after.own,
    ));
    assert_eq!(writes, Vec::<&String>::new());
    // Of a development build, the program itself is not what is asked about.
    let taken = if cfg!(debug_assertions) { after.own } else { after.resident };
    assert!(taken <= 60 * 1024, "{taken} kB");
}

/// Waits until every object was looked at so often again.
async fn look_at_all(place: &Place, objects: usize, times: usize) {
    let looks = || {
        let mut looks: BTreeMap<String, usize> = BTreeMap::new();
        for entry in place.server.journal().entries() {
            if let Entry { operation: Some(Operation::GetQueue), resource: Some(id), .. } = entry {
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

/// What an operator has done and takes.
struct Traffic {
    /// Its requests to the cluster that write, Events included, leases not.
    writes: Vec<String>,
    /// Its reads of resources.
    looks: usize,
    /// What of it is in memory, in kB, and what of that is not the program itself.
    resident: u64,
    own: u64,
}

impl Traffic {
    fn of(place: &Place, operator: &Operator) -> Self {
        let (requests, others) = (place.crossing.requests(), place.crossing.others());
        let is_write = |request: &&String| {
            !request.starts_with("GET ") && !request.contains("/leases") && request.contains("/api")
        };
        let status = std::fs::read_to_string(format!("/proc/{}/status", operator.id())).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        Self {
            writes: requests.iter().chain(&others).filter(is_write).cloned().collect(),
            looks: place.server.journal().count(Operation::GetQueue),
            resident: field("VmRSS:"),
            own: field("RssAnon:"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polls_come_when_the_service_wants_them_and_the_last_one_is_enough() {
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
    // Three steps on the way, each shown once, and the end: nobody asks for the end twice.
    assert_eq!(polls.len(), 4, "{polls:?}");
    for pair in polls.windows(2) {
        let apart = pair[1].duration_since(pair[0]);
        assert!(apart.as_secs_f64() >= 1.9, "polled again after {apart:#}");
    }
}

/// A line for whoever measures.
#[expect(clippy::print_stderr, reason = "the only way for a test to say what it measured")]
fn say(line: &str) {
    eprintln!("{line}");
}
