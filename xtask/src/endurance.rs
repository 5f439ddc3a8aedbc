//! The long tests, run in full: `cargo test` runs a sample of each.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, ensure};

/// A half of the operator.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Half {
    /// Resources at Oracle Cloud
    Oci,
    /// XRDs, Compositions and claims
    Composition,
}

/// A test that `cargo test` only samples.
#[derive(Clone, Copy)]
pub(crate) enum Test {
    /// The operator, or one half of it, killed at every request it makes; and the API server, killed while claims come and go.
    CrashMatrix(Option<Half>),
    /// Many objects under faults.
    Soak,
    Idle,
    /// This many random histories of the operator, and more of what it decides alone, in virtual time.
    Simulation(u32),
    /// Every parser of foreign bytes, for this long each.
    Fuzz(Duration),
    /// Every described kind: driven by Oracle's SDK, and those that are installed by default end to end.
    CloudKinds,
    /// What is released, with the programs of others: the chart, the image, the workflows, Crossplane's command line.
    Release,
}

/// How many histories the operator plays.
pub(crate) const HISTORIES: u32 = 100_000;
/// How many more its decisions about cloud resources play, each of which takes a hundredth of the time.
const CHEAPER: u32 = 10;
pub(crate) const FUZZING: Duration = Duration::from_secs(60);
/// The cases of each property test that stands in for a fuzz target.
const FUZZ_CASES: &str = "200000";

/// The cheapest first.
const ALL: [Test; 7] = [
    Test::Release,
    Test::CloudKinds,
    Test::CrashMatrix(None),
    Test::Soak,
    Test::Idle,
    Test::Fuzz(FUZZING),
    Test::Simulation(HISTORIES),
];

/// A command of `cargo`, and its environment.
struct Run {
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

impl Run {
    fn cargo<S: AsRef<str>>(arguments: impl IntoIterator<Item = S>) -> Self {
        let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        Self { arguments, environment: Vec::new() }
    }

    /// The tests of a package whose names begin with `prefix`, one at a time, so that they do not disturb each other's
    /// measurements.
    fn tests(package: &str, program: &str, prefix: &str, release: bool) -> Self {
        let profile: &[&str] = if release { &["--release"] } else { &[] };
        let target = ["test", "--package", package, "--test", program];
        let rest = ["--", "--nocapture", "--test-threads=1", prefix];
        Self::cargo([&target[..], profile, &rest[..]].concat())
    }

    fn with(mut self, name: &'static str, value: &impl ToString) -> Self {
        self.environment.push((name, value.to_string()));
        self
    }

    fn run(&self, root: &Path) -> anyhow::Result<()> {
        // rustup sets these for the toolchain of this program; a `+nightly` needs to choose another one.
        let is_other_toolchain = self.arguments.first().is_some_and(|first| first.starts_with('+'));
        let mut command = match std::env::var_os("CARGO").filter(|_| !is_other_toolchain) {
            Some(cargo) => Command::new(cargo),
            None => Command::new("cargo"),
        };
        if is_other_toolchain {
            command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        }
        let environment = self.environment.iter().map(|(name, value)| (*name, value.as_str()));
        command.args(&self.arguments).current_dir(root).env("PLIMSOLL_WHOLE", "1").envs(environment);
        let status = command.status().context("starting cargo")?;
        ensure!(status.success(), "cargo {} failed", self.arguments.join(" "));
        Ok(())
    }
}

impl Test {
    fn name(self) -> String {
        match self {
            Self::CrashMatrix(_) => "crash matrix".to_owned(),
            Self::CloudKinds => "every cloud kind".to_owned(),
            Self::Release => "what is released".to_owned(),
            Self::Soak => "soak".to_owned(),
            Self::Idle => "idle operator".to_owned(),
            Self::Simulation(histories) => {
                format!("simulation, {histories} histories, and {CHEAPER} times as many of decisions")
            }
            Self::Fuzz(time) => format!("fuzz targets, {} s each", time.as_secs()),
        }
    }

