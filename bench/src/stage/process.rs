//! The operator as a process of its own, so that what it needs can be told from what the measuring needs.

use std::fmt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Outcome;

/// `plimsoll operator` while it runs; it ends with this value.
pub struct Operator(Child);

/// What a process has used.
pub struct Usage {
    /// Bytes it has now.
    pub memory: u64,
    /// Bytes it had at most.
    pub peak: u64,
    /// Time it has computed for.
    pub cpu: Duration,
}

impl Operator {
    /// Starts `plimsoll operator` with `flags`. `variables` are added to its environment.
    pub(super) fn start(plimsoll: &Path, flags: &[String], variables: &[(String, String)]) -> Outcome<Self> {
        let mut command = Command::new(plimsoll);
        command.arg("operator").args(flags).env_remove("KUBECONFIG");
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.env("RUST_LOG", "warn").stdin(Stdio::null());
        Ok(Self(command.spawn()?))
    }

    /// What it has used so far.
    pub fn usage(&self) -> Outcome<Usage> {
        Usage::of(self.0.id())
    }
}

impl Usage {
    /// What a process has used so far, as Linux reports it.
    pub fn of(process: u32) -> Outcome<Self> {
        let folder = format!("/proc/{process}");
        let status = std::fs::read_to_string(format!("{folder}/status"))?;
        let kilobytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default()
                << 10
        };
        let stat = std::fs::read_to_string(format!("{folder}/stat"))?;
        // After the name, which may hold anything, in parentheses; times are in hundredths of a second.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks =
            |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
        let cpu = Duration::from_millis((ticks(11) + ticks(12)) * 10);
        Ok(Self { memory: kilobytes("VmRSS:"), peak: kilobytes("VmHWM:"), cpu })
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MB of memory, {} MB at most", self.memory >> 20, self.peak >> 20)
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nothing to end.
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}
