//! The programs as child processes: started, watched, ended.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rustix::process::Signal;
use tokio::process::{ChildStdin, Command};
use tokio::sync::mpsc;

use crate::control_plane::layout::{Layout, open_private};
use crate::control_plane::lifecycle::MARK;
use crate::control_plane::logs::last_lines;
use crate::control_plane::process::Identity;
use crate::control_plane::programs::Program;
use crate::control_plane::state::Failure;

/// All children that were started and have not been seen to end.
pub(super) struct Children {
    layout: Layout,
    running: Vec<Child>,
    ends: mpsc::UnboundedReceiver<(Program, io::Result<ExitStatus>)>,
    report: mpsc::UnboundedSender<(Program, io::Result<ExitStatus>)>,
}

struct Child {
    program: Program,
    process: Identity,
    /// The child ends when this closes; holding it is what owning the child means.
    _stdin: Option<ChildStdin>,
}

impl Children {
    pub(super) fn new(layout: Layout) -> Self {
        let (report, ends) = mpsc::unbounded_channel();
        Self { layout, running: Vec::new(), ends, report }
    }

    /// Starts `program`; its output goes to its log.
    pub(super) fn start(
        &mut self,
        program: Program,
        path: &Path,
        arguments: &[String],
    ) -> Result<Identity, Failure> {
        self.try_start(program, path, arguments).map_err(|error| {
            let reason = format!("cannot be started from {}: {error}", path.display());
            Failure { program: Some(program), ..Failure::because(reason) }
        })
    }

    fn try_start(&mut self, program: Program, path: &Path, arguments: &[String]) -> io::Result<Identity> {
        let log = open_private(&self.layout.log(program))?;
        let mut child = Command::new(path)
            .args(arguments)
            .current_dir(self.layout.root())
            .env("PLIMSOLL_EXIT_WITH_STDIN", "1")
            .env(MARK, self.layout.root())
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        let process = Identity::of(pid.expect("a child that was not waited for has a pid"))?;
        self.running.push(Child { program, process: process.clone(), _stdin: child.stdin.take() });
        let report = self.report.clone();
        tokio::spawn(async move {
            // Nobody listens any more once the supervisor is done.
            let _ = report.send((program, child.wait().await));
        });
        Ok(process)
    }

    /// Waits until a child has ended, which none should before it is told to.
    pub(super) async fn first_end(&mut self) -> Failure {
        let (program, status) = self.ends.recv().await.expect("`self.report` keeps the channel open");
        self.running.retain(|child| child.program != program);
        let reason = match status {
            Ok(status) => format!("ended with {status}"),
            Err(error) => format!("cannot be waited for: {error}"),
        };
        let log = last_lines(&self.layout.log(program));
        Failure { program: Some(program), log, ..Failure::because(reason) }
    }

    /// The outcome of `work`, unless a child ends first.
    pub(super) async fn unless_one_ends<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            outcome = work => Ok(outcome),
            failure = self.first_end() => Err(failure),
        }
    }

    /// Ends all of them and waits until they have ended, so that their ports are free again.
    pub(super) async fn end(&mut self) -> io::Result<()> {
        for child in &self.running {
            // Nothing they hold outlives the sandbox, so they need no time to say goodbye.
            if let Some(process) = child.process.open() {
                process.signal(Signal::KILL)?;
            }
        }
        while !self.running.is_empty() {
            let (program, _) = self.ends.recv().await.expect("`self.report` keeps the channel open");
            self.running.retain(|child| child.program != program);
        }
        Ok(())
    }
}
