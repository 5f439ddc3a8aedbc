//! Runs `plimsoll` with separate folders, against real programs or stand-ins.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::schema;

/// Long enough for a busy machine; nothing waits that long unless it has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A user of `plimsoll` with an empty state folder. Everything still running is stopped at the end.
pub(crate) struct User {
    folder: TempDir,
    variables: Vec<(&'static str, PathBuf)>,
}

impl User {
    /// A user with the real control plane, which is built into the real cache folder if it is missing.
    pub(crate) fn new() -> Self {
        // The folder's name always has the same length, so that messages wrap at the same place.
        Self { folder: tempfile::tempdir_in("/tmp").unwrap(), variables: Vec::new() }
    }

    /// A user without Go whose programs are the shell scripts `programs`; the others just keep running.
    pub(crate) fn with_stand_ins(programs: &[(&str, &str)]) -> Self {
        let user = Self::without_programs();
        let assets = user.path("assets");
        fs::create_dir(&assets).unwrap();
        let defaults = [
            // The supervisor continues once etcd's socket exists.
            ("etcd", ": > etcd.sock; exec sleep 1000"),
            ("kube-apiserver", "exec sleep 1000"),
            ("kube-controller-manager", "exec sleep 1000"),
            ("kube-scheduler", "exec sleep 1000"),
            ("kwok", "exec sleep 1000"),
            ("kubectl", "exit 0"),
        ];
        for (name, script) in defaults.iter().chain(programs) {
            let path = assets.join(name);
            fs::write(&path, format!("#!/bin/sh\n[ \"$1\" != --version ] || exit 0\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        user.with("KUBEBUILDER_ASSETS", assets)
    }

    /// A user without Go, without a cache and without programs.
    pub(crate) fn without_programs() -> Self {
        let user = Self::new();
        let cache = user.path("cache");
        user.with("XDG_CACHE_HOME", cache).with("PATH", "/usr/bin:/bin")
    }

    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<PathBuf>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    /// A path in the folder that is removed with the user.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder of the sandbox `name`.
    pub(crate) fn sandbox(&self, name: &str) -> PathBuf {
        self.path("state/plimsoll/sandbox").join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(arguments).env("XDG_STATE_HOME", self.path("state")).env_remove("KUBEBUILDER_ASSETS");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// Runs `plimsoll sandbox …` to its end. Its output is a pipe, which is read until every process that inherited it
    /// has ended: a supervisor that kept it open would make the test hang.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(&[&["sandbox"], arguments].concat()).output().unwrap();
        Ran { output, folder: self.folder.path().to_owned() }
    }

    /// Runs a shell script in which the folder `disk` of the user is a file system of `size` bytes, on its own, and
    /// `$plimsoll` is the program. `None` if this machine does not allow user namespaces, which that takes.
    pub(crate) fn run_on_small_disk(&self, disk: &str, size: &str, script: &str) -> Option<Ran> {
        let namespace = ["--user", "--map-root-user", "--mount", "sh", "-euc"];
        if !Command::new("unshare").args(namespace).arg("true").status().is_ok_and(|status| status.success())
        {
            return None;
        }
        fs::create_dir_all(self.path(disk)).unwrap();
        let mut command = Command::new("unshare");
        command
            .args(namespace)
            .arg(format!("mount -t tmpfs -o size={size},mode=755 tmpfs \"$disk\"; set +e\n{script}"));
        command.env("disk", self.path(disk)).env("plimsoll", env!("CARGO_BIN_EXE_plimsoll"));
        command.env("XDG_STATE_HOME", self.path("state")).env_remove("KUBEBUILDER_ASSETS");
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
        Some(Ran { output: command.output().unwrap(), folder: self.folder.path().to_owned() })
    }

    /// Starts `plimsoll sandbox …`; its output goes to the file `output` in the user's folder.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Child {
        let output = File::create(self.path("output")).unwrap();
        let mut command = self.command(&[&["sandbox"], arguments].concat());
        command.stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap()
    }

    /// Runs kubectl in the sandbox `name`, which must succeed.
    pub(crate) fn kubectl(&self, name: &str, arguments: &[&str]) -> String {
        self.run(&[&["exec", "--name", name, "--", "kubectl"], arguments].concat()).succeeded()
    }

    /// Runs `kubectl apply -f -` in the sandbox `name`.
    pub(crate) fn apply(&self, name: &str, manifest: &str) {
        let mut command =
            self.command(&["sandbox", "exec", "--name", name, "--", "kubectl", "apply", "-f", "-"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }

    /// The output of `status -o json`.
    pub(crate) fn status(&self, name: &str) -> Value {
        schema::check("sandbox", &self.run(&["status", "--name", name, "-o", "json"]).stdout())
    }

    /// The state file of the sandbox, once `holds` is true of it.
    pub(crate) fn state_when(&self, name: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let path = self.sandbox(name).join("state.json");
        let read = || serde_json::from_str(&fs::read_to_string(&path).ok()?).ok();
        eventually(&format!("{} is as expected", path.display()), || read().filter(&holds))
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let folder = self.path("state/plimsoll/sandbox");
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                self.run(&["down", "--name", &entry.file_name().to_string_lossy()]);
            }
        }
    }
}

/// A command that has ended.
pub(crate) struct Ran {
    output: Output,
    folder: PathBuf,
}

impl Ran {
    /// Its standard output; it must have succeeded.
    pub(crate) fn succeeded(&self) -> String {
        assert!(self.output.status.success(), "{}\n{}", self.output.status, self.stderr());
        self.stdout()
    }

    /// Its standard error; it must have failed with exit status 1.
    pub(crate) fn failed(&self) -> String {
        assert_eq!(self.output.status.code(), Some(1), "{}", self.stderr());
        self.stderr()
    }

    pub(crate) fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    /// Replaces the name of the user's folder.
    pub(crate) fn stderr(&self) -> String {
        let text = String::from_utf8(self.output.stderr.clone()).unwrap();
        text.replace(self.folder.to_str().unwrap(), "FOLDER")
    }
}

/// Polls `look` until it finds something.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "never happened: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process runs: it exists, and is not a zombie.
pub(crate) fn is_running(pid: i64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Sends SIGKILL to a process that this test has started, directly or not.
pub(crate) fn kill(pid: i64) {
    send("KILL", pid);
}

/// Sends a signal to a process that this test has started, directly or not.
pub(crate) fn send(signal: &str, pid: i64) {
    let status = Command::new("kill").args(["-s", signal, &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

pub(crate) fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
