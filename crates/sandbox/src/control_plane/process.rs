//! Processes identified beyond doubt: a pid alone may have been reused.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// Identifies a process among all that ever had or will have its pid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessIdentity {
    pub(crate) pid: i32,
    /// The start time in clock ticks since boot (`/proc/PID/stat`, field 22).
    pub(crate) start: u64,
    /// `/proc/sys/kernel/random/boot_id`
    pub(crate) boot: String,
}

/// A running process held by a pidfd, so that signals never reach another process.
#[derive(Debug)]
pub(crate) struct ProcessHandle {
    fd: OwnedFd,
}

impl ProcessIdentity {
    /// The process that has `pid` now.
    pub(crate) fn of(pid: i32) -> io::Result<Self> {
        Self::read(pid).map(|(identity, _)| identity)
    }

    pub(crate) fn of_self() -> io::Result<Self> {
        Self::of(rustix::process::getpid().as_raw_nonzero().get())
    }

    /// The process that has `pid` now, and its state letter.
    fn read(pid: i32) -> io::Result<(Self, char)> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let (state, start) = parse_stat(&stat).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat is malformed"))
        })?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        Ok((Self { pid, start, boot }, state))
    }

    /// Whether the process is still running; a zombie is not.
    pub(crate) fn is_running(&self) -> bool {
        Self::read(self.pid).is_ok_and(|(now, state)| now == *self && state != 'Z' && state != 'X')
    }

    /// Opens a handle to the process if it is still running.
    pub(crate) fn open(&self) -> Option<ProcessHandle> {
        let fd = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        // The descriptor refers to whichever process has the pid now, so only this check makes it the right one.
        self.is_running().then_some(ProcessHandle { fd })
    }
}

impl ProcessHandle {
    /// Sends `signal`; a process that has just exited is not an error.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.fd, signal) {
            Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the process to exit; returns false after `timeout`.
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

/// The processes with `variable` set to `value` in their environment.
///
/// This finds processes that the state file does not name because it is damaged or its writer was killed too early.
pub(crate) fn with_variable(variable: &str, value: &Path) -> Vec<ProcessIdentity> {
    let wanted = [variable.as_bytes(), b"=", value.as_os_str().as_encoded_bytes()].concat();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| {
            // The identity is read first: if the pid is reused in between, the identity matches no running process.
            let identity = ProcessIdentity::of(pid).ok()?;
            let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
            environment.split(|byte| *byte == 0).any(|entry| entry == wanted).then_some(identity)
        })
        .collect()
}

/// The state letter and the start time in the text of `/proc/PID/stat`.
fn parse_stat(stat: &str) -> Option<(char, u64)> {
    // The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
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
    fn the_start_time_is_parsed_for_any_program_name() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21";
        for name in ["etcd", "a b", "x) R 1 (y"] {
            assert_eq!(parse_stat(&format!("42 ({name}) {rest}")), Some(('S', 4711)), "{name}");
        }
        assert_eq!(parse_stat("42 (etcd) S 1 2"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn a_process_that_reuses_the_pid_is_not_opened() {
        let me = ProcessIdentity::of_self().unwrap();
        assert!(me.is_running());
        assert!(me.open().is_some());
        for other in [
            ProcessIdentity { start: me.start + 1, ..me.clone() },
            ProcessIdentity { boot: "another boot".to_owned(), ..me.clone() },
        ] {
            assert!(!other.is_running());
            assert!(other.open().is_none());
        }
    }

    #[test]
    fn a_process_is_found_by_its_variable_and_killed_through_its_handle() {
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
        assert!(!found[0].is_running(), "a zombie is not running");
        child.wait().unwrap();
        assert!(found[0].open().is_none());
    }
}
