//! The programs that are compared, how long their commands take, and how much memory at most.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use bench::Outcome;

/// How often the kernel is asked for the peak, which it keeps itself.
const INTERVAL: Duration = Duration::from_millis(1);

/// A program that applies manifests.
pub(crate) struct Program(pub(crate) PathBuf);

impl Program {
    pub(crate) fn command(&self) -> Command {
        Command::new(&self.0)
    }
}

/// How long a command takes, which must succeed: a plan or a diff does only if nothing would change.
pub(crate) fn time(command: &mut Command) -> Outcome<Duration> {
    let began = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    let elapsed = began.elapsed();
    if output.status.success() {
        return Ok(elapsed);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} ended with {}: {said}", output.status).into())
}

/// The same with the most memory it has had, in bytes.
pub(crate) fn time_and_peak(command: &mut Command) -> Outcome<(Duration, u64)> {
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut peak = 0;
    let status = loop {
        peak = peak_of(&child).unwrap_or_default().max(peak);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        thread::sleep(INTERVAL);
    };
    let elapsed = began.elapsed();
    if status.success() {
        Ok((elapsed, peak))
    } else {
        Err(format!("{command:?} ended with {status}").into())
    }
}

fn peak_of(child: &Child) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kilobytes.unwrap_or_default() << 10)
}
