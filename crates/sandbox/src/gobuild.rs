//! Builds Go programs into a cache folder named after their sources, once, however many ask.
//!
//! The control plane, the oracle of the test suite and OpenTofu all come from Go modules; this is the one way to get
//! them. A folder appears by a rename, so a build that was cut short is never taken for a finished one.

mod command;
mod event;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

pub use event::Event;

use crate::lock;

/// A Go module: its sources, what to build of it, and how long that takes.
#[derive(Clone, Copy, Debug)]
pub struct Module<'a> {
    /// The name people read and the cache folder it lives in, for instance `control-plane`.
    pub name: &'a str,
    /// The files of the module: path relative to its root, and content.
    pub files: &'a [(&'a str, &'a str)],
    /// The programs to build.
    pub programs: &'a [Program<'a>],
    /// Extra flags for the linker; `-s -w` are always given.
    pub ldflags: &'a str,
    /// What the first build takes on a machine of two cores with empty Go caches.
    pub cold_build: Duration,
}

/// One program of a module.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The package to build, for instance `./kwok`.
    pub package: &'a str,
    /// The file it becomes.
    pub file: &'a str,
    /// Further names for that file.
    pub links: &'a [&'a str],
}

/// Why there is no build.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no Go toolchain.
    #[error("no `go` on PATH to build {module} with")]
    NoGo {
        /// The module that was to be built.
        module: String,
    },
    /// The cache folder cannot be written.
    #[error("cannot write to the cache folder {}", path.display())]
    Cache {
        /// The file or folder at fault.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody builds the module right now.
    #[error("{module} is being built by another process")]
    Busy {
        /// The module.
        module: String,
    },
    /// `go` could not be run at all.
    #[error("cannot run {}", go.display())]
    Run {
        /// The toolchain that was found.
        go: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// `go` ran and failed.
    #[error("building {module} failed: `{command}` ended with {status}")]
    Failed {
        /// The module that was to be built.
        module: String,
        /// The command as one would type it.
        command: String,
        /// The exit status.
        status: String,
        /// The last lines `go` wrote.
        output: Vec<String>,
    },
}

impl Module<'_> {
    /// The folder the build of exactly these sources lives in, under the cache folder `cache`.
    pub fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(self.name).join(self.hash())
    }

    /// The folder with the finished build, if it is there and whole.
    pub fn cached(&self, cache: &Path) -> Option<PathBuf> {
        let folder = self.folder(cache);
        self.is_whole(&folder).then_some(folder)
    }

    /// The folder with the finished build; builds it with the `go` on `path` unless it is cached.
    pub fn ensure(
        &self,
        cache: &Path,
        path: &OsStr,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<PathBuf, Error> {
        if let Some(folder) = self.cached(cache) {
            return Ok(folder);
        }
        let go = find_program("go", path).ok_or_else(|| Error::NoGo { module: self.name.to_owned() })?;
        let folder = self.folder(cache);
        let parent = cache.join(self.name);
        let _lock = self.lock(&parent, on_event)?;
        // Whoever held the lock before may have built what we need.
        if self.is_whole(&folder) {
            return Ok(folder);
        }
        self.clear_leftovers(&parent)?;
        self.build(&go, &parent, &folder, on_event)?;
        Ok(folder)
    }

    fn build(
        &self,
        go: &Path,
        parent: &Path,
        folder: &Path,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), Error> {
        let started = Instant::now();
        on_event(Event::Started { module: self.name.to_owned(), estimate: self.cold_build });
        let work = parent.join(format!("{}.build-{}", self.hash(), std::process::id()));
        let sources = work.join("src");
        let built = work.join("bin");
        make_folder(&built)?;
        for (name, content) in self.files {
            let path = sources.join(name);
            make_folder(path.parent().expect("a file in the sources folder has a parent"))?;
            fs::write(&path, content).map_err(at(&path))?;
        }
        command::build(self, go, &sources, &built, on_event)?;
        for program in self.programs {
            for link in program.links {
                let path = built.join(link);
                symlink(program.file, &path).map_err(at(&path))?;
            }
        }
        // What stands there was found not to be whole.
        remove_folder(folder)?;
        fs::rename(&built, folder).map_err(at(folder))?;
        remove_folder(&work)?;
        on_event(Event::Finished { module: self.name.to_owned(), elapsed: started.elapsed() });
        Ok(())
    }

    /// Waits until nobody else builds the same sources, or removes what was built.
    fn lock(&self, parent: &Path, on_event: &mut dyn FnMut(Event)) -> Result<File, Error> {
        let path = parent.join(format!("{}.lock", self.hash()));
        let open = || {
            make_private(parent)?;
            File::options().create(true).append(true).open(&path)
        };
        let on_wait = || on_event(Event::Waiting { module: self.name.to_owned() });
        lock::wait(&path, open, on_wait).map_err(at(parent))
    }

    /// Removes what builds of the same sources left behind when they were killed; the lock is ours.
    fn clear_leftovers(&self, parent: &Path) -> Result<(), Error> {
        let prefix = format!("{}.build-", self.hash());
        for entry in fs::read_dir(parent).map_err(at(parent))? {
            let entry = entry.map_err(at(parent))?;
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                remove_folder(&entry.path())?;
            }
        }
        Ok(())
    }

    fn is_whole(&self, folder: &Path) -> bool {
        self.programs
            .iter()
            .flat_map(|program| std::iter::once(&program.file).chain(program.links))
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
        for program in self.programs {
            part(program.package);
            part(program.file);
            program.links.iter().for_each(|link| part(link));
        }
        let digest = hash.finalize();
        let first = digest.first_chunk().expect("a SHA-256 has 32 bytes");
        format!("{:016x}", u64::from_be_bytes(*first))
    }
}

/// The first executable file called `name` in the folders of `path`, which is in the form of `PATH`.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

/// Removes every build of the module called `name`, unless one is going on; returns how many bytes that gave back.
pub fn remove(cache: &Path, name: &str) -> Result<u64, Error> {
    let folder = cache.join(name);
    if !folder.exists() {
        return Ok(0);
    }
    let mut locks = Vec::new();
    for entry in fs::read_dir(&folder).map_err(at(&folder))? {
        let path = entry.map_err(at(&folder))?.path();
        if path.extension().is_some_and(|extension| extension == "lock") {
            let file = File::open(&path).map_err(at(&path))?;
            file.try_lock().map_err(|_| Error::Busy { module: name.to_owned() })?;
            locks.push(file);
        }
    }
    let size = size_of(&folder).map_err(at(&folder))?;
    remove_folder(&folder)?;
    Ok(size)
}

fn size_of(path: &Path) -> io::Result<u64> {
    let meta = fs::symlink_metadata(path)?;
    if !meta.is_dir() {
        return Ok(meta.len());
    }
    fs::read_dir(path)?.map(|entry| size_of(&entry?.path())).sum()
}

/// Whether `path` is a file that somebody may execute.
pub(crate) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn make_folder(path: &Path) -> Result<(), Error> {
    make_private(path).map_err(at(path))
}

fn make_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn remove_folder(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Cache { path: path.clone(), source }
}

#[cfg(test)]
mod tests;
