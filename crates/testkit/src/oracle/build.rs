//! Builds `tools/oracle` once per change of its sources, whoever asks first.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use thiserror::Error;

/// Why there is no oracle to ask.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Go is not installed.
    #[error(
        "these tests compare with Go libraries and need Go: install it from https://go.dev/dl and put `go` on PATH"
    )]
    NoGo(#[source] io::Error),
    /// Go said no.
    #[error("`go build` failed in {}:\n{output}", directory.display())]
    Failed {
        /// Where it was run.
        directory: PathBuf,
        /// What it said.
        output: String,
    },
    /// The cache or the sources could not be used.
    #[error("cannot use {}", path.display())]
    File {
        /// Which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The program does not start.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is no place for the cache.
    #[error("neither XDG_CACHE_HOME nor HOME is set, so there is no place for the oracle")]
    NoHome,
}

/// The path of the program, built if its sources have changed since.
pub(super) fn build() -> Result<PathBuf, BuildError> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/oracle");
    let directory = cache()?.join("plimsoll/oracle").join(hash(&sources)?);
    let program = directory.join(format!("oracle{}", std::env::consts::EXE_SUFFIX));
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| BuildError::File { path, source }
    };
    fs::create_dir_all(&directory).map_err(at(&directory))?;
    let lock_path = directory.join("lock");
    let lock = File::create(&lock_path).map_err(at(&lock_path))?;
    // Test processes run side by side; the first builds, the others wait. The lock goes with the file.
    lock.lock().map_err(at(&lock_path))?;
    if !program.exists() {
        let unfinished = directory.join("unfinished");
        compile(&sources, &unfinished)?;
        fs::rename(&unfinished, &program).map_err(at(&program))?;
    }
    Ok(program)
}

fn compile(sources: &Path, program: &Path) -> Result<(), BuildError> {
    let output = Command::new("go")
        .args(["build", "-o"])
        .arg(program)
        .arg(".")
        .current_dir(sources)
        .output()
        .map_err(BuildError::NoGo)?;
    if output.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(BuildError::Failed { directory: sources.to_owned(), output })
}

/// A name for the state of the sources.
fn hash(sources: &Path) -> Result<String, BuildError> {
    let at = |source| BuildError::File { path: sources.to_owned(), source };
    let mut files: Vec<PathBuf> = fs::read_dir(sources)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(at)?;
    files.retain(|path| path.is_file());
    files.sort();
    let mut hasher = Sha256::new();
    for path in files {
        let content = fs::read(&path).map_err(|source| BuildError::File { path: path.clone(), source })?;
        hasher.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        hasher.update(content.len().to_le_bytes());
        hasher.update(content);
    }
    let digest = hasher.finalize();
    Ok(digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat())
}

fn cache() -> Result<PathBuf, BuildError> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("XDG_CACHE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))
        .ok_or(BuildError::NoHome)
}
