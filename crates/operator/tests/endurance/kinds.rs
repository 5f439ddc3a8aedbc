//! Many kinds at once: what serving them takes when there is nothing to do.

use std::process::Command;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use oraclecloud::kind::Embedded;
use oraclecloud::{Catalogue, Kind};
use oraclecloud_emulator::{JournalEntry, Pace, Script};
use serde_json::{Value, json};
use testkit::{Sandbox, plimsoll, seed};

use super::idle::say;
use super::objects::{LOGIN, object};
use super::place::{Place, a_moment, is_ready};
use super::process::Memory;

/// Installs kinds as a user does; returns how long that took.
fn install(kinds: &[Kind]) -> Duration {
    let names: Vec<String> = kinds.iter().map(|kind| kind.path()).collect();
    let began = Instant::now();
    let installed = Command::new(plimsoll())
        .args(["crds", "--controllers=oci", "--apply", "--kinds", &names.join(",")])
        .env("KUBECONFIG", Sandbox::shared().kubeconfig())
        .output()
        .unwrap();
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    began.elapsed()
}

/// Removes the kinds that are not installed by default: every operator would watch them.
struct Installed(Vec<Kind>);

impl Drop for Installed {
    fn drop(&mut self) {
        let names = self.0.iter().map(|kind| format!("{}.{}", kind.plural, kind.group()));
        let all: Vec<String> =
            ["delete", "crd", "--wait=false"].map(str::to_owned).into_iter().chain(names).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        Sandbox::shared().kubectl(&all);
    }
}

/// `cargo xtask idle` sets `PLIMSOLL_WHOLE`: a hundred kinds instead of those that are installed by default.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kinds_without_objects_take_little_memory() {
    let standard = Catalogue::standard().kinds().to_vec();
    let is_standard = |kind: &Kind| standard.contains(kind);
    let others =
        Embedded::all().iter().flat_map(|embedded| embedded.read().kinds()).filter(|kind| !is_standard(kind));
    let others: Vec<Kind> =
        if seed::is_whole() { others.take(100 - standard.len()).collect() } else { Vec::new() };
    let place = Place::new("kinds", Script::default(), None).await;
    let took = install(&standard);
    let _installed = Installed(others.clone());
    if !others.is_empty() {
        install(&others);
    }
    let began = Instant::now();
    let operator = place.operator(&[]);
    while !operator.log().contains("the operator is ready") {
        a_moment().await;
    }
    let ready = began.elapsed();
    let kinds = standard.len() + others.len();
    // Every kind is listed and watched by now or soon.
    let watches = || {
        place
            .kill_switch
            .uncounted_requests()
            .iter()
            .filter(|it| it.contains(".oracle.com") && it.contains("watch=true"))
            .count()
    };
    while watches() < kinds {
        a_moment().await;
    }
    let Memory { resident, own, peak } = operator.memory();
    say(&format!(
        "kinds: {} installed in {took:.1?}; {kinds} served, ready after {ready:.1?}, {resident} kB resident ({peak} kB at its \
         peak) of which {own} kB are its own",
        standard.len(),
    ));
    let taken = if cfg!(debug_assertions) { own } else { resident };
    assert!((1..=80 * 1024).contains(&taken), "{taken} kB");
}

/// `cargo xtask idle` sets `PLIMSOLL_WHOLE`: 1,000 objects of all kinds that are installed by default.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_objects_of_every_kind_are_looked_at_and_not_written() {
    let (objects, drift) =
        if seed::is_whole() { (1000, "--drift-interval=30s") } else { (58, "--drift-interval=2s") };
    let script = Script { pace: Pace::StepMillis(500), ..Script::default() };
    let place = Place::new("idle-kinds", script, None).await;
    let operator = place.operator(&["--poll-interval=2s", "--oci-qps=5000", drift]);
    let login = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": LOGIN}, "stringData": {"password": "hunter2"},
    });
    place.namespace.apply_as("person", &login).await;
    let kinds = Catalogue::standard();
    let make = |number: usize| {
        let kind = kinds.kinds()[number % kinds.kinds().len()];
        object(kind, &format!("it-{number}"), place.server.compartment())
    };
    let all: Vec<Value> = (0..objects).map(make).collect();
    let applied = all.iter().map(|object| place.namespace.apply_as("person", object));
    stream::iter(applied).buffer_unordered(8).collect::<Vec<_>>().await;
    for object in &all {
        place.namespace.until(object, "ready", |object| object.is_some_and(is_ready)).await;
    }
    let looks = || {
        let is_look = |entry: &JournalEntry| {
            entry.request.starts_with("GET ") && !entry.request.contains("/workRequests")
        };
        place.server.journal().entries().iter().filter(|entry| is_look(entry)).count()
    };
    let look_again = async |times: usize| {
        let before = looks();
        while looks() < before + times * objects {
            for _ in 0..25 {
                a_moment().await;
            }
        }
    };
    // The last endpoint Secret is written after its object is ready, and then every object is reconciled once more.
    look_again(2).await;
    let (writes, before) = (place.writes().len(), looks());
    look_again(3).await;
    let Memory { resident, own, peak } = operator.memory();
    let new: Vec<String> = place.writes().split_off(writes);
    say(&format!(
        "idle: {objects} objects of {} kinds, {} writes, {} looks, {resident} kB resident ({peak} kB at its peak) of which {own} \
         kB are its own",
        kinds.kinds().len(),
        new.len(),
        looks() - before,
    ));
    assert_eq!(new, Vec::<String>::new());
    let taken = if cfg!(debug_assertions) { own } else { resident };
    assert!((1..=60 * 1024).contains(&taken), "{taken} kB");
}
