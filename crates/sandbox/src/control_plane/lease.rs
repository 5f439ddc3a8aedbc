//! Leases keep a sandbox running: locks that the kernel releases when their holder dies.

use std::fs::{self, File};
use std::io;
use std::time::{Duration, Instant};

use super::error::Error;
use super::layout::{Layout, Name, open_private};
use super::lifecycle::inspect;
use super::status::SandboxState;
use crate::Environment;
use crate::lock::is_at;

/// Keeps a sandbox that was started with a linger time running until it is dropped.
#[derive(Debug)]
pub struct Lease {
    /// Closing it releases the lock.
    file: File,
}

impl Lease {
    /// Takes a lease on the running sandbox `name`.
    pub fn hold(environment: &Environment, name: &Name) -> Result<Self, Error> {
        let path = Layout::new(environment, name).lease();
        let not_running = |state| Error::NotRunning { name: name.clone(), state };
        let file = File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => not_running(None),
            _ => Error::files("open", &path)(error),
        })?;
        file.lock_shared().map_err(Error::files("lock", &path))?;
        let lease = Self { file };
        // The supervisor holds the lock exclusively when it decides to stop, so a sandbox that is ready now stays ready,
        // unless the file belongs to an earlier sandbox that is gone.
        let status = inspect(environment, name)?;
        match status.map(|status| status.state) {
            Some(SandboxState::Ready) if is_at(&lease.file, &path) => Ok(lease),
            state => Err(not_running(state)),
        }
    }

    /// Takes a lease on a sandbox that is starting or about to start.
    pub(crate) fn on_start(layout: &Layout) -> Result<Self, Error> {
        let path = layout.lease();
        let file = open_private(&path).map_err(Error::files("open", &path))?;
        file.lock_shared().map_err(Error::files("lock", &path))?;
        Ok(Self { file })
    }
}

/// Waits until no lease was held for `linger`; returns the exclusive lock that blocks new leases.
pub(crate) async fn expired(layout: &Layout, linger: Duration) -> io::Result<File> {
    let file = open_private(&layout.lease())?;
    let interval = (linger / 4).clamp(Duration::from_millis(100), Duration::from_millis(500));
    let mut last_held = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) if last_held.elapsed() >= linger => return Ok(file),
            Ok(()) => file.unlock()?,
            Err(fs::TryLockError::WouldBlock) => last_held = Instant::now(),
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
        tokio::time::sleep(interval).await;
    }
}
