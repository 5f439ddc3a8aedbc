//! What ten thousand objects cost: 2,500 claims of four children each, and 10,000 Queues, served by one operator.
//!
//! `cargo build --profile dist -p bench -p cli`, then `target/dist/scale [CLAIMS QUEUES] [--json FILE]`. It starts a sandbox with an audit log,
//! `plimsoll operator` with both halves, a function and an emulator of Oracle Cloud in this process, and compares each figure
//! with its bar.

mod scale {
    pub(crate) mod queues;
}

use std::time::{Duration, Instant};

use bench::stage::Stage;
use bench::stage::function::Calls;
use bench::stage::requests::Requests;
use bench::{Outcome, Run, median, megabytes, say};
use futures::{StreamExt as _, stream};
use scale::queues::Queues;

const SANDBOX: &str = "bench-scale";
const CLAIMS: usize = 2500;
const QUEUES: usize = 10_000;
/// The number of claims whose time is the yardstick.
const FEW: usize = 200;
/// How many objects are created at a time.
const IN_FLIGHT: usize = 20;
/// How many changes by users are timed.
const CHANGES: usize = 5;
/// Nothing has been written for this long: all is settled.
const QUIET: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(300);
/// Longer than the interval at which functions are called again.
const REST: Duration = Duration::from_secs(90);

fn main() -> Outcome<()> {
    let mut run = Run::begin()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (claims, queues) = match run.arguments()[..] {
        [] => (CLAIMS, QUEUES),
        [claims, queues] => (claims.parse()?, queues.parse()?),
        _ => return Err("usage: scale [CLAIMS QUEUES] [--json FILE]".into()),
    };
    runtime.block_on(measure(&mut run, claims, queues))?;
    run.end()
}

async fn measure(run: &mut Run, claims: usize, queues: usize) -> Outcome<()> {
    let calls = Calls::default();
    let cloud = Queues::serve().await?;
    let mut stage = Stage::set(SANDBOX, &calls, cloud.start()).await?;

    let few = create(&stage, 0..FEW.min(claims)).await?;
    let many = create(&stage, FEW.min(claims)..claims).await?;
    run.at_most("time per claim, many against few", many.as_secs_f64() / few.as_secs_f64(), 1.3)?;
    say(format_args!("  {few:.2?} per claim of the first {FEW}, {many:.2?} of the others"))?;
    let began = quiet(&mut stage).await?;
    say(format_args!("  operator, {:.0?} later: {}", began, stage.operator.usage()?))?;

    let began = Instant::now();
    cloud.create(stage.session(), queues, IN_FLIGHT).await?;
    say(format_args!("{queues} Queues are ready after {:.0?}", began.elapsed()))?;
    quiet(&mut stage).await?;
    let usage = stage.operator.usage()?;
    say(format_args!("  operator: {usage}, {:.0?} of CPU", usage.cpu))?;

    tokio::time::sleep(REST).await;
    let requests = stage.requests()?;
    show(&requests)?;
    run.at_most("writes at rest", count(requests.writes().len()), 0.0)?;
    run.at_most("Events at rest", count(requests.events()), 0.0)?;
    say(format_args!("  in {REST:.0?} each object cost {}", requests.each(claims + queues)))?;
    let usage = stage.operator.usage()?;
    run.at_most("resident memory, in MB", megabytes(usage.memory), 200.0)?;

    run.at_most("a user's change while every XR is due, in s", changes(&stage).await?, 1.0)?;
    quiet(&mut stage).await?;
    let peak = stage.operator.usage()?.peak;

    calls.take();
    stage.requests()?;
    stage.restart()?;
    let all = restarted(&calls, claims).await?;
    run.at_most("every XR is reconciled after a restart, in s", all.as_secs_f64(), 30.0)?;
    tokio::time::sleep(2 * QUIET).await;
    let requests = stage.requests()?;
    show(&requests)?;
    run.at_most("writes of a restart", count(requests.writes().len()), 0.0)?;
    let usage = stage.operator.usage()?;
    say(format_args!("  operator: {usage}, {:.0?} of CPU", usage.cpu))?;
    run.at_most("peak, in MB, with the deployment's limit", megabytes(peak.max(usage.peak)), limit()?)?;
    stage.restart()?;
    // All Queues are due from now on.
    cloud.is_read(1).await?;
    let change = cloud.take_up(stage.session()).await?;
    run.at_most("a user's change of a Queue while all are due, in s", change.as_secs_f64(), 1.0)
}

/// Prints the first writes, where there should be none.
fn show(requests: &Requests) -> Outcome<()> {
    for write in requests.writes().iter().take(10) {
        say(format_args!("  {write}"))?;
    }
    Ok(())
}

/// Creates claims and waits until all are ready; the time for each.
async fn create(stage: &Stage, numbers: std::ops::Range<usize>) -> Outcome<Duration> {
    let (all, new) = (numbers.end, numbers.len());
    let began = Instant::now();
    let names: Vec<String> = numbers.map(name).collect();
    let created = stream::iter(&names).map(|name| stage.create(name)).buffer_unordered(IN_FLIGHT);
    created.collect::<Vec<_>>().await.into_iter().collect::<Outcome<Vec<_>>>()?;
    stage.ready(all).await?;
    Ok(began.elapsed() / u32::try_from(new.max(1))?)
}

fn name(number: usize) -> String {
    format!("claim-{number}")
}

/// Waits until the operator has not written for a while; how long until then.
async fn quiet(stage: &mut Stage) -> Outcome<Duration> {
    let began = Instant::now();
    let mut last = Duration::ZERO;
    while began.elapsed() < last + QUIET {
        tokio::time::sleep(QUIET / 5).await;
        if !stage.requests()?.writes().is_empty() {
            last = began.elapsed();
        }
    }
    Ok(last)
}

/// How long users wait, in the median, who change claims one after the other while all XRs are being composed again.
async fn changes(stage: &Stage) -> Outcome<f64> {
    stage.revise("second").await?;
    let mut times = Vec::new();
    for number in 0..CHANGES {
        times.push(stage.take_up(&name(number), "large").await?);
    }
    say(format_args!("changes were taken up after {times:.2?}"))?;
    Ok(median(&mut times).as_secs_f64())
}

/// Waits until the restarted operator has called the function for every XR; how long that took.
async fn restarted(calls: &Calls, claims: usize) -> Outcome<Duration> {
    let began = Instant::now();
    while calls.count() < claims {
        if began.elapsed() > PATIENCE {
            return Err(format!("only {} of {claims} XRs were reconciled", calls.count()).into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(began.elapsed())
}

/// The memory limit of the deployment, in MB.
fn limit() -> Outcome<f64> {
    let deployment = include_str!("../../../deploy/deployment.yaml");
    let limits = deployment.split("limits:").nth(1).unwrap_or_default();
    let limit = limits.lines().find_map(|line| line.trim().strip_prefix("memory: ")?.strip_suffix("Mi"));
    Ok(limit.ok_or("the deployment has no memory limit in Mi")?.parse()?)
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}
