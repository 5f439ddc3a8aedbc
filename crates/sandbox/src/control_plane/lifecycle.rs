//! Starts, stops and looks at sandboxes from the outside.

mod cleaning;
mod starting;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use diag::Diagnostic;

pub(super) use cleaning::end_members;

use super::change_lock::ChangeLock;
use super::error::Error;
use super::event::Event;
use super::layout::{self, Layout, Name, make_private_folder};
use super::lease::Lease;
use super::process::with_variable;
use super::programs::{self, MODULE};
use super::state::{Options, ReadError, Standing, State, Status};
use crate::{Environment, codes, gobuild};

/// The variable that every process of a sandbox carries, with the sandbox's folder as its value.
pub(super) const MARK: &str = "PLIMSOLL_SANDBOX_FOLDER";

/// How a sandbox is to be.
#[derive(Clone, Debug)]
pub struct UpRequest {
    /// Its name.
    pub name: Name,
    /// The API server's port; a free one if absent.
    pub port: Option<u16>,
    /// Whether the API server writes an audit log.
    pub audit: bool,
    /// How long it outlives the last [`Lease`]; it stays until [`down`] if absent.
    pub linger: Option<Duration>,
    /// Further flags for the API server, without the dashes.
    pub apiserver_args: Vec<(String, String)>,
    /// How long the start may take, without the build.
    pub timeout: Duration,
    /// The executable that has the command `sandbox supervise FOLDER`, which calls [`super::supervise`].
    pub executable: PathBuf,
}

impl UpRequest {
    /// A sandbox called `name` as it usually is, supervised by `executable`.
    pub fn new(name: Name, executable: PathBuf) -> Self {
        Self {
            name,
            port: None,
            audit: false,
            linger: None,
            apiserver_args: Vec::new(),
            timeout: Duration::from_secs(120),
            executable,
        }
    }
}

/// A sandbox that is ready.
#[derive(Debug)]
pub struct Up {
    /// How it is.
    pub status: Status,
    /// Keeps it, if it was started with a linger time.
    pub lease: Lease,
    /// Whether it was started by this call; otherwise it was there already.
    pub started: bool,
    /// What was asked for and is not so, because it was there already: `port`, `audit log`, and so on.
    pub differences: Vec<&'static str>,
}

impl Up {
    /// Says that the sandbox is not quite what was asked for, if it is not.
    pub fn warning(&self) -> Option<Diagnostic> {
        if self.differences.is_empty() {
            return None;
        }
        let name = &self.status.name;
        let summary = format!("sandbox {name} runs already, and not as it was asked for");
        let warning = Diagnostic::warning(codes::DIFFERS, summary)
            .detail(format!("It was started with other options: {}.", self.differences.join(", ")))
            .hint(format!("Stop it first with `plimsoll sandbox down --name {name}`."));
        Some(warning)
    }
}

/// Makes sure that the sandbox runs and is ready; starts it if it does not.
pub fn up(
    environment: &Environment,
    request: &UpRequest,
    on_event: &mut dyn FnMut(Event),
) -> Result<Up, Error> {
    let layout = Layout::new(environment, &request.name);
    let lock = ChangeLock::wait(&layout, &request.name, on_event)?;
    // Whoever it was meant for is gone.
    cleaning::forget_calling_off(&layout)?;
    let up = up_alone(environment, request, &layout, on_event);
    cleaning::forget_calling_off(&layout)?;
    if up.is_err() && !layout.root().exists() {
        lock.remove();
    }
    up
}

