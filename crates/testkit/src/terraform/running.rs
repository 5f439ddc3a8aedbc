//! A command that is still running, to be interrupted or to lose its providers.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::Run;

#[derive(Debug)]
pub struct Running {
    command: String,
    child: Child,
    stdout: BufReader<ChildStdout>,
    seen: String,
}

impl Running {
    pub(super) fn start(command: &mut Command) -> Self {
        let shown = format!("{command:?}");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{shown}: {error}"));
        let stdout = BufReader::new(child.stdout.take().expect("the stream is piped"));
        Self { command: shown, child, stdout, seen: String::new() }
    }

    /// Interrupts the client, as Ctrl-C does, and waits until it confirms that.
    ///
    /// # Panics
    ///
    /// If it exits without doing so.
    pub fn interrupt(&mut self) {
        signal(self.child.id(), Signal::INT);
        self.wait_for("Interrupt received");
    }

    /// Waits until the client has printed `text`.
    ///
    /// # Panics
    ///
    /// If it exits before.
    pub fn wait_for(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let read = self.stdout.read_line(&mut self.seen).expect("clients print text");
            assert!(read > 0, "{} exited without printing {text:?}:\n{}", self.command, self.seen);
        }
    }

    /// Kills the providers that the client has started.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn kill_providers(&self) {
        let providers = providers_of(self.child.id());
        assert!(!providers.is_empty(), "{} has no running provider", self.command);
        for provider in providers {
            signal(provider, Signal::KILL);
        }
    }

    pub fn wait(mut self) -> Run {
        // The client would block if the pipe of its standard error were full.
        let stderr = self.child.stderr.take().expect("the stream is piped");
        let errors = std::thread::spawn(move || {
            let mut errors = Vec::new();
            let _closed = BufReader::new(stderr).read_to_end(&mut errors);
            errors
        });
        let mut stdout = self.seen.into_bytes();
        let _closed = self.stdout.read_to_end(&mut stdout);
        let stderr = errors.join().expect("reading does not panic");
        let status = self.child.wait().expect("it is a child of this process");
        Run::from_output(self.command, &Output { status, stdout, stderr })
    }
}

/// The child processes of `client` that are providers.
fn providers_of(client: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("there is a /proc").flatten();
    let ids = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
        // After the name, which may contain anything and ends with the last parenthesis, come the state and the parent.
        let stat = read("stat");
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        parent == Some(client) && read("cmdline").contains("terraform-provider-")
    })
    .collect()
}

fn signal(process: u32, signal: Signal) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process has an id");
    // It may have exited in the meantime.
    let _exited = kill_process(pid, signal);
}
