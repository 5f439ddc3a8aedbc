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
use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cli::bare;
use cli::subject::{OBJECTS, Subject};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Rounds of what takes seconds; the middle one counts.
const ROUNDS: usize = 3;
/// Rounds of what takes milliseconds.
const STARTS: usize = 51;

const PLAN_BAR: f64 = 0.5;
const APPLY_BAR: f64 = 0.2;
const START_BAR: Duration = Duration::from_millis(15);
const SIZE_BAR: u64 = 40;

fn main() -> Outcome<()> {
    let plimsoll = env::current_exe()?.with_file_name("plimsoll");
    let folder = env::temp_dir().join(format!("plimsoll-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let outcome = measure(&plimsoll, &folder);
    fs::remove_dir_all(&folder)?;
    outcome
}

fn measure(plimsoll: &Path, folder: &Path) -> Outcome<()> {
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
    let (theirs, server) = (median(theirs), median(servers));
    report(&format!("apply of {OBJECTS} new objects"), median(ours), theirs, APPLY_BAR)?;
    let floor = server.as_secs_f64() / theirs.as_secs_f64();
    writeln!(io::stdout(), "  the same requests from a bare client: {floor:.2} × ({server:?})")?;

    let Some((kubectls, plimsolls)) = last else { return Ok(()) };
    let (mut theirs, mut ours, mut diffs, mut plans) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        theirs.push(time(kubectl(&["apply", "--server-side"], &kubectls))?);
        ours.push(time(program(&["apply"], &plimsolls))?);
        diffs.push(time(kubectl(&["diff", "--server-side"], &kubectls))?);
        plans.push(time(program(&["plan"], &plimsolls))?);
    }
    report(&format!("apply of {OBJECTS} unchanged objects"), median(ours), median(theirs), APPLY_BAR)?;
    report(&format!("plan of {OBJECTS} unchanged objects"), median(plans), median(diffs), PLAN_BAR)?;

    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let mut command = Command::new(plimsoll);
        command.arg("--version");
        starts.push(time(command)?);
    }
    writeln!(io::stdout(), "start-up (--version): {:?}, bar {START_BAR:?}", median(starts))?;
    let size = fs::metadata(plimsoll)?.len() / 1_000_000;
    writeln!(io::stdout(), "size of the program: {size} MB, bar {SIZE_BAR} MB")?;
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

fn report(what: &str, ours: Duration, theirs: Duration, bar: f64) -> io::Result<()> {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    writeln!(io::stdout(), "{what}: {ratio:.2} × ({ours:?} against {theirs:?}), bar {bar}")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
