//! What compositions cost: how long a claim takes, how many requests and calls it makes, how much memory it needs.
//!
//! `cargo build --release -p bench -p cli`, then `target/release/composition [CLAIMS]`. It starts a sandbox with an audit log,
//! the operator as a process of its own, and a function in this process, called over mutual TLS.
//!
//! `composition steady` counts for three minutes what fifty claims cost when nothing happens, and `composition recovery` takes
//! the time that two hundred need when their function comes back.

use std::time::{Duration, Instant};

use bench::stage::function::{CHILDREN, Calls};
use bench::stage::requests::per;
use bench::stage::{self, Deleted, Stage, Start};
use bench::{Outcome, median, say};
use futures::{StreamExt as _, stream};

const SANDBOX: &str = "bench-composition";
/// As many claims as are created at a time.
const IN_FLIGHT: usize = 20;
const CLAIMS: usize = 200;
const SINGLE: usize = 10;
const REVERTS: usize = 11;
/// Memory that is not given back by then stays.
const GIVEN_BACK: Duration = Duration::from_secs(15);

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match arguments.as_slice() {
        [role] if role == "steady" => runtime.block_on(steady()),
        [role] if role == "recovery" => runtime.block_on(recovery()),
        [] => runtime.block_on(measure(CLAIMS)),
        [claims] => runtime.block_on(measure(claims.parse()?)),
        _ => Err("usage: composition [CLAIMS | steady | recovery]".into()),
    }
}

async fn measure(claims: usize) -> Outcome<()> {
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
    say(format_args!("one claim shows its conditions after {:?} (median of {SINGLE})", median(&mut times)))?;
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
    say(format_args!(
        "a child changed by another manager is reverted after {:?} (median of {REVERTS})",
        median(&mut times)
    ))?;

    // The single claims stay, so that nothing closes with the last of its kind.
    stage.requests()?;
    let before = stage.operator.usage()?;
    let Deleted { requested, claims: gone, xrs, children } = stage.delete(&names, SINGLE, IN_FLIGHT).await?;
    let after = stage.operator.usage()?;
    let requests = stage.requests()?;
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
