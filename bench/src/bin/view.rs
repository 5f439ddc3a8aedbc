//! How soon the page of `plimsoll ui` shows a tree and a change, what it needs, and the same for `plimsoll tree`, on a cluster
//! with 9,000 objects.
//!
//! `cargo build --profile dist -p bench -p cli`, then `target/dist/view [OBJECTS] [--json FILE]`. It starts a sandbox with an audit
//! log, fills it, and drives a headless Chromium, which has to be installed.

mod view {
    pub(crate) mod page;
    pub(crate) mod population;
    pub(crate) mod tree;
}

use std::time::Duration;

use bench::control_plane::ControlPlane;
use bench::stage::plimsoll;
use bench::{Figure, OURS, Outcome, Role, Run, Unit, say};
use cluster::{Connection, Environment, Session};
use testkit::Browser;

use view::page::Page;
use view::population::Population;
use view::tree;

const OBJECTS: usize = 9_000;
/// How often a tree is shown by a new process.
const FIRST: usize = 7;
const UPDATES: usize = 21;
const RUNS: usize = 15;
const REST: Duration = Duration::from_secs(30);

fn main() -> Outcome<()> {
    let mut run = Run::begin()?;
    let objects = match run.arguments()[..] {
        [] => OBJECTS,
        [objects] => objects.parse()?,
        _ => return Err("usage: view [OBJECTS] [--json FILE]".into()),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(&mut run, objects))?;
    run.end()
}

async fn measure(run: &mut Run, objects: usize) -> Outcome<()> {
    let control_plane = ControlPlane::start(plimsoll()?)?;
    let kubeconfig = control_plane.kubeconfig();
    let connection = Connection { config_paths: vec![kubeconfig.clone()], ..Connection::default() };
    let session = Session::connect(&connection, &Environment::default(), "plimsoll-bench")?;
    let population = Population::create(&session, objects).await?;
    say(format_args!("{objects} objects are there"))?;

    let measured = tree::measure(&kubeconfig, RUNS)?;
    let mut record = |what: &str, unit: Unit, value: f64, bar: f64| {
        run.record(Figure { what, who: OURS, role: Role::Ours, size: Some(objects), unit }, value);
        let name = match unit {
            Unit::Seconds => format!("{what}, in s"),
            Unit::Megabytes => format!("{what}, in MB"),
            Unit::Count => what.to_owned(),
        };
        run.at_most(&name, value, bar)
    };
    record("plimsoll tree", Unit::Seconds, measured.time.as_secs_f64(), 0.15)?;
    record("memory of plimsoll tree", Unit::Megabytes, measured.memory, 40.0)?;

    let mut browser = Browser::start().await.ok_or("there is no Chromium on this machine")?;
    let mut times = Vec::new();
    for _ in 0..FIRST {
        times.push(Page::start(&kubeconfig)?.first_tree(&mut browser).await?);
    }
    record("first tree of a claim, painted", Unit::Seconds, median(&mut times), 0.3)?;

    let page = Page::start(&kubeconfig)?;
    page.first_tree(&mut browser).await?;
    let mut times = Vec::new();
    for number in 0..UPDATES {
        times.push(page.update(&mut browser, &population, number).await?);
    }
    record("a change, from watch event to visible", Unit::Seconds, median(&mut times), 0.15)?;

    // Reconnects are spread over minutes; what is counted is anything else.
    let mut requests = control_plane.requests()?;
    let before = browser.requests().len();
    tokio::time::sleep(REST).await;
    let asked =
        requests.all_by("plimsoll/")?.into_iter().filter(|(verb, _)| verb != "watch").collect::<Vec<_>>();
    say(format_args!("at rest for {} s: {asked:?}", REST.as_secs()))?;
    record("requests at rest, of the API server", Unit::Count, count(asked.len()), 0.0)?;
    browser.text().await;
    record("requests at rest, of the page", Unit::Count, count(browser.requests().len() - before), 0.0)?;
    page.search(&mut browser).await?;
    let usage = page.usage()?;
    say(format_args!("the process of the page: {usage}"))?;
    record("memory of the page's process", Unit::Megabytes, bench::megabytes(usage.memory), 60.0)?;
    Ok(())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
