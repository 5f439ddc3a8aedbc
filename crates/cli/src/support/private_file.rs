//! Files that only their owner may read, on every system.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file that only its owner may read: all of it, or nothing. Nothing but a regular file is replaced: a device or a
/// link would be gone for every other program.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it exists, and is not a regular file"));
    }
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    let written = create(&beside).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&beside, path)
    });
    if written.is_err() {
        let _gone = fs::remove_file(&beside);
    }
    written
}

#[cfg(unix)]
fn create(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Elsewhere the folder decides who may read it.
#[cfg(not(unix))]
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Whether the mode of the file lets others read or write it.
#[cfg(unix)]
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

/// Elsewhere files have no mode.
#[cfg(not(unix))]
pub(crate) fn is_open_to_others(_: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("folder")).unwrap();
        fs::write(path("old"), "old").unwrap();
        std::os::unix::fs::symlink(path("old"), path("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        for (name, expected) in
            [("new", true), ("old", true), ("folder", false), ("link", false), ("socket", false)]
        {
            assert_eq!(write(&path(name), b"plan").is_ok(), expected, "{name}");
        }
        assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
        assert_eq!(fs::read(path("old")).unwrap(), b"plan");
        assert!(!is_open_to_others(&path("old")), "also where others could read the former file");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5, "nothing is left beside them");
    }
}
