//! Locks on files that may be removed, and made again, while somebody waits for them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The lock on the file at `path`, which `open` opens or makes; `on_wait` hears of it when somebody else has it.
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
        // Whoever had it may have removed the file, and then the next to come locks another one.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Whether the open `file` is the one at `path`, and not one that has been removed or replaced.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let same = || Some(file.metadata().ok()?.ino() == fs::metadata(path).ok()?.ino());
    same().unwrap_or(false)
}
