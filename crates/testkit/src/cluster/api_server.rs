//! The API server of a sandbox, killed and started again: what its clients go through when it is upgraded or crashes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Sandbox;

/// How often it is looked whether a server that was killed is gone.
const LOOK: Duration = Duration::from_millis(5);

/// The API server of a sandbox that a test has for itself. Until this is dropped, which ends the sandbox, the supervisor is
/// kept from noticing that the server is gone.
#[derive(Debug)]
pub struct ApiServer {
    supervisor: i32,
    pid: i32,
    again: Command,
    /// The one that took its place.
    successor: Option<Child>,
}

impl Sandbox {
    /// Its API server, to be killed and started again.
    ///
    /// # Panics
    ///
    /// If the sandbox is not running.
    pub fn api_server(&self) -> ApiServer {
        let status = self.status();
        let program = status.programs.iter().find(|program| program.path.ends_with("kube-apiserver"));
        let pid = program.and_then(|program| program.pid).expect("a sandbox has an API server");
        let supervisor = status.supervisor.expect("a sandbox has a supervisor");
        send("STOP", supervisor);
        ApiServer { supervisor, pid, again: same_as(pid), successor: None }
    }
}

impl ApiServer {
    /// Kills it; it is gone when this returns.
    ///
    /// # Panics
    ///
    /// If it is not running.
    pub fn kill(&mut self) {
        if let Some(mut successor) = self.successor.take() {
            successor.kill().and_then(|()| successor.wait()).expect("it is a child of ours");
            return;
        }
        send("KILL", self.pid);
        // Its parent is not there to take notice, so what remains of it has a pid but no command line.
        while std::fs::read(proc(self.pid, "cmdline")).is_ok_and(|line| !line.is_empty()) {
            std::thread::sleep(LOOK);
        }
    }

    /// Starts another one, as the first was started. It takes some seconds until it answers.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start(&mut self) {
        self.successor = Some(self.again.spawn().expect("what was started once can be started again"));
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        if let Some(successor) = &mut self.successor {
            let _ended = successor.kill().and_then(|()| successor.wait());
        }
        send("CONT", self.supervisor);
    }
}

/// The command that started process `pid`, with its folder and its environment, in which stands that it is to end with its
/// standard input: with us.
fn same_as(pid: i32) -> Command {
    let read = |what| std::fs::read(proc(pid, what)).expect("the API server runs");
    let (line, environment) = (read("cmdline"), read("environ"));
    let mut words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let mut command = Command::new(words.next().expect("a process was started by a command"));
    command.args(words).env_clear();
    command.current_dir(std::fs::read_link(proc(pid, "cwd")).expect("the API server runs"));
    for variable in environment.split(|byte| *byte == 0) {
        if let Some(at) = variable.iter().position(|byte| *byte == b'=') {
            command.env(OsStr::from_bytes(&variable[..at]), OsStr::from_bytes(&variable[at + 1..]));
        }
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn proc(pid: i32, what: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{what}"))
}

fn send(signal: &str, pid: i32) {
    let sent = Command::new("kill").args(["-s", signal, &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{signal} does not reach {pid}");
}
