//! Kills and restarts the API server of a sandbox, as an upgrade or a crash does.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Sandbox;

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The API server of a dedicated sandbox. The supervisor is suspended until this is dropped, so that it does not notice
/// that the server is gone; then it stops the sandbox.
#[derive(Debug)]
pub struct ApiServer {
    supervisor: i32,
    pid: i32,
    command: Command,
    restarted: Option<Child>,
}

impl Sandbox {
    /// # Panics
    ///
    /// If the sandbox is not running.
    pub fn api_server(&self) -> ApiServer {
        let status = self.status();
        let program = status.programs.iter().find(|program| program.path.ends_with("kube-apiserver"));
        let pid = program.and_then(|program| program.pid).expect("a sandbox has an API server");
        let supervisor = status.supervisor.expect("a sandbox has a supervisor");
        send("STOP", supervisor);
        ApiServer { supervisor, pid, command: command_of(pid), restarted: None }
    }
}

impl ApiServer {
    /// Kills the server and waits until it is gone.
    ///
    /// # Panics
    ///
    /// If it is not running.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.restarted.take() {
            server.kill().and_then(|()| server.wait()).expect("it is a child of this process");
            return;
        }
        send("KILL", self.pid);
        // Its parent is suspended, so it stays a zombie, which has no command line.
        while std::fs::read(proc(self.pid, "cmdline")).is_ok_and(|line| !line.is_empty()) {
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Starts the server again with the same command. It takes a few seconds to respond.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start(&mut self) {
        self.restarted = Some(self.command.spawn().expect("the command has worked before"));
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        if let Some(server) = &mut self.restarted {
            let _killed = server.kill().and_then(|()| server.wait());
        }
        send("CONT", self.supervisor);
    }
}

/// The command that started process `pid`, with its working directory and environment, which makes it exit when its
/// standard input closes: with this process.
fn command_of(pid: i32) -> Command {
    let read = |what| std::fs::read(proc(pid, what)).expect("the API server is running");
    let (line, environment) = (read("cmdline"), read("environ"));
    let mut words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let mut command = Command::new(words.next().expect("a process has a command line"));
    command.args(words).env_clear();
    command.current_dir(std::fs::read_link(proc(pid, "cwd")).expect("the API server is running"));
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
    assert!(sent.is_ok_and(|status| status.success()), "cannot send {signal} to {pid}");
}
