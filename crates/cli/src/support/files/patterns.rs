//! Quoted patterns in `-f`, as in `-f 'manifests/*.yaml'`, which kubectl expands by itself, too.

use std::fs;
use std::path::{Component, Path, PathBuf};

use diag::Diagnostic;
use globset::{GlobBuilder, GlobMatcher};

use super::unreadable;
use crate::codes;
use crate::support::exit::Failure;

/// The paths that a pattern matches, sorted; a path that exists, or is not a pattern, stands for itself.
pub(super) fn expand(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let text = path.to_string_lossy();
    if !is_pattern(&text) || path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    let no_match = |why: &str| {
        let title = format!("no file matches {text}");
        Failure::from(Diagnostic::error(codes::FILE_UNREADABLE, title).detail(why.to_owned()))
    };
    let parts = path.components().filter(|part| *part != Component::CurDir).map(Part::read);
    let parts: Vec<Part<'_>> = parts
        .collect::<Result<_, globset::Error>>()
        .map_err(|error| no_match(&format!("The pattern is invalid: {error}.")))?;
    let mut found = Vec::new();
    find(Path::new(""), &parts, &mut found)?;
    found.sort();
    found.dedup();
    if found.is_empty() { Err(no_match("Check the pattern, and that it is quoted.")) } else { Ok(found) }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// One part of a pattern between slashes.
enum Part<'p> {
    Fixed(Component<'p>),
    Pattern(GlobMatcher),
    /// `**`: any number of folders.
    Folders,
}

impl<'p> Part<'p> {
    fn read(part: Component<'p>) -> Result<Self, globset::Error> {
        let text = part.as_os_str().to_string_lossy();
        Ok(match &*text {
            "**" => Self::Folders,
            pattern if is_pattern(pattern) => {
                Self::Pattern(GlobBuilder::new(pattern).build()?.compile_matcher())
            }
            _ => Self::Fixed(part),
        })
    }
}

/// Adds the paths below `folder` that match, and reads no folder that cannot contain one.
fn find(folder: &Path, parts: &[Part<'_>], found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let Some((first, rest)) = parts.split_first() else {
        found.push(folder.to_owned());
        return Ok(());
    };
    match first {
        Part::Fixed(part) => {
            let path = folder.join(part);
            if path.exists() { find(&path, rest, found) } else { Ok(()) }
        }
        Part::Pattern(pattern) => {
            for entry in entries(folder)? {
                let is_match = entry.file_name().is_some_and(|name| pattern.is_match(name));
                if is_match && (rest.is_empty() || entry.is_dir()) {
                    find(&entry, rest, found)?;
                }
            }
            Ok(())
        }
        Part::Folders => {
            if !rest.is_empty() {
                find(folder, rest, found)?;
            }
            for entry in entries(folder)? {
                // A link may lead back up, without end.
                if entry.is_dir() && !entry.is_symlink() {
                    find(&entry, parts, found)?;
                } else if rest.is_empty() {
                    found.push(entry);
                }
            }
            Ok(())
        }
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entry = |entry: std::io::Result<fs::DirEntry>| Ok(folder.join(entry?.file_name()));
    let read = fs::read_dir(here).and_then(|entries| entries.map(entry).collect());
    read.map_err(|error| unreadable(here, &error))
}
