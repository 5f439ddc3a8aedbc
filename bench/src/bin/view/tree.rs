//! `plimsoll tree` as a user runs it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bench::stage::plimsoll;
use bench::stage::process::Usage;
use bench::{Outcome, median, megabytes};

use crate::view::population::{CLAIM, NAMESPACE};

pub(crate) struct Measured {
    /// The median.
    pub(crate) time: Duration,
    /// The most of any run, in MB.
    pub(crate) memory: f64,
}

pub(crate) fn measure(kubeconfig: &Path, runs: usize) -> Outcome<Measured> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let began = Instant::now();
        let output = command(kubeconfig)?.output()?;
        times.push(began.elapsed());
        let shown = String::from_utf8_lossy(&output.stdout).lines().count();
        if !output.status.success() || shown < 5 {
            return Err(
                format!("the tree has {shown} lines: {}", String::from_utf8_lossy(&output.stderr)).into()
            );
        }
    }
    let mut memory = 0.0;
    for _ in 0..runs {
        let mut process = command(kubeconfig)?.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        // The kernel keeps the peak, but not beyond the end of the process.
        while process.try_wait()?.is_none() {
            memory = Usage::of(process.id()).map_or(memory, |usage| megabytes(usage.peak).max(memory));
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(Measured { time: median(&mut times), memory })
}

fn command(kubeconfig: &Path) -> Outcome<Command> {
    let mut command = Command::new(plimsoll()?);
    command.args(["tree", &format!("app/{CLAIM}"), "--namespace", NAMESPACE]).env("KUBECONFIG", kubeconfig);
    Ok(command)
}
