//! Builds `tools/oracle`, once per change of its sources.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use sandbox::Environment;
use sandbox::gobuild::{Binary, Module};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/oracle");

/// The path of the program.
pub(super) fn build() -> PathBuf {
    let environment = Environment::from_process().expect("tests have a home folder");
    let files = sources();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let module = Module {
        name: "oracle",
        files: &files,
        binaries: &[Binary { package: ".", file: "oracle", links: &[] }],
        ldflags: "",
        cold_build: Duration::from_secs(60),
    };
    match module.ensure(&environment.cache, &environment.path, &mut |_| {}) {
        Ok(folder) => folder.join("oracle"),
        Err(error) => {
            panic!("these tests compare with Go libraries and need Go (https://go.dev/dl): {error:?}")
        }
    }
}

/// The files of the module, sorted because the name of its cache folder depends on their order.
fn sources() -> Vec<(String, String)> {
    let entries = fs::read_dir(SOURCES).expect("the sources of the oracle are in tools/oracle");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut files: Vec<_> = paths
        .filter(|path| path.is_file())
        .map(|path| {
            let text = fs::read_to_string(&path).expect("sources are text");
            (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text)
        })
        .collect();
    files.sort();
    files
}
