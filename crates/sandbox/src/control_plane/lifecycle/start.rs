//! Starts a supervisor and waits until its sandbox is ready.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::FOLDER_VARIABLE;
use crate::control_plane::error::Error;
use crate::control_plane::event::LifecycleEvent;
use crate::control_plane::layout::{Layout, Name, open_private, write_private};
use crate::control_plane::logs::last_lines;
use crate::control_plane::options::SupervisorOptions;
use crate::control_plane::process::ProcessIdentity;
use crate::control_plane::state::{Failure, Phase, StateFile};
use crate::control_plane::status::Status;

/// Between two reads of the state file.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Reports a port that is not available at once instead of after a failed start.
pub(super) fn check_port(port: Option<u16>) -> Result<(), Error> {
    let Some(port) = port else { return Ok(()) };
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map(drop).map_err(|source| Error::Port { port, source })
}

/// Starts a supervisor for the sandbox in the folder of `layout`, in which nothing is running yet.
pub(super) fn start(
    layout: &Layout,
    options: &SupervisorOptions,
    on_event: &mut dyn FnMut(LifecycleEvent),
) -> Result<Status, Error> {
    let cannot = |action| Error::files(action, layout.root());
    let text = serde_json::to_vec_pretty(options).map_err(io::Error::from).map_err(cannot("write to"))?;
    write_private(&layout.options(), &text).map_err(cannot("write to"))?;
    let log = open_private(&layout.supervisor_log()).map_err(cannot("write to"))?;
    let executable = &options.request.executable;
    let mut child = Command::new(executable)
        .args(["sandbox", "supervise"])
        .arg(layout.root())
        .current_dir(layout.root())
        .env(FOLDER_VARIABLE, layout.root())
        .env_remove("KUBECONFIG")
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(cannot("write to"))?)
        .stderr(log)
        .spawn()
        .map_err(|source| Error::Executable { path: executable.clone(), source })?;
    let supervisor = i32::try_from(child.id()).map_err(io::Error::other).and_then(ProcessIdentity::of);
    let supervisor = supervisor.map_err(cannot("identify the supervisor of"))?;
    // Reaps the supervisor if this process outlives it.
    thread::spawn(move || child.wait());
    wait(layout, &options.request.name, &supervisor, on_event)
}

/// The error of a start that `down` has ended.
pub(super) fn stopped(layout: &Layout, name: &Name) -> Error {
    let failure = Failure::new("it was stopped in the meantime");
    Error::Failed { name: name.clone(), failure, logs: layout.logs() }
}

/// Waits for a sandbox that another process has started.
pub(super) fn join(
    layout: &Layout,
    name: &Name,
    on_event: &mut dyn FnMut(LifecycleEvent),
) -> Result<Status, Error> {
    match StateFile::read(layout) {
        Ok(state) => wait(layout, name, &state.supervisor, on_event),
        Err(_) => Err(Error::NotRunning { name: name.clone(), state: None }),
    }
}

fn wait(
    layout: &Layout,
    name: &Name,
    supervisor: &ProcessIdentity,
    on_event: &mut dyn FnMut(LifecycleEvent),
) -> Result<Status, Error> {
    let failed = |failure| Error::Failed { name: name.clone(), failure, logs: layout.logs() };
    let mut last_step = None;
    loop {
        // Checked before the state file is read, so that the supervisor's last write is seen.
        let running = supervisor.is_running();
        match StateFile::read(layout) {
            Ok(StateFile { phase: Phase::Starting { step }, .. }) if last_step != Some(step) => {
                last_step = Some(step);
                on_event(LifecycleEvent::Step(step));
            }
            Ok(state @ StateFile { phase: Phase::Ready { .. }, .. }) if running => {
                return Ok(Status::new(layout, state));
            }
            Ok(StateFile { phase: Phase::Failed { failure }, .. }) => return Err(failed(failure)),
            _ if !running && !layout.root().exists() => return Err(stopped(layout, name)),
            _ if !running => {
                let log = last_lines(&layout.supervisor_log());
                return Err(failed(Failure { log, ..Failure::new("its supervisor exited") }));
            }
            _ => {}
        }
        thread::sleep(POLL_INTERVAL);
    }
}