/// Does the work of [`up`] while nobody else changes the sandbox.
fn up_alone(
    environment: &Environment,
    request: &UpRequest,
    layout: &Layout,
    on_event: &mut dyn FnMut(Event),
) -> Result<Up, Error> {
    let there = |status: Status, lease| {
        let differences =
            State::read(layout).map_or_else(|_| Vec::new(), |state| differences(&state, request));
        Up { status, lease, started: false, differences }
    };
    let found = inspect(environment, &request.name)?;
    match found.as_ref().map(|status| status.state) {
        Some(Standing::Ready) => match (Lease::hold(environment, &request.name), found) {
            (Ok(lease), Some(status)) => return Ok(there(status, lease)),
            // It decided to end at this very moment.
            (Err(Error::NotRunning { .. }), _) | (_, None) => cleaning::clean(layout, &request.name)?,
            (Err(error), _) => return Err(error),
        },
        // Whoever started it was killed while it waited.
        Some(Standing::Starting) => {
            let lease = Lease::begin(layout)?;
            let status = starting::join(layout, &request.name, on_event)?;
            return Ok(there(status, lease));
        }
        left => {
            if let Some(standing) = left {
                on_event(Event::Cleaning { name: request.name.clone(), standing });
            }
            cleaning::clean(layout, &request.name)?;
        }
    }
    starting::check_port(request.port)?;
    let options = Options {
        name: request.name.clone(),
        programs: programs::find(environment, &mut |event| on_event(Event::Build(event)))?,
        port: request.port,
        audit: request.audit,
        linger: request.linger,
        apiserver_args: request.apiserver_args.clone(),
        timeout: request.timeout,
    };
    make_private_folder(&layout.logs()).map_err(Error::files("write to", layout.root()))?;
    // Only now: from here on `down` finds the folder, and before it leaves its word for us.
    if layout.called_off().exists() {
        cleaning::clean(layout, &request.name)?;
        return Err(starting::stopped(layout, &request.name));
    }
    let lease = Lease::begin(layout)?;
    let status = starting::start(layout, &options, &request.executable, on_event)?;
    Ok(Up { status, lease, started: true, differences: Vec::new() })
}

/// What of `request` is not so in a sandbox that runs already.
fn differences(state: &State, request: &UpRequest) -> Vec<&'static str> {
    let other_port = |port: u16| !state.server.ends_with(&format!(":{port}"));
    [
        (request.port.is_some_and(other_port), "port"),
        (request.audit && !state.options.audit, "audit log"),
        (request.linger.is_none() && state.options.linger.is_some(), "linger time"),
        (request.apiserver_args != state.options.apiserver_args, "API server flags"),
    ]
    .into_iter()
    .filter_map(|(differs, what)| differs.then_some(what))
    .collect()
}

/// What [`down`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down {
    /// There was something to stop or to clean.
    Stopped,
    /// It was about to start, and will not: whoever starts it is still building its programs.
    CalledOff,
    /// There was nothing.
    NotThere,
}

/// Stops the sandbox and removes everything of it.
pub fn down(environment: &Environment, name: &Name, on_event: &mut dyn FnMut(Event)) -> Result<Down, Error> {
    let layout = Layout::new(environment, name);
    // Without its folder there may still be processes, if somebody has removed it by hand.
    if !layout.root().exists() && with_variable(MARK, layout.root()).is_empty() {
        if !cleaning::call_off(&layout)? {
            return Ok(Down::NotThere);
        }
        // It may have begun to start at this very moment, without having seen our word.
        if !layout.root().exists() {
            return Ok(Down::CalledOff);
        }
    }
    // Before the lock, which belongs to whoever waits for a start: this ends the wait.
    cleaning::ask_to_end(&layout)?;
    let lock = ChangeLock::wait(&layout, name, on_event)?;
    cleaning::clean(&layout, name)?;
    lock.remove();
    Ok(Down::Stopped)
}

/// How the sandbox stands; nothing if there is none.
pub fn inspect(environment: &Environment, name: &Name) -> Result<Option<Status>, Error> {
    let layout = Layout::new(environment, name);
    match State::read(&layout) {
        Ok(state) => Ok(Some(Status::new(&layout, state))),
        Err(ReadError::Missing) => Ok(None),
        Err(ReadError::Io(error)) => Err(Error::files("read", &layout.state())(error)),
        Err(ReadError::Damaged(_)) => Ok(Some(Status::damaged(&layout, name))),
    }
}

/// Every sandbox there is, by name.
pub fn list(environment: &Environment) -> Result<Vec<Status>, Error> {
    let folder = layout::all(environment);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::files("read", &folder))?,
    };
    let mut names: Vec<Name> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    names.sort();
    names.iter().filter_map(|name| inspect(environment, name).transpose()).collect()
}

/// Removes the built programs; returns how many bytes that gave back.
pub fn purge(environment: &Environment) -> Result<u64, Error> {
    // A sandbox may have been started with another cache folder.
    let in_use = |status: &Status| {
        status.supervisor.is_some()
            && status.programs.iter().any(|program| program.found.path.starts_with(&environment.cache))
    };
    let names: Vec<Name> = list(environment)?.into_iter().filter(in_use).map(|status| status.name).collect();
    if !names.is_empty() {
        return Err(Error::CacheInUse { names });
    }
    gobuild::remove(&environment.cache, MODULE.name).map_err(Error::Build)
}

#[cfg(test)]
mod tests;
