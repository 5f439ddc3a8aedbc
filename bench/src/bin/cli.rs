//! `plimsoll` against kubectl on the same objects, how fast it starts, how much memory it takes, and how large it is.
//!
//! An apply of new objects is one request each, so its time is mostly the API server's. A client that only sends the
//! same requests shows how much of it; no client can be faster.
//!
//! Needs a cluster and kubectl: build with `cargo build --profile dist -p cli -p bench`, then
//! `target/dist/plimsoll sandbox exec -- target/dist/cli`. `--small` leaves out the 9,000 objects, which take kubectl
//! minutes.

mod cli {
    pub(crate) mod bare;
    pub(crate) mod program;
    pub(crate) mod subject;
}

use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use bench::{OURS, Outcome, Role, Run, median, megabytes, say};
use cli::bare;
use cli::program::{Program, time, time_and_peak};
use cli::subject::Subject;

/// The objects of most comparisons, and how many of them are pruned.
const OBJECTS: usize = 500;
const PRUNED: usize = 100;
/// The objects of a large installation.
const MANY: usize = 9_000;
/// Rounds of what takes seconds; the middle one counts.
const ROUNDS: usize = 3;
/// Rounds of what takes milliseconds.
const STARTS: usize = 51;

/// Others that do the same.
const KUBECTL: &str = "kubectl";
const BARE: &str = "bare client";

/// As kubectl is used, and as plimsoll is.
const THEIR_APPLY: &[&str] = &["apply", "--server-side"];
const OUR_APPLY: &[&str] = &["apply"];
const THEIR_PLAN: &[&str] = &["diff", "--server-side"];
const OUR_PLAN: &[&str] = &["plan"];

struct Bench<'f> {
    run: Run,
    kubectl: Program,
    plimsoll: Program,
    folder: &'f Path,
}

