//! Processes that are known for certain: a pid alone may have been given to a stranger in the meantime.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// A process, told apart from every other one that had or will have its pid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The process id.
    pub pid: i32,
    /// When it started, in clock ticks since the boot (`/proc/PID/stat`, field 22).
    pub start: u64,
    /// Which boot that is (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
}

/// A running process that is held by a pidfd: what is sent to it reaches it or nobody.
#[derive(Debug)]
pub(crate) struct Process {
    fd: OwnedFd,
}

impl Identity {
    /// The identity of the process that has `pid` now.
    pub fn of(pid: i32) -> io::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let (_, start) = parse_stat(&stat).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat is malformed"))
        })?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        Ok(Self { pid, start, boot })
    }

    /// The identity of this very process.
    pub fn of_self() -> io::Result<Self> {
        Self::of(rustix::process::getpid().as_raw_nonzero().get())
    }

    /// Whether the process still runs; one that has ended and waits to be reaped does not.
    pub fn is_running(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid));
        stat.ok().as_deref().and_then(parse_stat).is_some_and(|(state, _)| state != 'Z' && state != 'X')
            && Self::of(self.pid).is_ok_and(|now| now == *self)
    }

    /// Takes hold of the process, if it still runs.
    pub(crate) fn open(&self) -> Option<Process> {
        let fd = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        // The descriptor is of whoever has the pid now; only after this look is it known to be the right one.
        self.is_running().then_some(Process { fd })
    }
}

impl Process {
    /// Sends `signal`; a process that has just ended is no error.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.fd, signal) {
            Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the process has ended; false if it has not within `timeout`.
    pub(crate) fn wait(&self, timeout: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        loop {
            match poll(&mut fds, Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => {}
                result => return Ok(result? > 0),
            }
        }
    }
}

/// The processes whose environment carries `variable` with the value `value`, as the sandbox gives it to its own.
///
/// This finds what a state file does not name, because it is damaged or its writer was killed before it could.
pub(crate) fn with_variable(variable: &str, value: &Path) -> Vec<Identity> {
    let wanted = [variable.as_bytes(), b"=", value.as_os_str().as_encoded_bytes()].concat();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| {
            // The identity comes first: should the pid change hands, the second reading is of a stranger, and
            // the identity fits nobody.
            let identity = Identity::of(pid).ok()?;
            let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
            environment.split(|byte| *byte == 0).any(|entry| entry == wanted).then_some(identity)
        })
        .collect()
}

/// The state letter and the start time in the text of `/proc/PID/stat`.
fn parse_stat(stat: &str) -> Option<(char, u64)> {
    // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    // Field 22 counted from 1; the state was field 3.
    let start = fields.nth(18)?.parse().ok()?;
    Some((state, start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_start_time_is_read_whatever_the_program_is_called() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21";
        for name in ["etcd", "a b", "x) R 1 (y"] {
            assert_eq!(parse_stat(&format!("42 ({name}) {rest}")), Some(('S', 4711)), "{name}");
        }
        assert_eq!(parse_stat("42 (etcd) S 1 2"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn a_process_that_only_shares_the_pid_is_neither_running_nor_opened() {
        let me = Identity::of_self().unwrap();
        assert!(me.is_running());
        assert!(me.open().is_some());
        for stranger in [
            Identity { start: me.start + 1, ..me.clone() },
            Identity { boot: "another boot".to_owned(), ..me.clone() },
        ] {
            assert!(!stranger.is_running());
            assert!(stranger.open().is_none());
        }
    }

    #[test]
    fn a_process_is_found_by_its_variable_and_ended_through_its_handle() {
        let folder = Path::new("/nonexistent/process-tests");
        let mut child =
            Command::new("cat").env("PLIMSOLL_TEST_MARK", folder).stdin(Stdio::piped()).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let found = with_variable("PLIMSOLL_TEST_MARK", folder);
        assert_eq!(found.iter().map(|identity| identity.pid).collect::<Vec<_>>(), [pid]);
        assert!(with_variable("PLIMSOLL_TEST_MARK", Path::new("/nonexistent/process")).is_empty());

        let process = found[0].open().unwrap();
        assert!(!process.wait(Duration::ZERO).unwrap());
        process.signal(Signal::KILL).unwrap();
        assert!(process.wait(Duration::from_secs(60)).unwrap());
        assert!(!found[0].is_running(), "a zombie does not run");
        child.wait().unwrap();
        assert!(found[0].open().is_none());
    }
}
