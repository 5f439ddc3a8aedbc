//! What compositions cost: how long a claim takes, how many requests and calls it makes, how much memory it needs.
//!
//! `cargo build --profile dist -p bench -p cli`, then `target/dist/composition [CLAIMS…]`. For each number it starts a sandbox with an audit log,
//! the operator as a process of its own, and a function in this process, called over mutual TLS.
//!
//! `composition steady` counts for three minutes what fifty claims cost when nothing happens, and `composition recovery` takes
//! the time that two hundred need when their function comes back. `composition plan` takes the time that a plan of the
//! Composition needs with a hundred live XRs.

use std::time::{Duration, Instant};

use bench::stage::function::{CHILDREN, Calls};
use bench::stage::requests::per;
use bench::stage::{self, Deleted, Stage, Start};
use bench::{Figure, OURS, Outcome, Role, Run, Unit, median, megabytes, say};
use futures::{StreamExt as _, stream};

const SANDBOX: &str = "bench-composition";
/// How many claims are created at a time.
const IN_FLIGHT: usize = 20;
const CLAIMS: usize = 200;
const SINGLE: usize = 10;
const REVERTS: usize = 11;
/// Memory that is not given back by then stays.
const GIVEN_BACK: Duration = Duration::from_secs(15);

fn main() -> Outcome<()> {
    let mut run = Run::begin()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match run.arguments()[..] {
        ["steady"] => runtime.block_on(steady()),
        ["recovery"] => runtime.block_on(recovery()),
        ["plan"] => runtime.block_on(plan(&mut run)),
        [] => runtime.block_on(measure(&mut run, CLAIMS)),
        _ => {
            let numbers = run.arguments().into_iter().map(str::parse).collect::<Result<Vec<usize>, _>>();
            let numbers = numbers
                .map_err(|_| "usage: composition [CLAIMS… | steady | recovery | plan] [--json FILE]")?;
            numbers.into_iter().try_for_each(|claims| runtime.block_on(measure(&mut run, claims)))
        }
    }?;
    run.end()
}

async fn measure(run: &mut Run, claims: usize) -> Outcome<()> {
    let record = |run: &mut Run, what: &str, unit: Unit, value: f64| {
        run.record(Figure { what, who: OURS, role: Role::Ours, size: Some(claims), unit }, value);
    };
    let calls = Calls::default();
    let mut stage = Stage::set(SANDBOX, &calls, start()).await?;
    say(format_args!("operator idle: {}", stage.operator.usage()?))?;

    let mut times = Vec::new();
    stage.requests()?;
    for number in 0..SINGLE {
        times.push(stage.claim(&format!("single-{number}")).await?);
    }
    stage.settled(&calls).await?;
    let requests = stage.requests()?;
    let single = median(&mut times);
    record(run, "one claim alone", Unit::Seconds, single.as_secs_f64());
    say(format_args!("one claim shows its conditions after {single:?} (median of {SINGLE})"))?;
    say(format_args!(
        "  and costs {} function calls, requests: {}",
        per(calls.take(), SINGLE),
        requests.each(SINGLE)
    ))?;

    let before = stage.operator.usage()?;
    let began = Instant::now();
    let names: Vec<String> = (0..claims).map(|number| format!("many-{number}")).collect();
    stream::iter(&names).map(|name| stage.create(name)).buffer_unordered(IN_FLIGHT).collect::<Vec<_>>().await;
    stage.ready(SINGLE + claims).await?;
    let all_ready = began.elapsed();
    stage.settled(&calls).await?;
    let requests = stage.requests()?;
    let after = stage.operator.usage()?;
    let each = f64::from(u32::try_from(claims)?);
    record(run, "until all claims are ready", Unit::Seconds, all_ready.as_secs_f64());
    record(
        run,
        "processor time per claim",
        Unit::Seconds,
        after.cpu.saturating_sub(before.cpu).as_secs_f64() / each,
    );
    record(run, "writes per claim", Unit::Count, f64::from(u32::try_from(requests.writes().len())?) / each);
    record(run, "memory of the operator", Unit::Megabytes, megabytes(after.memory));
    say(format_args!("{claims} claims are ready after {all_ready:.2?}"))?;
    say(format_args!(
        "  and cost {} function calls each, {:.2} s of CPU in all, requests each: {}",
        per(calls.take(), claims),
        (after.cpu.saturating_sub(before.cpu)).as_secs_f64(),
        requests.each(claims)
    ))?;
    say(format_args!("  operator: {after}"))?;

    let mut times = Vec::new();
    for number in 0..REVERTS {
        times.push(stage.revert(&format!("many-{number}")).await?);
    }
    let reverted = median(&mut times);
    record(run, "until a child is reverted", Unit::Seconds, reverted.as_secs_f64());
    say(format_args!(
        "a child changed by another manager is reverted after {reverted:?} (median of {REVERTS})"
    ))?;

    // The single claims stay, so that nothing closes with the last of its kind.
    stage.requests()?;
    let before = stage.operator.usage()?;
    let Deleted { requested, claims: gone, xrs, children } = stage.delete(&names, SINGLE, IN_FLIGHT).await?;
    let after = stage.operator.usage()?;
    let requests = stage.requests()?;
    record(run, "until deleted claims are gone", Unit::Seconds, children.max(xrs).as_secs_f64());
    say(format_args!(
        "{claims} deleted claims are gone after {gone:.2?}, their XRs after {xrs:.2?} and the {} children after \
         {children:.2?}; requesting it took {requested:.2?}",
        claims * CHILDREN
    ))?;
    say(format_args!(
        "  and cost {:.2} s of CPU in all, requests each: {}",
        (after.cpu.saturating_sub(before.cpu)).as_secs_f64(),
        requests.each(claims)
    ))?;
    tokio::time::sleep(GIVEN_BACK).await;
    say(format_args!("  operator, {} s later: {}", GIVEN_BACK.as_secs(), stage.operator.usage()?))?;
    Ok(())
}

