//! Kills the processes of a sandbox and removes its folder.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use super::FOLDER_VARIABLE;
use crate::control_plane::change_lock::ChangeLock;
use crate::control_plane::error::Error;
use crate::control_plane::layout::{Layout, Name, open_private};
use crate::control_plane::process::{ProcessIdentity, with_variable};
use crate::control_plane::state::StateFile;
use crate::folder;

/// Time for a supervisor to stop its children.
const GRACE_PERIOD: Duration = Duration::from_secs(10);
/// Time for the kernel to end a process after SIGKILL.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// Ends every process of the sandbox, whether or not its supervisor is alive, and removes its folder.
pub(super) fn clean(layout: &Layout, name: &Name) -> Result<(), Error> {
    ask_to_exit(layout)?;
    let recorded = StateFile::read(layout).map_or_else(
        |_| Vec::new(),
        |state| {
            let children = state.processes.into_iter().map(|child| child.process);
            std::iter::once(state.supervisor).chain(children).collect()
        },
    );
    kill(layout, name, &recorded)?;
    // A killed supervisor may have started a child in the meantime; it cannot start another one.
    kill_members(layout, name)?;
    folder::remove(layout.root()).map_err(Error::files("remove", layout.root()))
}

/// Asks the supervisor to exit and waits for it; [`clean`] kills one that does not.
pub(super) fn ask_to_exit(layout: &Layout) -> Result<(), Error> {
    let Some(supervisor) = StateFile::read(layout).ok().and_then(|state| state.supervisor.open()) else {
        return Ok(());
    };
    supervisor
        .signal(Signal::TERM)
        .and_then(|()| supervisor.wait(GRACE_PERIOD))
        .map(drop)
        .map_err(Error::files("stop the supervisor of", layout.root()))
}

/// Leaves a marker for the client that is about to start the sandbox; returns whether there is such a client.
pub(super) fn cancel_start(layout: &Layout) -> Result<bool, Error> {
    if !layout.lock().exists() {
        return Ok(false);
    }
    if let Some(lock) = ChangeLock::try_take(layout).map_err(Error::files("lock", &layout.lock()))? {
        // The lock file is all that is left of the sandbox.
        lock.remove();
        return Ok(false);
    }
    let marker = layout.cancel_marker();
    open_private(&marker).map_err(Error::files("write", &marker)).map(|_| true)
}

/// Removes the marker of [`cancel_start`], if there is one.
pub(super) fn clear_cancellation(layout: &Layout) -> Result<(), Error> {
    let marker = layout.cancel_marker();
    folder::ignore_missing(fs::remove_file(&marker)).map_err(Error::files("remove", &marker))
}

/// Kills every other process that carries the sandbox's environment variable.
pub(in crate::control_plane) fn kill_members(layout: &Layout, name: &Name) -> Result<(), Error> {
    kill(layout, name, &[])
}

fn kill(layout: &Layout, name: &Name, recorded: &[ProcessIdentity]) -> Result<(), Error> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut members = with_variable(FOLDER_VARIABLE, layout.root());
    members.retain(|process| process.pid != own);
    let handles: Vec<_> =
        recorded.iter().chain(&members).filter_map(|process| Some((process.pid, process.open()?))).collect();
    let failed = || Error::files("kill the processes of", layout.root());
    for (_, process) in &handles {
        process.signal(Signal::KILL).map_err(failed())?;
    }
    for (pid, process) in handles {
        if !process.wait(KILL_TIMEOUT).map_err(failed())? {
            return Err(Error::NotStopped { name: name.clone(), pid });
        }
    }
    Ok(())
}
