//! From nothing to nothing in five steps, each with its time, its memory and its requests.

use std::error::Error;
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bench::control_plane::{Asked, ControlPlane};
use testkit::terraform::{Client, Workspace};

use crate::folder::{self, Backend, State};
use crate::peer::{Connection, Peer, Resources};
use crate::usage::{self, Usage};

/// How often a plan without a change is compared with one whose provider answers at once.
const NO_OP_ROUNDS: usize = 2;

/// What is done, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Plan,
    Apply,
    NoOp,
    Change,
    Destroy,
}

impl Step {
    pub(crate) const ALL: [Self; 5] = [Self::Plan, Self::Apply, Self::NoOp, Self::Change, Self::Destroy];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Apply => "apply",
            Self::NoOp => "no-op plan",
            Self::Change => "change all",
            Self::Destroy => "destroy",
        }
    }

    /// The most requests about an object that we allow ourselves.
    pub(crate) const fn bar(self) -> f64 {
        match self {
            Self::Plan => 2.0,
            Self::Apply => 4.0,
            Self::NoOp => 1.0,
            Self::Change | Self::Destroy => 5.0,
        }
    }

    /// Whether an exit code of the client is the one that this step has when it did what it should.
    fn is_expected(self, code: Option<i32>) -> bool {
        // With `-detailed-exitcode`, two says that there is something to do.
        code == Some(if self == Self::Plan { 2 } else { 0 })
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Plan | Self::NoOp => &["plan", "-detailed-exitcode"],
            Self::Apply | Self::Change => &["apply", "-auto-approve"],
            Self::Destroy => &["destroy", "-auto-approve"],
        }
    }
}

/// How everything is run, for all providers alike.
pub(crate) struct How {
    /// Who runs it.
    pub(crate) client: Client,
    /// Where the state is kept.
    pub(crate) state: State,
    /// Where our configuration has the connection.
    pub(crate) connection: Connection,
    /// How many resources are worked at in parallel.
    pub(crate) parallelism: usize,
}

/// What a lifecycle took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    times: [Duration; 5],
    asked: [Asked; 5],
    usage: [Usage; 5],
    /// The time of a plan without a change whose provider answers at once.
    floor: Option<Duration>,
}

impl Measured {
    pub(crate) fn seconds(&self, step: Step) -> f64 {
        self.times[step as usize].as_secs_f64()
    }

    pub(crate) fn asked(&self, step: Step) -> Asked {
        self.asked[step as usize]
    }

    pub(crate) fn usage(&self, step: Step) -> Usage {
        self.usage[step as usize]
    }

    /// Our time for a plan without a change, as a multiple of what Terraform itself needs for it.
    pub(crate) fn over_floor(&self) -> Option<f64> {
        self.floor.map(|floor| self.seconds(Step::NoOp) / floor.as_secs_f64())
    }

    /// The peak of any process in any step, in KiB.
    pub(crate) fn memory(&self) -> u64 {
        self.usage.iter().map(|usage| usage.memory).max().unwrap_or_default()
    }

    /// The median of each time, the highest of each other figure.
    pub(crate) fn median(all: &[Self]) -> Self {
        let mut median =
            Self { floor: middle(all.iter().filter_map(|measured| measured.floor)), ..Self::default() };
        for step in 0..5 {
            median.times[step] = middle(all.iter().map(|measured| measured.times[step])).unwrap_or_default();
            let asked = all.iter().map(|measured| measured.asked[step]);
            median.asked[step] = asked.max_by_key(|asked| asked.objects).unwrap_or_default();
            let usage = all.iter().map(|measured| measured.usage[step]);
            median.usage[step] = usage.max_by_key(|usage| usage.memory).unwrap_or_default();
        }
        median
    }
}

fn middle(times: impl Iterator<Item = Duration>) -> Option<Duration> {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times.get(times.len() / 2).copied()
}