fn main() -> Outcome<()> {
    let folder = env::temp_dir().join(format!("plimsoll-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let run = Run::begin()?;
    let is_small = run.arguments().contains(&"--small");
    let mut bench = Bench {
        run,
        kubectl: Program("kubectl".into()),
        plimsoll: Program(env::current_exe()?.with_file_name("plimsoll")),
        folder: &folder,
    };
    let outcome = bench.measure(is_small);
    fs::remove_dir_all(&folder)?;
    outcome?;
    bench.run.end()
}

impl Bench<'_> {
    fn measure(&mut self, is_small: bool) -> Outcome<()> {
        self.start()?;
        let (kubectls, plimsolls) = self.new_objects()?;
        self.unchanged_objects(&kubectls, &plimsolls)?;
        kubectls.remove()?;
        plimsolls.remove()?;
        self.pruning()?;
        if is_small { Ok(()) } else { self.many_objects() }
    }

    fn start(&mut self) -> Outcome<()> {
        let mut starts = Vec::new();
        for _ in 0..STARTS {
            starts.push(time(self.plimsoll.command().arg("--version"))?);
        }
        let start = median(&mut starts);
        self.run.time("start-up", OURS, Role::Ours, start);
        self.run.at_most("start-up (--version), in ms", start.as_secs_f64() * 1e3, 5.0)?;
        let size = megabytes(fs::metadata(&self.plimsoll.0)?.len());
        // Releases are smaller: they have the profile `dist`.
        say(format_args!("size of the program: {size:.0} MB"))?;
        Ok(())
    }

    /// Leaves the objects of the last round.
    fn new_objects(&mut self) -> Outcome<(Subject, Subject)> {
        let (mut theirs, mut ours, mut servers) = (Vec::new(), Vec::new(), Vec::new());
        let mut last: Option<(Subject, Subject)> = None;
        for round in 0..ROUNDS {
            let subject = |name: &str| Subject::new(&format!("{name}-{round}"), self.folder, OBJECTS);
            let (kubectls, plimsolls, bares) = (subject("kubectl")?, subject("plimsoll")?, subject("bare")?);
            theirs.push(time(&mut kubectls.command(&self.kubectl, THEIR_APPLY))?);
            ours.push(time(&mut plimsolls.command(&self.plimsoll, OUR_APPLY))?);
            servers.push(bare::apply(&bares)?);
            bares.remove()?;
            if let Some((kubectls, plimsolls)) = last.replace((kubectls, plimsolls)) {
                kubectls.remove()?;
                plimsolls.remove()?;
            }
        }
        let what = format!("apply of {OBJECTS} new objects");
        self.compare(&what, &mut ours, (KUBECTL, &mut theirs), 0.45)?;
        let server = median(&mut servers);
        self.run.time(&what, BARE, Role::Floor, server);
        say(format_args!("  the same requests from a bare client: {server:?}"))?;
        last.ok_or_else(|| "there are no rounds".into())
    }

    fn unchanged_objects(&mut self, kubectls: &Subject, plimsolls: &Subject) -> Outcome<()> {
        let (mut theirs, mut ours, mut diffs, mut plans) = (vec![], vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            theirs.push(time(&mut kubectls.command(&self.kubectl, THEIR_APPLY))?);
            ours.push(time(&mut plimsolls.command(&self.plimsoll, OUR_APPLY))?);
            diffs.push(time(&mut kubectls.command(&self.kubectl, THEIR_PLAN))?);
            plans.push(time(&mut plimsolls.command(&self.plimsoll, OUR_PLAN))?);
        }
        self.compare(
            &format!("apply of {OBJECTS} unchanged objects"),
            &mut ours,
            (KUBECTL, &mut theirs),
            0.05,
        )?;
        self.compare(&format!("plan of {OBJECTS} unchanged objects"), &mut plans, (KUBECTL, &mut diffs), 0.05)
    }

    /// What an apply takes that has nothing to do but to delete members.
    fn pruning(&mut self) -> Outcome<()> {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let prune = |name: &str, program: &Program, arguments: &[&str]| -> Outcome<Duration> {
                let subject = Subject::new(&format!("{name}-set-{round}"), self.folder, OBJECTS)?;
                time(&mut subject.pruning(program, arguments))?;
                subject.write(OBJECTS - PRUNED)?;
                let took = time(&mut subject.pruning(program, arguments))?;
                subject.remove()?;
                Ok(took)
            };
            theirs.push(prune("kubectl", &self.kubectl, THEIR_APPLY)?);
            ours.push(prune("plimsoll", &self.plimsoll, OUR_APPLY)?);
        }
        self.compare(
            &format!("prune of {PRUNED} of {OBJECTS} objects"),
            &mut ours,
            (KUBECTL, &mut theirs),
            0.3,
        )
    }

    fn many_objects(&mut self) -> Outcome<()> {
        let subject = |name: &str| Subject::new(&format!("{name}-many"), self.folder, MANY);
        let (plimsolls, bares) = (subject("plimsoll")?, subject("bare")?);
        let server = bare::apply(&bares)?;
        bares.remove()?;
        let ours = time(&mut plimsolls.command(&self.plimsoll, OUR_APPLY))?;
        self.compare(&format!("apply of {MANY} new objects"), &mut [ours], (BARE, &mut [server]), 1.3)?;
        let (mut plans, mut peaks) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (plan, peak) = time_and_peak(&mut plimsolls.command(&self.plimsoll, OUR_PLAN))?;
            plans.push(plan);
            peaks.push(peak);
        }
        // kubectl finds the same objects unchanged: it compares what an apply would make of them.
        let diff =
            time(&mut plimsolls.command(&self.kubectl, &[THEIR_PLAN, &["--force-conflicts"]].concat()))?;
        self.compare(&format!("plan of {MANY} unchanged objects"), &mut plans, (KUBECTL, &mut [diff]), 0.02)?;
        let peak = megabytes(peaks.into_iter().max().unwrap_or_default());
        self.run.at_most(&format!("memory for a plan of {MANY} unchanged objects, in MB"), peak, 80.0)?;
        plimsolls.remove()
    }

    /// How much longer `ours` take than `theirs`.
    fn compare(
        &mut self,
        what: &str,
        ours: &mut [Duration],
        (other, theirs): (&str, &mut [Duration]),
        bar: f64,
    ) -> Outcome<()> {
        let (ours, theirs) = (median(ours), median(theirs));
        let role = if other == BARE { Role::Floor } else { Role::Yardstick };
        self.run.time(what, other, role, theirs);
        self.run.time(what, OURS, Role::Ours, ours);
        say(format_args!("{what}: {ours:?}, {other}: {theirs:?}"))?;
        self.run.at_most(&format!("{what}, against {other}"), ours.as_secs_f64() / theirs.as_secs_f64(), bar)
    }
}
