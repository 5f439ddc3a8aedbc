//! The processes beside the sandbox during the demo: a cloud, a function and the operator.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use sandbox::Layout;
use serde_json::Value;

use super::untrue;
use crate::support::exit::Failure;
use crate::support::process::own_executable;

/// Processes that belong to the sandbox, and the addresses they printed.
pub(super) struct Processes {
    program: PathBuf,
    /// Files of the demo; deleted with the sandbox.
    pub(super) folder: PathBuf,
    kubeconfig: PathBuf,
    membership: (&'static str, PathBuf),
    running: Vec<(&'static str, Child)>,
    /// The compartment for resources in the cloud.
    pub(super) compartment: String,
}

impl Processes {
    /// Starts everything for the sandbox of `layout`.
    pub(super) fn start(layout: &Layout) -> Result<Self, Failure> {
        let folder = layout.root().join("demo");
        fs::create_dir_all(&folder)?;
        let (variable, root) = layout.membership_variable();
        let mut processes = Self {
            program: own_executable()?,
            folder,
            kubeconfig: layout.kubeconfig(),
            membership: (variable, root.to_owned()),
            running: Vec::new(),
            compartment: String::new(),
        };
        processes.start_all()?;
        Ok(processes)
    }

    fn start_all(&mut self) -> Result<(), Failure> {
        let cloud = self.start_server("oci-server", &["oci-server", "--retry-after", "1"])?;
        self.compartment = text(&cloud["compartment"]);
        let certificates = self.folder.join("certs");
        let made = self
            .command(&["certs", "--name", "function-demo", "--san", "127.0.0.1", "--out"])
            .arg(&certificates)
            .output()?;
        if !made.status.success() {
            return Err(untrue(format!("plimsoll certs failed: {}", String::from_utf8_lossy(&made.stderr))));
        }
        let server = certificates.join("server").display().to_string();
        let function = self.start_server(
            "function",
            &["function", "demo", "--listen", "127.0.0.1:0", "--certs-dir", &server],
        )?;
        let client = certificates.join("client").display().to_string();
        let mut operator = self.command(&["operator", "--install-crds", "--poll-interval", "1s"]);
        operator
            .args(["--metrics-address", "off", "--health-address", "off"])
            .args(["--oci-endpoint", &text(&cloud["url"])])
            .args(["--function", &format!("function-demo={}", text(&function["address"]))])
            .args(["--function-certs-dir", &client])
            .env("OCI_CONFIG_FILE_PATH", text(&cloud["configFile"]));
        self.spawn("operator", operator, Stdio::null()).map(drop)
    }

    /// Starts a server that prints its address as a line of JSON.
    fn start_server(&mut self, name: &'static str, arguments: &[&str]) -> Result<Value, Failure> {
        let command = self.command(arguments);
        let child = self.spawn(name, command, Stdio::piped())?;
        let stdout = child.stdout.take().expect("standard output is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        serde_json::from_str(&line)
            .map_err(|_| untrue(format!("{name} did not start: {}", self.log_tail(name))))
    }

    fn spawn(
        &mut self,
        name: &'static str,
        mut command: Command,
        stdout: Stdio,
    ) -> Result<&mut Child, Failure> {
        let log = File::create(self.log(name))?;
        let child = command.stdin(Stdio::null()).stdout(stdout).stderr(log).spawn()?;
        self.running.push((name, child));
        Ok(&mut self.running.last_mut().expect("it was just added").1)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.folder).env("KUBECONFIG", &self.kubeconfig);
        command.env(self.membership.0, &self.membership.1).env_remove("RUST_LOG");
        command
    }

    /// The error if one of the processes has ended.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        let ended = self.running.iter_mut().find_map(|(name, child)| Some((*name, child.try_wait().ok()??)));
        match ended {
            None => Ok(()),
            Some((name, status)) => {
                Err(untrue(format!("{name} ended with {status}: {}", self.log_tail(name))))
            }
        }
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    fn log_tail(&self, name: &str) -> String {
        let log = fs::read_to_string(self.log(name)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }

    /// Keeps the processes running; `sandbox down` ends them.
    pub(super) fn detach(&mut self) {
        self.running.clear();
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }
}

/// Ends the processes that are not kept.
impl Drop for Processes {
    fn drop(&mut self) {
        for (_, child) in &mut self.running {
            // Either it ends now, or it has already ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