/// Does all five steps in a namespace of their own. The `floor` plans without a change in turn with `peer`.
pub(crate) fn run(
    peer: &Peer,
    floor: Option<&Peer>,
    control_plane: &ControlPlane,
    how: &How,
    objects: usize,
) -> Result<Measured, Box<dyn Error>> {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let namespace = format!("bench-{}", RUNS.fetch_add(1, Ordering::Relaxed));
    control_plane.namespace(&namespace)?;
    let backend = Backend::start(how.state)?;
    let workspace = folder::prepare(&how.client, peer, &backend)?;
    let mut requests = control_plane.requests()?;
    let mut measured = Measured::default();
    for step in Step::ALL {
        let text = if matches!(step, Step::Change | Step::Destroy) { "changed" } else { "first" };
        let resources = Resources { count: objects, connection: how.connection, namespace: &namespace, text };
        let configuration = peer.configuration(&control_plane.kubeconfig(), &resources);
        workspace.write("main.tf", &configuration);
        let (time, usage) = measure(&workspace, step, how.parallelism)?;
        measured.times[step as usize] = time;
        measured.asked[step as usize] = requests.by(peer.user_agent, &namespace)?;
        measured.usage[step as usize] = usage;
        if let (Step::NoOp, Some(floor)) = (step, floor) {
            let instant = folder::prepare(&how.client, floor, &backend)?;
            instant.write("main.tf", &configuration);
            if how.state == State::Local {
                fs::copy(workspace.path("terraform.tfstate"), instant.path("terraform.tfstate"))?;
            }
            let (mut ours, mut floors) = (vec![time], Vec::new());
            for _ in 0..NO_OP_ROUNDS {
                floors.push(measure(&instant, step, how.parallelism)?.0);
                ours.push(measure(&workspace, step, how.parallelism)?.0);
            }
            measured.times[step as usize] = middle(ours.into_iter()).unwrap_or_default();
            measured.floor = middle(floors.into_iter());
        }
    }
    Ok(measured)
}

/// How long Terraform plans as many resources of its own without a change.
pub(crate) fn terraform_data(how: &How, objects: usize) -> Result<Duration, Box<dyn Error>> {
    let workspace = Workspace::new(how.client.clone(), &[]);
    let Backend(backend) = Backend::start(how.state)?;
    workspace.write("providers.tf", &format!("terraform {{\n{backend}}}\n"));
    let resources =
        Resources { count: objects, connection: how.connection, namespace: "bench", text: "first" };
    workspace.write("main.tf", &resources.terraform_data());
    workspace.run(&["init", "-no-color", "-input=false"]).expect_success();
    measure(&workspace, Step::Apply, how.parallelism)?;
    let plans = (0..=NO_OP_ROUNDS).map(|_| Ok(measure(&workspace, Step::NoOp, how.parallelism)?.0));
    let plans = plans.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    Ok(middle(plans.into_iter()).unwrap_or_default())
}

fn measure(
    workspace: &Workspace,
    step: Step,
    parallelism: usize,
) -> Result<(Duration, Usage), Box<dyn Error>> {
    let output = workspace.path("output.txt");
    let file = File::create(&output)?;
    let mut command = workspace.command();
    command.args(step.arguments()).args(["-no-color", "-input=false"]);
    command.arg(format!("-parallelism={parallelism}")).stdout(file.try_clone()?).stderr(file);
    let began = Instant::now();
    let mut child = command.spawn()?;
    let (pid, ended) = (child.id(), AtomicBool::new(false));
    let (status, time, usage) = thread::scope(|scope| {
        let watched = scope.spawn(|| usage::watch(pid, &ended));
        let status = child.wait();
        let time = began.elapsed();
        ended.store(true, Ordering::Relaxed);
        (status, time, watched.join())
    });
    if !step.is_expected(status?.code()) {
        let text = fs::read_to_string(&output)?;
        let last: Vec<&str> = text.lines().rev().take(40).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        return Err(format!("{} did not do what it should:\n{}", step.name(), last.join("\n")).into());
    }
    Ok((time, usage.map_err(|_| "the processes could not be watched")?))
}
