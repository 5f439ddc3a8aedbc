//! A command of a client that is going on, and what can happen to it meanwhile.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::Run;

/// A command that has been started.
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
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { command: shown, child, stdout, seen: String::new() }
    }

    /// Interrupts the client, as Ctrl-C does, and waits until it says that it has heard.
    ///
    /// # Panics
    ///
    /// If it ends without a word about it.
    pub fn interrupt(&mut self) {
        signal(self.child.id(), Signal::INT);
        self.until("Interrupt received");
    }

    /// Waits until the client has printed `words`.
    ///
    /// # Panics
    ///
    /// If it ends before.
    pub fn until(&mut self, words: &str) {
        while !self.seen.contains(words) {
            let read = self.stdout.read_line(&mut self.seen).expect("clients print text");
            assert!(read > 0, "{} ended without having printed {words:?}:\n{}", self.command, self.seen);
        }
    }

    /// Kills the providers that the client has started, without a chance to do anything about it.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn kill_providers(&self) {
        let providers = providers_of(self.child.id());
        assert!(!providers.is_empty(), "{} has no provider running", self.command);
        for provider in providers {
            signal(provider, Signal::KILL);
        }
    }

    /// How it ended.
    pub fn wait(mut self) -> Run {
        // The other end would wait for us otherwise, should it have a lot to say.
        let stderr = self.child.stderr.take().expect("it is piped");
        let errors = std::thread::spawn(move || {
            let mut errors = Vec::new();
            let _gone = BufReader::new(stderr).read_to_end(&mut errors);
            errors
        });
        let mut stdout = self.seen.into_bytes();
        let _gone = self.stdout.read_to_end(&mut stdout);
        let stderr = errors.join().expect("reading does not panic");
        let status = self.child.wait().expect("it was started here");
        Run::ended(self.command, &Output { status, stdout, stderr })
    }
}

/// The processes that `client` has started and that are called like providers.
fn providers_of(client: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("there is a /proc").flatten();
    let ids = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
        // After the name, which may hold anything and ends with the last bracket, come the state and the parent.
        let stat = read("stat");
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        parent == Some(client) && read("cmdline").contains("terraform-provider-")
    })
    .collect()
}

fn signal(process: u32, signal: Signal) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process has an id");
    // One that has ended in between needs no signal.
    let _ended = kill_process(pid, signal);
}
