//! Random histories: whatever happens, in whatever order, the invariants hold at every step; and once faults stop, the
//! cluster comes to rest as it was asked to be.

use std::hash::Hasher as _;

use testkit::seed;

use crate::incidents::{Stage, Step, steps};
use crate::truth::falsehoods;

/// How long nothing has to happen for everything to be at rest: longer than any backoff.
const REST: u64 = 100_000;
const PATIENCE: u64 = 3_600_000;
/// What `cargo test` plays: about thirty seconds of one core. Each history has a whole operator and an API server.
const SAMPLE: u64 = 100;
/// After a restart everything is read once.
const SETTLED: u64 = 120_000;

/// How a history ended.
struct Ending {
    broken: Option<String>,
    journal: Vec<String>,
    /// The same for histories in which the same happened.
    trace: u64,
}

/// Plays a history to its end, in virtual time.
fn play(seed: u64, steps: &[Step]) -> Ending {
    backoff::seed_thread(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without I/O needs nothing that can be missing");
    runtime.block_on(async {
        let mut stage = Stage::new(seed);
        let broken = broken(&mut stage, steps).await;
        let mut world = stage.network.lock();
        let journal = std::mem::take(&mut world.journal);
        Ending { broken, journal, trace: world.trace.finish() }
    })
}

/// What does not hold, as soon as something does not.
async fn broken(stage: &mut Stage, steps: &[Step]) -> Option<String> {
    let violation = |stage: &Stage| stage.network.lock().rules.violations.first().cloned();
    for step in steps {
        stage.play(step).await;
        if let Some(violation) = violation(stage) {
            return Some(violation);
        }
    }
    stage.calm().await;
    let (mut at, mut quiet, mut passed) = (stage.activity(), 0, 0);
    while quiet < REST {
        stage.pass(10_000).await;
        (quiet, passed) = (quiet + 10_000, passed + 10_000);
        if stage.activity() != at {
            (at, quiet) = (stage.activity(), 0);
        }
        if let Some(violation) = violation(stage) {
            return Some(violation);
        }
        if passed > PATIENCE {
            let last = stage.network.lock().journal.iter().rev().take(6).rev().cloned().collect::<Vec<_>>();
            return Some(format!("it never comes to rest:\n{}", last.join("\n")));
        }
    }
    let falsehoods = falsehoods(&stage.network.lock().server, &stage.claims);
    if !falsehoods.is_empty() {
        return Some(falsehoods.join("\n"));
    }
    let (writes, _) = stage.activity();
    stage.restart();
    stage.pass(SETTLED).await;
    let (after, answers) = stage.activity();
    if after != writes {
        return Some(format!("{} writes after a restart, though nothing has changed", after - writes));
    }
    let xrs = stage.network.lock().server.all("xapps").count() as u64;
    let calls = answers - at.1;
    (calls > xrs).then(|| format!("{calls} calls of functions after a restart, for {xrs} XRs"))
}

/// The fewest steps of a failing history that still fail.
fn shortest(seed: u64, steps: Vec<Step>) -> Vec<Step> {
    let mut left = steps;
    let mut place = left.len();
    while place > 0 {
        place -= 1;
        let mut fewer = left.clone();
        let removed = fewer.remove(place);
        if let Some(next) = fewer.get_mut(place) {
            next.wait += removed.wait;
        }
        if play(seed, &fewer).broken.is_some() {
            left = fewer;
        }
    }
    left
}

/// What is known of a failing history: the fewest steps that lead to a failure, and what happens then.
fn report(seed: u64) -> String {
    let fewest = shortest(seed, steps(seed));
    let Ending { broken, journal, .. } = play(seed, &fewest);
    let steps: Vec<String> =
        fewest.iter().map(|step| format!("  after {} ms: {:?}", step.wait, step.incident)).collect();
    format!(
        "{}\n\nPLIMSOLL_SEED={seed} plays it again. Its steps:\n{}\n\nWhat happened:\n{}",
        broken.unwrap_or_default(),
        steps.join("\n"),
        journal.join("\n"),
    )
}

#[test]
fn the_invariants_hold_in_every_history() {
    let seeds = seed::histories("simulation", SAMPLE);
    if let Some(seed) = seed::first_failing(seeds, |seed| play(seed, &steps(seed)).broken.is_some()) {
        panic!("{}", report(seed));
    }
}

/// What a failure prints is worth something only if it happens again.
#[test]
fn a_history_is_the_same_every_time() {
    for seed in 0..12 {
        let [first, second] = [(), ()].map(|()| play(seed, &steps(seed)));
        let differs = first.journal.iter().zip(&second.journal).find(|(first, second)| first != second);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(first.trace, second.trace, "seed {seed}");
    }
}
