//! Kills and restarts the API server of a sandbox, as an upgrade or a crash does, and restores it from a backup.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Sandbox;

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The API server of a dedicated sandbox. The supervisor is suspended until this is dropped, so that it does not notice
/// that the server is gone; then it stops the sandbox.
#[derive(Debug)]
pub struct ApiServer {
    supervisor: i32,
    server: Process,
    etcd: Process,
}

/// What etcd had stored at some time.
#[derive(Debug)]
pub struct Backup(PathBuf);

#[derive(Debug)]
struct Process {
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
        let process = |name: &str| {
            let program = status.programs.iter().find(|program| program.path.ends_with(name));
            let pid = program.and_then(|program| program.pid).expect("a sandbox has all its programs");
            Process { pid, command: command_of(pid), restarted: None }
        };
        let supervisor = status.supervisor.expect("a sandbox has a supervisor");
        let (server, etcd) = (process("kube-apiserver"), process("etcd"));
        send("STOP", supervisor);
        ApiServer { supervisor, server, etcd }
    }
}

impl ApiServer {
    /// Kills the server and waits until it is gone.
    ///
    /// # Panics
    ///
    /// If it is not running.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Starts the server again with the same command. It takes a few seconds to respond.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start(&mut self) {
        self.server.start();
    }

    /// Copies what etcd has stored. The server and etcd are restarted for it.
    ///
    /// # Panics
    ///
    /// If they are not running, or the copy cannot be made.
    pub fn back_up(&mut self) -> Backup {
        let data = self.data();
        let backup = Backup(data.with_file_name("etcd-backup"));
        self.while_stopped(|| copy(&data, &backup.0));
        backup
    }

    /// Puts back what etcd had stored. The server and etcd are restarted for it.
    ///
    /// # Panics
    ///
    /// If they are not running, or the copy cannot be put back.
    pub fn restore(&mut self, backup: &Backup) {
        let data = self.data();
        self.while_stopped(|| {
            std::fs::remove_dir_all(&data).expect("the data is in the folder of the sandbox");
            copy(&backup.0, &data);
        });
    }

    fn while_stopped(&mut self, work: impl FnOnce()) {
        self.server.kill();
        self.etcd.kill();
        work();
        self.etcd.start();
        self.server.start();
    }

    fn data(&self) -> PathBuf {
        let mut flags = self.etcd.command.get_args().filter_map(OsStr::to_str);
        PathBuf::from(flags.find_map(|flag| flag.strip_prefix("--data-dir=")).expect("etcd has a folder"))
    }
}

impl Process {
    fn kill(&mut self) {
        if let Some(mut process) = self.restarted.take() {
            process.kill().and_then(|()| process.wait()).expect("it is a child of this process");
            return;
        }
        send("KILL", self.pid);
        // Its parent is suspended, so it stays a zombie, which has no command line.
        while std::fs::read(proc(self.pid, "cmdline")).is_ok_and(|line| !line.is_empty()) {
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn start(&mut self) {
        self.restarted = Some(self.command.spawn().expect("the command has worked before"));
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        for process in [&mut self.server, &mut self.etcd] {
            if let Some(process) = &mut process.restarted {
                let _killed = process.kill().and_then(|()| process.wait());
            }
        }
        send("CONT", self.supervisor);
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(
        copied.is_ok_and(|status| status.success()),
        "cannot copy {} to {}",
        from.display(),
        to.display()
    );
}

/// The command that started process `pid`, with its working directory and environment, which makes it exit when its
/// standard input closes: with this process.
fn command_of(pid: i32) -> Command {
    let read = |what| std::fs::read(proc(pid, what)).expect("the program is running");
    let (line, environment) = (read("cmdline"), read("environ"));
    let mut words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let mut command = Command::new(words.next().expect("a process has a command line"));
    command.args(words).env_clear();
    command.current_dir(std::fs::read_link(proc(pid, "cwd")).expect("the program is running"));
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
