//! Starts a supervisor and waits until its sandbox is ready.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::MARK;
use crate::control_plane::error::Error;
use crate::control_plane::event::Event;
use crate::control_plane::layout::{Layout, Name, open_private, write_private};
use crate::control_plane::logs::last_lines;
use crate::control_plane::process::Identity;
use crate::control_plane::state::{Failure, Options, Phase, State, Status};

/// The pause between two looks at the state file.
const PAUSE: Duration = Duration::from_millis(10);

/// Says at once that the port asked for cannot be had, instead of after a failed start.
pub(super) fn check_port(port: Option<u16>) -> Result<(), Error> {
    let Some(port) = port else { return Ok(()) };
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map(drop).map_err(|source| Error::Port { port, source })
}

/// Starts a supervisor for the sandbox in the folder of `layout`, in which nothing runs yet.
pub(super) fn start(
    layout: &Layout,
    options: &Options,
    executable: &Path,
    on_event: &mut dyn FnMut(Event),
) -> Result<Status, Error> {
    let in_folder = |action| Error::files(action, layout.root());
    let text = serde_json::to_vec_pretty(options).map_err(io::Error::from).map_err(in_folder("write to"))?;
    write_private(&layout.options(), &text).map_err(in_folder("write to"))?;
    let log = open_private(&layout.supervisor_log()).map_err(in_folder("write to"))?;
    let mut child = Command::new(executable)
        .args(["sandbox", "supervise"])
        .arg(layout.root())
        .current_dir(layout.root())
        .env(MARK, layout.root())
        .env_remove("KUBECONFIG")
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(in_folder("write to"))?)
        .stderr(log)
        .spawn()
        .map_err(|source| Error::Executable { path: executable.to_owned(), source })?;
    let supervisor = i32::try_from(child.id()).map_err(io::Error::other).and_then(Identity::of);
    let supervisor = supervisor.map_err(in_folder("look at the supervisor of"))?;
    // Reaps it when it ends, should this process live that long.
    thread::spawn(move || child.wait());
    wait(layout, &options.name, &supervisor, on_event)
}

/// A start that somebody has ended on purpose.
pub(super) fn stopped(layout: &Layout, name: &Name) -> Error {
    let failure = Failure::because("it was stopped meanwhile");
    Error::Failed { name: name.clone(), failure, logs: layout.logs() }
}

/// Waits for a sandbox that another process has begun to start.
pub(super) fn join(layout: &Layout, name: &Name, on_event: &mut dyn FnMut(Event)) -> Result<Status, Error> {
    match State::read(layout) {
        Ok(state) => wait(layout, name, &state.supervisor, on_event),
        Err(_) => Err(Error::NotRunning { name: name.clone(), standing: None }),
    }
}

fn wait(
    layout: &Layout,
    name: &Name,
    supervisor: &Identity,
    on_event: &mut dyn FnMut(Event),
) -> Result<Status, Error> {
    let failed = |failure| Error::Failed { name: name.clone(), failure, logs: layout.logs() };
    let mut last_step = None;
    loop {
        // Looked at first, so that the last thing it wrote is seen.
        let runs = supervisor.is_running();
        match State::read(layout) {
            Ok(State { phase: Phase::Starting { step }, .. }) if last_step != Some(step) => {
                last_step = Some(step);
                on_event(Event::Step(step));
            }
            Ok(state @ State { phase: Phase::Ready { .. }, .. }) if runs => {
                return Ok(Status::new(layout, state));
            }
            Ok(State { phase: Phase::Failed { failure }, .. }) => return Err(failed(failure)),
            _ if !runs && !layout.root().exists() => return Err(stopped(layout, name)),
            _ if !runs => {
                let log = last_lines(&layout.supervisor_log());
                return Err(failed(Failure { log, ..Failure::because("its supervisor ended") }));
            }
            _ => {}
        }
        thread::sleep(PAUSE);
    }
}
