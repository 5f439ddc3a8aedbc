//! Builds Go programs into a cache folder named after their sources, once, even if many processes ask for them.
//!
//! The control plane, the oracle of the test suite and OpenTofu all come from Go modules; this is the one way to get
//! them. A build appears by a rename, so an interrupted one is never mistaken for a finished one.

mod command;
mod event;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

pub use event::BuildEvent;

use crate::{folder, lock};

/// A file in the folder of every build: the hash of what it was built from.
const SOURCES: &str = "sources";

/// A Go module to build.
#[derive(Clone, Copy, Debug)]
pub struct Module<'a> {
    /// For people, and for the cache folder: `control-plane`.
    pub name: &'a str,
    /// Path relative to the module's root, and content.
    pub files: &'a [(&'a str, &'a str)],
    pub binaries: &'a [Binary<'a>],
    /// In addition to `-s -w`.
    pub ldflags: &'a str,
    /// Duration of a build on two cores with empty Go caches.
    pub cold_build: Duration,
}

/// An executable built from a package of a module.
#[derive(Clone, Copy, Debug)]
pub struct Binary<'a> {
    /// For instance `./kwok`.
    pub package: &'a str,
    pub file: &'a str,
    /// Further names for the file.
    pub links: &'a [&'a str],
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot build {module}: no `go` on PATH")]
    NoGo { module: String },
    #[error("cannot write to the cache folder {}", path.display())]
    Cache { path: PathBuf, source: io::Error },
    #[error("another process is building {module}")]
    Busy { module: String },
    /// `go` could not be started.
    #[error("cannot run {}", go.display())]
    Run { go: PathBuf, source: io::Error },
    /// `go` reported an error.
    #[error("building {module} failed: `{command}` ended with {status}")]
    Failed {
        module: String,
        command: String,
        status: String,
        /// The last lines that `go` wrote.
        output: Vec<String>,
    },
}

