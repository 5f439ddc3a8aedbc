//! `plimsoll` against kubectl on the same 500 objects, how fast it starts, and how large it is.
//!
//! An apply of new objects is one request each, so its time is mostly the API server's. A client that only sends the
//! same requests shows how much of it; no client can be faster.
//!
//! Needs a cluster and kubectl: build with `cargo build --release -p cli -p bench`, then
//! `target/release/plimsoll sandbox exec -- target/release/cli`.

mod cli {
    pub(crate) mod bare;
    pub(crate) mod subject;
}

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bench::{OURS, Outcome, Role, Run, median, say};
use cli::bare;
use cli::subject::{OBJECTS, Subject};

/// Rounds of what takes seconds; the middle one counts.
const ROUNDS: usize = 3;
/// Rounds of what takes milliseconds.
const STARTS: usize = 51;

const PLAN_BAR: f64 = 0.5;
const APPLY_BAR: f64 = 0.2;
const START_BAR: f64 = 0.015;
/// In MB.
const SIZE_BAR: f64 = 40.0;

fn main() -> Outcome<()> {
    let mut run = Run::begin()?;
    let plimsoll = env::current_exe()?.with_file_name("plimsoll");
    let folder = env::temp_dir().join(format!("plimsoll-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let outcome = measure(&mut run, &plimsoll, &folder);
    fs::remove_dir_all(&folder)?;
    outcome?;
    run.end()
}

fn measure(run: &mut Run, plimsoll: &Path, folder: &Path) -> Outcome<()> {
    let kubectl = |arguments: &[&str], subject: &Subject| on(Path::new("kubectl"), arguments, subject);
    let program = |arguments: &[&str], subject: &Subject| on(plimsoll, arguments, subject);

    let (mut theirs, mut ours, mut servers) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = None;
    for round in 0..ROUNDS {
        let subject = |name: &str| Subject::new(&format!("{name}-{round}"), folder);
        let (kubectls, plimsolls, bares) = (subject("kubectl")?, subject("plimsoll")?, subject("bare")?);
        theirs.push(time(kubectl(&["apply", "--server-side"], &kubectls))?);
        ours.push(time(program(&["apply"], &plimsolls))?);
        servers.push(bare::apply(&bares)?);
        bares.remove()?;
        if let Some((kubectls, plimsolls)) = last.replace((kubectls, plimsolls)) {
            Subject::remove(&kubectls)?;
            Subject::remove(&plimsolls)?;
        }
    }
    let (what, server) = (format!("apply of {OBJECTS} new objects"), median(&mut servers));
    report(run, &what, ours, theirs, APPLY_BAR)?;
    run.time(&what, "bare client", Role::Floor, server);
    say(format_args!("  the same requests from a bare client: {server:?}"))?;

    let Some((kubectls, plimsolls)) = last else { return Ok(()) };
    let (mut theirs, mut ours, mut diffs, mut plans) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        theirs.push(time(kubectl(&["apply", "--server-side"], &kubectls))?);
        ours.push(time(program(&["apply"], &plimsolls))?);
        diffs.push(time(kubectl(&["diff", "--server-side"], &kubectls))?);
        plans.push(time(program(&["plan"], &plimsolls))?);
    }
    report(run, &format!("apply of {OBJECTS} unchanged objects"), ours, theirs, APPLY_BAR)?;
    report(run, &format!("plan of {OBJECTS} unchanged objects"), plans, diffs, PLAN_BAR)?;

    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let mut command = Command::new(plimsoll);
        command.arg("--version");
        starts.push(time(command)?);
    }
    let start = median(&mut starts);
    run.time("start-up", OURS, Role::Ours, start);
    run.at_most("start-up (--version), in s", start.as_secs_f64(), START_BAR)?;
    run.at_most("size of the program, in MB", megabytes(fs::metadata(plimsoll)?.len()), SIZE_BAR)?;
    kubectls.remove()?;
    plimsolls.remove()
}

fn on(program: &Path, arguments: &[&str], subject: &Subject) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).arg("-f").arg(&subject.file);
    command
}

/// How long a command takes, which must succeed: a plan or a diff does only if nothing would change.
fn time(mut command: Command) -> Outcome<Duration> {
    let began = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    let elapsed = began.elapsed();
    if output.status.success() {
        return Ok(elapsed);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} ended with {}: {said}", output.status).into())
}

/// Records the medians of both, and their ratio.
fn report(
    run: &mut Run,
    what: &str,
    mut ours: Vec<Duration>,
    mut theirs: Vec<Duration>,
    bar: f64,
) -> Outcome<()> {
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    run.time(what, OURS, Role::Ours, ours);
    run.time(what, "kubectl", Role::Yardstick, theirs);
    say(format_args!("{what}: {ours:?}, kubectl: {theirs:?}"))?;
    run.at_most(&format!("{what}, against kubectl"), ours.as_secs_f64() / theirs.as_secs_f64(), bar)
}

#[expect(clippy::cast_precision_loss, reason = "a program has far less than 2^52 bytes")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
