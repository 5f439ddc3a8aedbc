//! Ends what is left of a sandbox and removes its folder.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::process::Signal;

use super::MARK;
use crate::control_plane::change_lock::ChangeLock;
use crate::control_plane::error::Error;
use crate::control_plane::layout::{Layout, Name, open_private};
use crate::control_plane::process::{Identity, with_variable};
use crate::control_plane::state::State;

/// How long a supervisor may take to end its children when asked.
const POLITE: Duration = Duration::from_secs(10);
/// How long the kernel may take to end a process that was killed.
const FORCED: Duration = Duration::from_secs(10);

/// Ends every process of the sandbox, whether its supervisor still lives or not, and removes its folder.
pub(super) fn clean(layout: &Layout, name: &Name) -> Result<(), Error> {
    ask_to_end(layout)?;
    let state = State::read(layout).ok();
    let recorded = state.map_or_else(Vec::new, |state| {
        let children = state.processes.into_iter().map(|running| running.process);
        std::iter::once(state.supervisor).chain(children).collect()
    });
    end(layout, name, &recorded)?;
    // A killed supervisor may have started a child after we looked; now there is nobody left to start one.
    end_members(layout, name)?;
    match fs::remove_dir_all(layout.root()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::files("remove", layout.root())(error))
        }
        _ => Ok(()),
    }
}

/// Asks the supervisor to end and gives it time to; one that does not is left to [`clean`].
pub(super) fn ask_to_end(layout: &Layout) -> Result<(), Error> {
    let Some(process) = State::read(layout).ok().and_then(|state| state.supervisor.open()) else {
        return Ok(());
    };
    process
        .signal(Signal::TERM)
        .and_then(|()| process.wait(POLITE))
        .map(drop)
        .map_err(Error::files("stop the supervisor of", layout.root()))
}

/// Leaves word for whoever is about to start the sandbox; whether there is anybody.
pub(super) fn call_off(layout: &Layout) -> Result<bool, Error> {
    let path = layout.called_off();
    if !layout.lock().exists() {
        return Ok(false);
    }
    match ChangeLock::try_take(layout).map_err(Error::files("lock", &layout.lock()))? {
        // Nobody changes it, and nothing of it is there: the lock is all that is left.
        Some(lock) => {
            lock.remove();
            Ok(false)
        }
        None => open_private(&path).map_err(Error::files("write", &path)).map(|_| true),
    }
}

/// Removes the word that [`call_off`] left, if there is one.
pub(super) fn forget_calling_off(layout: &Layout) -> Result<(), Error> {
    match fs::remove_file(layout.called_off()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::files("remove", &layout.called_off())(error))
        }
        _ => Ok(()),
    }
}

/// Ends every other process that says of itself that it belongs to the sandbox.
pub(in crate::control_plane) fn end_members(layout: &Layout, name: &Name) -> Result<(), Error> {
    end(layout, name, &[])
}

fn end(layout: &Layout, name: &Name, recorded: &[Identity]) -> Result<(), Error> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut marked = with_variable(MARK, layout.root());
    marked.retain(|process| process.pid != own);
    let held: Vec<_> =
        recorded.iter().chain(&marked).filter_map(|process| Some((process.pid, process.open()?))).collect();
    for (_, process) in &held {
        process.signal(Signal::KILL).map_err(Error::files("end the processes of", layout.root()))?;
    }
    for (pid, process) in held {
        if !process.wait(FORCED).map_err(Error::files("end the processes of", layout.root()))? {
            return Err(Error::NotStopped { name: name.clone(), pid });
        }
    }
    Ok(())
}
