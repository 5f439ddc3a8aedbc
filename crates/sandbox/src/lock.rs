//! Locks on files that may be removed and recreated while another process waits for them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Locks the file at `path`, which `open` opens or creates; calls `on_wait` if another process holds the lock.
pub(crate) fn wait(
    path: &Path,
    open: impl Fn() -> io::Result<File>,
    mut on_wait: impl FnMut(),
) -> io::Result<File> {
    loop {
        let file = open()?;
        if file.try_lock().is_err() {
            on_wait();
            file.lock()?;
        }
        // The previous holder may have removed the file, in which case the next process locks a different one.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Whether the open `file` is still the one at `path`, rather than one that was removed or replaced.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let same = || Some(file.metadata().ok()?.ino() == fs::metadata(path).ok()?.ino());
    same().unwrap_or(false)
}
