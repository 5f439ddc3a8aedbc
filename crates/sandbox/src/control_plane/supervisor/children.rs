//! The programs as child processes.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use tokio::process::Command;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::control_plane::layout::{Layout, open_private};
use crate::control_plane::lifecycle::FOLDER_VARIABLE;
use crate::control_plane::logs::last_lines;
use crate::control_plane::process::ProcessIdentity;
use crate::control_plane::programs::Program;
use crate::control_plane::state::Failure;

pub(super) struct Children {
    layout: Layout,
    /// One task per child; it finishes when the child exits.
    running: JoinSet<(Program, io::Result<ExitStatus>)>,
    /// Makes the tasks kill their children.
    kill: watch::Sender<()>,
}

impl Children {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, running: JoinSet::new(), kill: watch::Sender::new(()) }
    }

    /// Starts `program` with its output going to its log.
    pub(super) fn start(
        &mut self,
        program: Program,
        path: &Path,
        arguments: &[String],
    ) -> Result<ProcessIdentity, Failure> {
        self.try_start(program, path, arguments).map_err(|error| {
            let reason = format!("cannot be started from {}: {error}", path.display());
            Failure { program: Some(program), ..Failure::new(reason) }
        })
    }

    fn try_start(
        &mut self,
        program: Program,
        path: &Path,
        arguments: &[String],
    ) -> io::Result<ProcessIdentity> {
        let log = open_private(&self.layout.log(program))?;
        let mut child = Command::new(path)
            .args(arguments)
            .current_dir(self.layout.root())
            .env("PLIMSOLL_EXIT_WITH_STDIN", "1")
            .env(FOLDER_VARIABLE, self.layout.root())
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        let process = ProcessIdentity::of(pid.expect("a child that was not waited for has a pid"))?;
        let mut kill = self.kill.subscribe();
        self.running.spawn(async move {
            // The child exits when its standard input closes, also if this process is killed. `wait` would close it.
            let _stdin = child.stdin.take();
            let killed = tokio::select! {
                status = child.wait() => return (program, status),
                _ = kill.changed() => child.kill().await,
            };
            (program, killed.and(child.wait().await))
        });
        Ok(process)
    }

    /// Waits until a child exits, which none should do before [`kill`](Self::kill).
    pub(super) async fn first_exit(&mut self) -> Failure {
        let exited = self.running.join_next().await.expect("the children run as long as the sandbox");
        let (program, status) = exited.expect("waiting for a child does not panic");
        let reason = match status {
            Ok(status) => format!("ended with {status}"),
            Err(error) => format!("cannot be waited for: {error}"),
        };
        let log = last_lines(&self.layout.log(program));
        Failure { program: Some(program), log, ..Failure::new(reason) }
    }

    /// The output of `work`, unless a child exits first.
    pub(super) async fn unless_one_exits<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            output = work => Ok(output),
            failure = self.first_exit() => Err(failure),
        }
    }

    /// Kills all children, whose data does not outlive the sandbox, and waits until their ports are free again.
    pub(super) async fn kill(&mut self) {
        self.kill.send_replace(());
        while self.running.join_next().await.is_some() {}
    }
}
