//! Quoted patterns in `-f`, as in `-f 'manifests/*.yaml'`, which kubectl expands by itself, too.

use std::fs;
use std::path::{Component, Path, PathBuf};

use diag::Diagnostic;
use globset::GlobBuilder;

use super::unreadable;
use crate::codes;
use crate::support::exit::Failure;

/// The paths that a pattern matches, sorted; a path that exists, or is no pattern, stands for itself.
pub(super) fn expand(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let text = path.to_string_lossy();
    if !text.contains(['*', '?', '[']) || path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    let no_match = |why: &str| {
        let title = format!("no file matches {text}");
        Failure::from(Diagnostic::error(codes::FILE_UNREADABLE, title).detail(why.to_owned()))
    };
    let glob = GlobBuilder::new(&text).literal_separator(true).build();
    let glob =
        glob.map_err(|error| no_match(&format!("The pattern is invalid: {error}.")))?.compile_matcher();
    let is_fixed = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    let start: PathBuf = path.components().take_while(is_fixed).collect();
    let mut found = Vec::new();
    let mut folders = vec![if start.as_os_str().is_empty() { PathBuf::from(".") } else { start }];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))? {
            let entry = entry.map_err(|error| unreadable(&folder, &error))?.path();
            let entry = entry.strip_prefix(".").map(Path::to_owned).unwrap_or(entry);
            if glob.is_match(&entry) {
                found.push(entry);
            } else if entry.is_dir() {
                folders.push(entry);
            }
        }
    }
    found.sort();
    if found.is_empty() { Err(no_match("Check the pattern, and that it is quoted.")) } else { Ok(found) }
}
