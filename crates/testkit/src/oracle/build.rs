//! Builds `tools/oracle` once per change of its sources, whoever asks first.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::gobuild::{self, Binary, Module};
use sandbox::{Environment, NoHome};

/// Why there is no oracle to ask.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// There is no place for the program.
    #[error(transparent)]
    NoHome(#[from] NoHome),
    /// The sources cannot be read.
    #[error("cannot read {}", path.display())]
    Sources {
        /// Which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Go is missing or said no.
    #[error("these tests compare with Go libraries (Go is at https://go.dev/dl)")]
    Build(#[from] gobuild::Error),
    /// The program does not start.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// The path of the program, built if its sources have changed since.
pub(super) fn build() -> Result<PathBuf, BuildError> {
    let environment = Environment::from_process()?;
    let files = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/oracle"))?;
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let module = Module {
        name: "oracle",
        files: &files,
        binaries: &[Binary { package: ".", file: "oracle", links: &[] }],
        ldflags: "",
        cold_build: Duration::from_secs(60),
    };
    Ok(module.ensure(&environment.cache, &environment.path, &mut |_| {})?.join("oracle"))
}

/// The files of the module, sorted by name, which is what its cache folder is named after.
fn sources(folder: &Path) -> Result<Vec<(String, String)>, BuildError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| BuildError::Sources { path, source }
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.is_file() {
            let text = fs::read_to_string(&path).map_err(at(&path))?;
            files.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text));
        }
    }
    files.sort();
    Ok(files)
}