/// The composition half alone.
fn start() -> Start {
    Start { flags: vec!["--controllers=composition".to_owned()], ..Start::default() }
}

/// Fifty claims, two minutes to settle, and three in which their function is called again three times for each.
async fn steady() -> Outcome<()> {
    const STEADY: usize = 50;
    let calls = Calls::default();
    let mut stage = Stage::set(SANDBOX, &calls, start()).await?;
    for number in 0..STEADY {
        stage.create(&format!("steady-{number}")).await?;
    }
    stage.ready(STEADY).await?;
    tokio::time::sleep(Duration::from_secs(120)).await;
    stage.requests()?;
    calls.take();
    tokio::time::sleep(Duration::from_secs(180)).await;
    let requests = stage.requests()?;
    say(format_args!(
        "{STEADY} claims in three minutes: {} function calls each, requests in all: {}",
        per(calls.take(), STEADY),
        requests.each(1)
    ))?;
    Ok(())
}

/// Claims that were well, whose function goes and comes back.
async fn recovery() -> Outcome<()> {
    let calls = Calls::default();
    let mut stage = Stage::set(SANDBOX, &calls, start()).await?;
    let names: Vec<String> = (0..CLAIMS).map(|number| format!("many-{number}")).collect();
    stream::iter(&names).map(|name| stage.create(name)).buffer_unordered(IN_FLIGHT).collect::<Vec<_>>().await;
    stage.ready(CLAIMS).await?;
    stage.settled(&calls).await?;
    let endpoint = stage.stop_function().await?;
    let began = Instant::now();
    stream::iter(&names).map(|name| stage.change(name)).buffer_unordered(IN_FLIGHT).collect::<Vec<_>>().await;
    stage.all(CLAIMS, "unwell", stage::is_unwell).await?;
    say(format_args!("{CLAIMS} claims say that their function is down after {:.2?}", began.elapsed()))?;
    calls.take();
    stage.start_function(&endpoint, &calls).await?;
    let began = Instant::now();
    stage.all(CLAIMS, "well", stage::is_well).await?;
    say(format_args!("  and are well {:.2?} after it is back", began.elapsed()))?;
    stage.settled(&calls).await?;
    say(format_args!("  with {} function calls each", per(calls.take(), CLAIMS)))?;
    Ok(())
}

/// A hundred claims whose Composition is planned: once with the same outcome, once with another one for everything.
async fn plan(run: &mut Run) -> Outcome<()> {
    const PLANNED: usize = 100;
    const ROUNDS: usize = 5;
    const BAR: f64 = 5.0;
    let calls = Calls::default();
    let stage = Stage::set(SANDBOX, &calls, start()).await?;
    let names: Vec<String> = (0..PLANNED).map(|number| format!("planned-{number}")).collect();
    stream::iter(&names).map(|name| stage.create(name)).buffer_unordered(IN_FLIGHT).collect::<Vec<_>>().await;
    stage.ready(PLANNED).await?;
    stage.settled(&calls).await?;
    for (what, edition) in [("unchanged", None), ("changed", Some("second"))] {
        let (mut times, mut summary) = (Vec::new(), String::new());
        for round in 0..ROUNDS {
            let (took, shown) = stage.plan(&format!("{what}-{round}"), edition)?;
            times.push(took);
            summary = shown;
        }
        let what = format!("plan of a Composition with {PLANNED} live XRs, all {what}, in s");
        run.at_most(&what, median(&mut times).as_secs_f64(), BAR)?;
        say(format_args!("  {summary}; median of {ROUNDS}"))?;
    }
    Ok(())
}