impl Module<'_> {
    /// The folder for a build of exactly these sources, below the cache folder `cache`.
    pub fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(self.name).join(self.hash())
    }

    /// The folder with the finished build, if there is a complete one.
    pub fn cached(&self, cache: &Path) -> Option<PathBuf> {
        let folder = self.folder(cache);
        self.is_complete(&folder).then_some(folder)
    }

    /// Whether `folder` has a complete build of exactly these sources, made here or on another machine.
    pub fn is_in(&self, folder: &Path) -> bool {
        let sources = fs::read_to_string(folder.join(SOURCES));
        sources.is_ok_and(|sources| sources.trim() == self.hash()) && self.is_complete(folder)
    }

    /// Builds the module with the `go` on `path` for another machine, whose processor Go calls `architecture`, into `folder`.
    pub fn export(&self, path: &OsStr, architecture: &str, folder: &Path) -> Result<(), Error> {
        let go = find_program("go", path).ok_or_else(|| Error::NoGo { module: self.name.to_owned() })?;
        let work = tempfile::tempdir().map_err(at(&std::env::temp_dir()))?;
        self.compile(&go, Some(architecture), work.path(), folder, &mut |_| ())
    }

    /// Builds the module with the `go` on `path` unless it is cached; returns the folder.
    pub fn ensure(
        &self,
        cache: &Path,
        path: &OsStr,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<PathBuf, Error> {
        if let Some(folder) = self.cached(cache) {
            return Ok(folder);
        }
        let go = find_program("go", path).ok_or_else(|| Error::NoGo { module: self.name.to_owned() })?;
        let target = self.folder(cache);
        let parent = cache.join(self.name);
        let _lock = self.lock(&parent, on_event)?;
        // The previous holder of the lock may have built it.
        if !self.is_complete(&target) {
            self.remove_leftovers(&parent)?;
            self.build(&go, &parent, &target, on_event)?;
        }
        Ok(target)
    }

    fn build(
        &self,
        go: &Path,
        parent: &Path,
        target: &Path,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<(), Error> {
        let started = Instant::now();
        on_event(BuildEvent::Started { module: self.name.to_owned(), estimate: self.cold_build });
        let work = parent.join(format!("{}.build-{}", self.hash(), std::process::id()));
        let built = work.join("bin");
        self.compile(go, None, &work.join("src"), &built, on_event)?;
        // An existing folder is an incomplete build.
        folder::remove(target).map_err(at(target))?;
        fs::rename(&built, target).map_err(at(target))?;
        folder::remove(&work).map_err(at(&work))?;
        on_event(BuildEvent::Finished { module: self.name.to_owned(), elapsed: started.elapsed() });
        Ok(())
    }

    /// Writes the sources to one folder, and a build of them to another.
    fn compile(
        &self,
        go: &Path,
        architecture: Option<&str>,
        sources: &Path,
        built: &Path,
        on_event: &mut dyn FnMut(BuildEvent),
    ) -> Result<(), Error> {
        folder::create_private(built).map_err(at(built))?;
        for (name, content) in self.files {
            let path = sources.join(name);
            let parent = path.parent().expect("a file in the sources folder has a parent");
            folder::create_private(parent).map_err(at(parent))?;
            fs::write(&path, content).map_err(at(&path))?;
        }
        command::build(self, &command::Go { program: go, architecture, sources }, built, on_event)?;
        for binary in self.binaries {
            for link in binary.links {
                let path = built.join(link);
                symlink(binary.file, &path).map_err(at(&path))?;
            }
        }
        let mark = built.join(SOURCES);
        fs::write(&mark, format!("{}\n", self.hash())).map_err(at(&mark))
    }

    /// Waits until no other process builds these sources or removes a build of them.
    fn lock(&self, parent: &Path, on_event: &mut dyn FnMut(BuildEvent)) -> Result<File, Error> {
        let path = parent.join(format!("{}.lock", self.hash()));
        let open = || {
            folder::create_private(parent)?;
            File::options().create(true).append(true).open(&path)
        };
        let on_wait = || on_event(BuildEvent::Waiting { module: self.name.to_owned() });
        lock::wait(&path, open, on_wait).map_err(at(parent))
    }

    /// Removes what killed builds of the same sources left behind. The caller holds the lock.
    fn remove_leftovers(&self, parent: &Path) -> Result<(), Error> {
        let prefix = format!("{}.build-", self.hash());
        for entry in fs::read_dir(parent).map_err(at(parent))? {
            let entry = entry.map_err(at(parent))?;
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                folder::remove(&entry.path()).map_err(at(&entry.path()))?;
            }
        }
        Ok(())
    }

    fn is_complete(&self, folder: &Path) -> bool {
        self.binaries
            .iter()
            .flat_map(|binary| std::iter::once(&binary.file).chain(binary.links))
            .all(|name| is_executable(&folder.join(name)))
    }

    fn hash(&self) -> String {
        let mut hash = Sha256::new();
        let mut part = |text: &str| {
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        };
        for (name, content) in self.files {
            part(name);
            part(content);
        }
        part(self.ldflags);
        for binary in self.binaries {
            part(binary.package);
            part(binary.file);
            binary.links.iter().for_each(|link| part(link));
        }
        let digest = hash.finalize();
        let first = digest.first_chunk().expect("a SHA-256 has 32 bytes");
        format!("{:016x}", u64::from_be_bytes(*first))
    }
}

/// The first executable file called `name` on the search path `path`.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

/// Removes every build of the module called `name` unless one is in progress; returns the number of bytes freed.
pub fn remove(cache: &Path, name: &str) -> Result<u64, Error> {
    let builds = cache.join(name);
    if !builds.exists() {
        return Ok(0);
    }
    let mut locks = Vec::new();
    for entry in fs::read_dir(&builds).map_err(at(&builds))? {
        let path = entry.map_err(at(&builds))?.path();
        if path.extension().is_some_and(|extension| extension == "lock") {
            let file = File::open(&path).map_err(at(&path))?;
            file.try_lock().map_err(|_| Error::Busy { module: name.to_owned() })?;
            locks.push(file);
        }
    }
    let size = size_of(&builds).map_err(at(&builds))?;
    folder::remove(&builds).map_err(at(&builds))?;
    Ok(size)
}

fn size_of(path: &Path) -> io::Result<u64> {
    let meta = fs::symlink_metadata(path)?;
    if !meta.is_dir() {
        return Ok(meta.len());
    }
    fs::read_dir(path)?.map(|entry| size_of(&entry?.path())).sum()
}

pub(crate) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn at(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Cache { path: path.clone(), source }
}

#[cfg(test)]
mod tests;
