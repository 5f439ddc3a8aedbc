//! Expands file patterns: `*`, `?`, `[a-z]` and `{a,b}` in a name, `**` for any number of folders.

use std::fs;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// The regular files that match `pattern`, sorted. Unreadable folders count as empty.
pub(super) fn files(pattern: &str) -> Result<Vec<PathBuf>, globset::Error> {
    // Up to the first name with a wildcard, the pattern is the folder to search.
    let literal = &pattern[..pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len())];
    let (folder, names) = pattern.split_at(literal.rfind('/').map_or(0, |slash| slash + 1));
    let glob = GlobBuilder::new(names).literal_separator(true).build()?.compile_matcher();
    let levels = if names.contains("**") { None } else { Some(names.matches('/').count()) };
    let mut found = Vec::new();
    search(Path::new(folder), Path::new(""), &glob, levels, &mut found);
    found.sort();
    Ok(found)
}

/// Collects the matching files in the folder `below` of `root`, and `levels` of folders further down.
fn search(root: &Path, below: &Path, glob: &GlobMatcher, levels: Option<usize>, found: &mut Vec<PathBuf>) {
    let folder = root.join(below);
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let below = below.join(entry.file_name());
        let path = root.join(&below);
        if glob.is_match(&below) && path.is_file() {
            found.push(path);
            continue;
        }
        let is_folder = match levels {
            // Following links could loop.
            None => entry.file_type().is_ok_and(|kind| kind.is_dir()),
            Some(levels) => levels > 0 && path.is_dir(),
        };
        if is_folder {
            search(root, &below, glob, levels.map(|levels| levels - 1), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_regular_files_in_any_folder() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["a.yaml", "b.yml", "c.txt", "x/a.yaml", "x/y/d.yaml", ".hidden.yaml", "[1].yaml"] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir(folder.path().join("folder.yaml")).unwrap();
        let check = |pattern: &str, expected: &[&str]| {
            let found = files(&format!("{}/{pattern}", folder.path().display())).unwrap();
            let names: Vec<_> = found
                .iter()
                .map(|path| path.strip_prefix(folder.path()).unwrap().to_str().unwrap())
                .collect();
            assert_eq!(names, expected, "{pattern}");
        };
        check("a.yaml", &["a.yaml"]);
        check("*.yaml", &[".hidden.yaml", "[1].yaml", "a.yaml"]);
        check("?.{yaml,yml}", &["a.yaml", "b.yml"]);
        check("[ab].*", &["a.yaml", "b.yml"]);
        check("[!a].*", &["b.yml", "c.txt"]);
        check("\\[1\\].yaml", &["[1].yaml"]);
        check("*/a.yaml", &["x/a.yaml"]);
        check("**/a.yaml", &["a.yaml", "x/a.yaml"]);
        check("**/*.yaml", &[".hidden.yaml", "[1].yaml", "a.yaml", "x/a.yaml", "x/y/d.yaml"]);
        check("x/**", &["x/a.yaml", "x/y/d.yaml"]);
        check("{x,nowhere}/{a,b}.yaml", &["x/a.yaml"]);
        check("{b.yml,x/{a,b}.yaml}", &["b.yml", "x/a.yaml"]);
        check("x", &[]);
    }

    #[test]
    fn a_malformed_pattern_is_an_error() {
        let check = |pattern: &str, expected: &str| {
            assert_eq!(files(pattern).unwrap_err().kind().to_string(), expected, "{pattern}");
        };
        check("a[", "unclosed character class; missing ']'");
        check("a{b", "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
        check("a\\", "dangling '\\'");
        check("[z-a]", "invalid range; 'z' > 'a'");
    }
}
