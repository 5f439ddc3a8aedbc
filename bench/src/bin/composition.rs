//! What compositions cost: how long a claim takes, how many requests and calls it makes, how much memory it needs.
//!
//! `cargo build --release -p bench -p cli`, then `target/release/composition [CLAIMS]`. It starts a sandbox with an audit log,
//! the operator as a process of its own, and a function in this process, called over mutual TLS.
//!
//! `composition steady` counts for three minutes what fifty claims cost when nothing happens, and `composition recovery` takes
//! the time that two hundred need when their function comes back.

mod composition {
    pub(crate) mod function;
    pub(crate) mod process;
    pub(crate) mod stage;
}

use std::error::Error;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use composition::process::Usage;
use composition::stage::Stage;
use composition::{function, process, stage};
use futures::{StreamExt as _, stream};
use sandbox::audit;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// As many claims as are created at a time.
const IN_FLIGHT: usize = 20;
const CLAIMS: usize = 200;
const SINGLE: usize = 10;
const REVERTS: usize = 11;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match arguments.as_slice() {
        [role, kubeconfig, certificates, endpoint] if role == "operator" => {
            runtime.block_on(process::operator(kubeconfig, certificates, endpoint))
        }
        [role] if role == "steady" => runtime.block_on(steady()),
        [role] if role == "recovery" => runtime.block_on(recovery()),
        [] => runtime.block_on(measure(CLAIMS)),
        [claims] => runtime.block_on(measure(claims.parse()?)),
        _ => Err("usage: composition [CLAIMS | steady | recovery]".into()),
    }
}

async fn measure(claims: usize) -> Outcome<()> {
    let calls = function::Calls::default();
    let mut stage = Stage::set(&calls).await?;
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
        Requests::of(&requests, SINGLE)
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
        Requests::of(&requests, claims)
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
    Ok(())
}

/// Fifty claims, two minutes to settle, and three in which their function is called again three times for each.
async fn steady() -> Outcome<()> {
    const STEADY: usize = 50;
    let calls = function::Calls::default();
    let mut stage = Stage::set(&calls).await?;
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
        Requests::of(&requests, 1)
    ))?;
    Ok(())
}

/// Claims that were well, whose function goes and comes back.
async fn recovery() -> Outcome<()> {
    let calls = function::Calls::default();
    let mut stage = Stage::set(&calls).await?;
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

/// Requests by verb, for each claim, Events apart.
struct Requests {
    text: String,
}

impl Requests {
    fn of(requests: &[audit::Request], claims: usize) -> Self {
        let ours = |request: &&audit::Request| request.user_agent.starts_with(stage::AGENT);
        let ours: Vec<audit::Request> = requests.iter().filter(ours).cloned().collect();
        let counts = audit::count(&ours, |request| match request.resource.as_str() {
            "events" => Some("events"),
            resource if resource.starts_with("leases") => None,
            _ => Some(request.verb.as_str()),
        });
        let mutating: usize =
            ["create", "update", "patch", "delete"].iter().filter_map(|verb| counts.get(verb)).sum();
        let refused = ours.iter().filter(|request| request.status.is_some_and(|code| code >= 400)).count();
        let verbs: Vec<String> =
            counts.iter().map(|(verb, count)| format!("{verb} {}", per(*count, claims))).collect();
        let text = format!("{} mutating ({}; refused {refused})", per(mutating, claims), verbs.join(", "));
        Self { text }
    }
}

impl std::fmt::Display for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
fn per(count: usize, claims: usize) -> String {
    format!("{:.2}", count as f64 / claims as f64)
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn say(line: std::fmt::Arguments<'_>) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} MB of memory, {} MB at most", self.memory >> 20, self.peak >> 20)
    }
}
