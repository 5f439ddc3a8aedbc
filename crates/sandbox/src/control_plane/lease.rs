//! Who needs the sandbox: a lock that the kernel gives back when its holder dies.

use std::fs::{self, File};
use std::io;
use std::time::{Duration, Instant};

use super::error::Error;
use super::layout::{Layout, Name, open_private};
use super::lifecycle::inspect;
use super::state::Standing;
use crate::Environment;
use crate::lock::is_at;

/// Keeps a sandbox that was started with a linger time from ending. Dropping it gives it up.
#[derive(Debug)]
pub struct Lease {
    /// Closing it gives the lock back.
    file: File,
}

impl Lease {
    /// Holds on to the running sandbox `name`.
    pub fn hold(environment: &Environment, name: &Name) -> Result<Self, Error> {
        let path = Layout::new(environment, name).lease();
        let not_running = |standing| Error::NotRunning { name: name.clone(), standing };
        let file = File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => not_running(None),
            _ => Error::files("open", &path)(error),
        })?;
        file.lock_shared().map_err(Error::files("lock", &path))?;
        let lease = Self { file };
        // The supervisor decides to end while it holds the lock for itself alone, so what is seen now stays true;
        // unless the file is that of a sandbox that has come and gone.
        let status = inspect(environment, name)?;
        match status.map(|status| status.state) {
            Some(Standing::Ready) if is_at(&lease.file, &path) => Ok(lease),
            standing => Err(not_running(standing)),
        }
    }

    /// Holds on to a sandbox that is about to start, or that is starting.
    pub(crate) fn begin(layout: &Layout) -> Result<Self, Error> {
        let path = layout.lease();
        let file = open_private(&path).map_err(Error::files("open", &path))?;
        file.lock_shared().map_err(Error::files("lock", &path))?;
        Ok(Self { file })
    }
}

/// Returns once nobody has held a lease for `linger`, with the lock that keeps new holders out.
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
