//! Folders that only their owner can enter, and removing them.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Creates `path` and its missing parents with mode 0700.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Removes `path` and everything in it; a missing folder is not an error.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    ignore_missing(fs::remove_dir_all(path))
}

/// Turns "not found" into success.
pub(crate) fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