    /// Published figures come from release builds.
    fn runs(self, root: &Path, release: bool) -> anyhow::Result<Vec<Run>> {
        let operator = |program, prefix| Run::tests("operator", program, prefix, release);
        let profile: &[&str] = if release { &["--release"] } else { &[] };
        // Tests find the program under test beside their own binary.
        let program = Run::cargo([&["build", "--package", "cli"], profile].concat());
        let oci = || operator("endurance", "matrix::");
        let composition = || [operator("composition", "crash::"), operator("composition", "churn::")];
        Ok(match self {
            Self::CrashMatrix(Some(Half::Oci)) => vec![program, oci()],
            Self::CrashMatrix(Some(Half::Composition)) => composition().into(),
            Self::CrashMatrix(None) => [program, oci()].into_iter().chain(composition()).collect(),
            Self::CloudKinds => vec![operator("operations", "sdk::"), operator("operations", "tier1::")],
            Self::Release => vec![
                program,
                Run::tests("cli", "install", "helm::", release),
                Run::tests("cli", "install", "gitops::", release),
                Run::tests("cli", "render", "official::", release),
                Run::cargo(["run", "--package", "xtask", "--", "platforms"]),
                Run::cargo(["test", "--package", "xtask", "--", "image::", "released::", "workflows"]),
            ],
            Self::Soak => vec![program, operator("endurance", "soak::")],
            Self::Idle => {
                vec![program, operator("endurance", "idle::"), operator("endurance", "kinds::")]
            }
            Self::Simulation(histories) => {
                [("operations", histories.saturating_mul(CHEAPER)), ("operator", histories)]
                    .map(|(package, histories)| {
                        let run = Run::tests(package, "simulation", "histories::", true);
                        run.with("PLIMSOLL_CASES", &histories)
                    })
                    .into()
            }
            Self::Fuzz(time) => fuzz(root, time)?,
        })
    }
}

/// Each fuzz target for a while; without cargo-fuzz and a nightly toolchain, the property tests that drive the same functions.
fn fuzz(root: &Path, time: Duration) -> anyhow::Result<Vec<Run>> {
    let can_fuzz = Command::new("cargo")
        .args(["+nightly", "fuzz", "--version"])
        .env_remove("RUSTUP_TOOLCHAIN")
        .output()
        .is_ok_and(|output| output.status.success());
    if !can_fuzz {
        let packages = ["cluster", "fields", "functions", "manifest", "oraclecloud", "tfplugin"];
        let packages = packages.iter().flat_map(|package| ["--package", package]);
        let arguments = ["test", "--release", "--lib", "--tests"].into_iter().chain(packages);
        let run = Run::cargo(arguments.chain(["--", "any_"]));
        return Ok(vec![run.with("PROPTEST_CASES", &FUZZ_CASES)]);
    }
    let mut targets = Vec::new();
    for entry in root.join("fuzz/fuzz_targets").read_dir().context("reading fuzz/fuzz_targets")? {
        targets.extend(entry?.path().file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    targets.sort();
    let limit = format!("-max_total_time={}", time.as_secs());
    let run = |target: &String| Run::cargo(["+nightly", "fuzz", "run", target, "--", &limit]);
    Ok(targets.iter().map(run).collect())
}

/// Runs one test in full.
pub(crate) fn run(root: &Path, test: Test, release: bool) -> anyhow::Result<()> {
    test.runs(root, release)?.iter().try_for_each(|run| run.run(root))
}

/// Runs every test in full, all with one seed, and reports how long each took. The first failure ends it.
#[expect(clippy::print_stdout, reason = "a task reports to its caller")]
pub(crate) fn run_all(root: &Path) -> anyhow::Result<()> {
    let seed = match std::env::var("PLIMSOLL_SEED") {
        Ok(given) => given,
        Err(_) => SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs().to_string(),
    };
    println!("== full: PLIMSOLL_SEED={seed} chooses the same again");
    let mut took = Vec::new();
    for test in ALL {
        println!("\n== {}", test.name());
        let began = Instant::now();
        let runs = test.runs(root, false)?.into_iter().map(|run| run.with("PLIMSOLL_SEED", &seed));
        runs.into_iter().try_for_each(|run| run.run(root)).with_context(|| {
            format!("{} failed; PLIMSOLL_SEED={seed} cargo xtask full repeats it", test.name())
        })?;
        took.push(format!("{:>6} s  {}", began.elapsed().as_secs(), test.name()));
        println!("== {}: {} s", test.name(), began.elapsed().as_secs());
    }
    println!("\n== full: passed, PLIMSOLL_SEED={seed}\n{}", took.join("\n"));
    Ok(())
}
