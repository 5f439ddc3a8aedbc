//! Starts, stops and inspects sandboxes from the outside.

mod cleanup;
mod start;

use std::fs;
use std::io;

use diag::Diagnostic;

pub(super) use cleanup::kill_members;

use super::change_lock::ChangeLock;
use super::error::Error;
use super::event::LifecycleEvent;
use super::layout::{self, Layout, Name};
use super::lease::Lease;
use super::options::{SupervisorOptions, UpRequest};
use super::process::with_variable;
use super::programs;
use super::state::{ReadError, StateFile};
use super::status::{SandboxState, Status};
use crate::{CONTROL_PLANE, Environment, codes, folder, gobuild};

/// The environment variable that every process of a sandbox carries; its value is the sandbox's folder.
pub(super) const FOLDER_VARIABLE: &str = "PLIMSOLL_SANDBOX_FOLDER";

/// A sandbox that is ready.
#[derive(Debug)]
pub struct Up {
    pub status: Status,
    /// Keeps it running, if it was started with a linger time.
    pub lease: Lease,
    /// Whether this call started it; otherwise it was already running.
    pub started: bool,
    /// Requested options that a sandbox that was already running does not have: `port`, `audit log`, and so on.
    pub differences: Vec<&'static str>,
}

impl Up {
    /// Warns if the sandbox was already running with different options.
    pub fn warning(&self) -> Option<Diagnostic> {
        if self.differences.is_empty() {
            return None;
        }
        let name = &self.status.name;
        let summary = format!("sandbox {name} is already running with different options");
        let warning = Diagnostic::warning(codes::DIFFERS, summary)
            .detail(format!("These options differ: {}.", self.differences.join(", ")))
            .hint(format!("To change them, stop it first with `plimsoll sandbox down --name {name}`."));
        Some(warning)
    }
}

/// Returns the sandbox once it is ready; starts it if it is not running.
pub fn up(
    environment: &Environment,
    request: &UpRequest,
    on_event: &mut dyn FnMut(LifecycleEvent),
) -> Result<Up, Error> {
    let layout = Layout::new(environment, &request.name);
    let lock = ChangeLock::wait(&layout, &request.name, on_event)?;
    // A marker from earlier was meant for a client that is gone.
    cleanup::clear_cancellation(&layout)?;
    let up = up_locked(environment, request, &layout, on_event);
    cleanup::clear_cancellation(&layout)?;
    if up.is_err() && !layout.root().exists() {
        lock.remove();
    }
    up
}

/// Does the work of [`up`] with the lock held.
fn up_locked(
    environment: &Environment,
    request: &UpRequest,
    layout: &Layout,
    on_event: &mut dyn FnMut(LifecycleEvent),
) -> Result<Up, Error> {
    let running = |status: Status, lease| {
        let differences =
            StateFile::read(layout).map_or_else(|_| Vec::new(), |state| differences(&state, request));
        Up { status, lease, started: false, differences }
    };
    let status = inspect(environment, &request.name)?;
    match status.as_ref().map(|status| status.state) {
        Some(SandboxState::Ready) => match (Lease::hold(environment, &request.name), status) {
            (Ok(lease), Some(status)) => return Ok(running(status, lease)),
            // It has decided to stop in the meantime.
            (Err(Error::NotRunning { .. }), _) | (_, None) => cleanup::clean(layout, &request.name)?,
            (Err(error), _) => return Err(error),
        },
        // The client that started it was killed while waiting.
        Some(SandboxState::Starting) => {
            let lease = Lease::on_start(layout)?;
            let status = start::join(layout, &request.name, on_event)?;
            return Ok(running(status, lease));
        }
        remains => {
            if let Some(state) = remains {
                on_event(LifecycleEvent::Cleaning { name: request.name.clone(), state });
            }
            cleanup::clean(layout, &request.name)?;
        }
    }
    start::check_port(request.port)?;
    let programs = programs::locate(environment, &mut |event| on_event(LifecycleEvent::Build(event)))?;
    let options = SupervisorOptions { request: request.clone(), programs };
    folder::create_private(&layout.logs()).map_err(Error::files("write to", layout.root()))?;
    // Checked only now: from here on `down` finds the folder; before, it leaves the marker.
    if layout.cancel_marker().exists() {
        cleanup::clean(layout, &request.name)?;
        return Err(start::stopped(layout, &request.name));
    }
    let lease = Lease::on_start(layout)?;
    let status = start::start(layout, &options, on_event)?;
    Ok(Up { status, lease, started: true, differences: Vec::new() })
}

