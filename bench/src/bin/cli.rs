//! `plimsoll` against kubectl on the same 500 objects, how fast it starts, and how large it is.
//!
//! Needs a cluster and kubectl: build with `cargo build --release -p cli -p bench`, then
//! `target/release/plimsoll sandbox exec -- target/release/cli`.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const OBJECTS: usize = 500;
/// Rounds of what takes seconds; the middle one counts.
const ROUNDS: usize = 5;
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
    let (theirs, ours) = (Subject::new("kubectl", folder)?, Subject::new("plimsoll", folder)?);
    let kubectl = |arguments: &[&str]| {
        let mut command = Command::new("kubectl");
        command.args(arguments).arg("-f").arg(&theirs.file);
        command
    };
    let program = |arguments: &[&str]| {
        let mut command = Command::new(plimsoll);
        command.args(arguments).arg("-f").arg(&ours.file);
        command
    };
    let apply_theirs = time(kubectl(&["apply", "--server-side"]))?;
    let apply_ours = time(program(&["apply"]))?;
    report("apply of 500 new objects", apply_ours, apply_theirs, APPLY_BAR)?;
    let (mut theirs_again, mut ours_again, mut diffs, mut plans) = (vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        diffs.push(time(kubectl(&["diff", "--server-side"]))?);
        plans.push(time(program(&["plan"]))?);
        // kubectl takes most of twenty seconds, and varies little.
        if round == 0 {
            theirs_again.push(time(kubectl(&["apply", "--server-side"]))?);
        }
        ours_again.push(time(program(&["apply"]))?);
    }
    report("apply of 500 unchanged objects", median(ours_again), median(theirs_again), APPLY_BAR)?;
    report("plan of 500 unchanged objects", median(plans), median(diffs), PLAN_BAR)?;
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let mut command = Command::new(plimsoll);
        command.arg("--version");
        starts.push(time(command)?);
    }
    writeln!(io::stdout(), "start-up (--version): {:?}, bar {START_BAR:?}", median(starts))?;
    let size = fs::metadata(plimsoll)?.len() / 1_000_000;
    writeln!(io::stdout(), "size of the program: {size} MB, bar {SIZE_BAR} MB")?;
    for subject in [theirs, ours] {
        subject.remove()?;
    }
    Ok(())
}

/// The objects of one contestant, in a namespace of their own.
struct Subject {
    namespace: String,
    file: PathBuf,
}

impl Subject {
    fn new(name: &str, folder: &Path) -> Outcome<Self> {
        let namespace = format!("bench-{name}-{}", std::process::id());
        time(quiet("kubectl", &["create", "namespace", &namespace]))?;
        let file = folder.join(format!("{name}.yaml"));
        fs::write(&file, objects(&namespace)?)?;
        Ok(Self { namespace, file })
    }

    fn remove(&self) -> Outcome<()> {
        time(quiet("kubectl", &["delete", "namespace", &self.namespace, "--wait=false"])).map(drop)
    }
}

/// Settings and Deployments, as applications have them; the latter without replicas, so that only the API server works.
fn objects(namespace: &str) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for number in 0..OBJECTS {
        if number % 5 == 0 {
            write!(
                text,
                "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-{number}\n  namespace: {namespace}\n\
                 spec:\n  replicas: 0\n  selector:\n    matchLabels: {{app: app-{number}}}\n  template:\n    metadata:\n      \
                 labels: {{app: app-{number}}}\n    spec:\n      containers:\n      - name: web\n        image: nginx:1.27\n        \
                 ports:\n        - containerPort: 8080\n        env:\n        - {{name: MODE, value: production}}\n"
            )?;
        } else {
            write!(
                text,
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings-{number}\n  namespace: {namespace}\n  \
                 labels: {{app: bench, number: \"{number}\"}}\ndata:\n  host: service-{number}.example.org\n  port: \"8080\"\n  \
                 mode: production\n  retries: \"3\"\n  text: |\n    a longer text\n    of two lines\n"
            )?;
        }
    }
    Ok(text)
}

fn quiet(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
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