/// The options of `request` that a running sandbox does not have.
fn differences(state: &StateFile, request: &UpRequest) -> Vec<&'static str> {
    let actual = &state.options.request;
    let other_port = |port: u16| !state.server.ends_with(&format!(":{port}"));
    [
        (request.port.is_some_and(other_port), "port"),
        (request.audit && !actual.audit, "audit log"),
        (request.linger.is_none() && actual.linger.is_some(), "linger time"),
        (request.apiserver_args != actual.apiserver_args, "API server flags"),
    ]
    .into_iter()
    .filter_map(|(differs, what)| differs.then_some(what))
    .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownOutcome {
    /// A running sandbox was stopped, or the remains of one were removed.
    Stopped,
    /// A client was still building the programs, and will not start the sandbox.
    Cancelled,
    NotFound,
}

/// Stops the sandbox and removes everything that belongs to it.
pub fn down(
    environment: &Environment,
    name: &Name,
    on_event: &mut dyn FnMut(LifecycleEvent),
) -> Result<DownOutcome, Error> {
    let layout = Layout::new(environment, name);
    // If the folder was removed by hand, there may still be processes.
    if !layout.root().exists() && with_variable(FOLDER_VARIABLE, layout.root()).is_empty() {
        if !cleanup::cancel_start(&layout)? {
            return Ok(DownOutcome::NotFound);
        }
        // The start may have begun in the meantime, without seeing the marker.
        if !layout.root().exists() {
            return Ok(DownOutcome::Cancelled);
        }
    }
    // Before taking the lock, which a client that waits for the start holds: this ends its wait.
    cleanup::ask_to_exit(&layout)?;
    let lock = ChangeLock::wait(&layout, name, on_event)?;
    cleanup::clean(&layout, name)?;
    lock.remove();
    Ok(DownOutcome::Stopped)
}

/// The status of the sandbox; none if it does not exist.
pub fn inspect(environment: &Environment, name: &Name) -> Result<Option<Status>, Error> {
    let layout = Layout::new(environment, name);
    match StateFile::read(&layout) {
        Ok(state) => Ok(Some(Status::new(&layout, state))),
        Err(ReadError::Missing) => Ok(None),
        Err(ReadError::Io(error)) => Err(Error::files("read", &layout.state())(error)),
        Err(ReadError::Damaged(_)) => Ok(Some(Status::damaged(&layout, name))),
    }
}

/// All sandboxes, sorted by name.
pub fn list(environment: &Environment) -> Result<Vec<Status>, Error> {
    let sandboxes = layout::sandboxes(environment);
    let entries = match fs::read_dir(&sandboxes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::files("read", &sandboxes))?,
    };
    let mut names: Vec<Name> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    names.sort();
    names.iter().filter_map(|name| inspect(environment, name).transpose()).collect()
}

/// Removes the built programs; returns the number of bytes freed.
pub fn purge(environment: &Environment) -> Result<u64, Error> {
    // A sandbox may have been started with a different cache folder.
    let in_use = |status: &Status| {
        status.supervisor.is_some()
            && status.programs.iter().any(|program| program.path.starts_with(&environment.cache))
    };
    let names: Vec<Name> = list(environment)?.into_iter().filter(in_use).map(|status| status.name).collect();
    if !names.is_empty() {
        return Err(Error::CacheInUse { names });
    }
    gobuild::remove(&environment.cache, CONTROL_PLANE.name).map_err(Error::Build)
}

#[cfg(test)]
mod tests;
