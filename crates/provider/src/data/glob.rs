//! Expands file patterns: `*`, `?`, `[a-z]` and `{a,b}` in a name, `**` for any number of folders.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct PatternError(&'static str);

/// The regular files that match `pattern`, sorted. Unreadable folders count as empty.
pub(super) fn files(pattern: &str) -> Result<Vec<PathBuf>, PatternError> {
    let mut found = BTreeSet::new();
    for plain in alternatives(pattern)? {
        let root = if plain.starts_with('/') { Path::new("/") } else { Path::new("") };
        let names = plain.split('/').filter(|name| !name.is_empty());
        let steps = names.map(Step::parse).collect::<Result<Vec<_>, _>>()?;
        walk(root, &steps, &mut found);
    }
    Ok(found.into_iter().collect())
}

/// The name of a folder or file in a pattern.
enum Step {
    /// `**`
    Folders,
    Name(String),
    Like(Regex),
}

impl Step {
    fn parse(name: &str) -> Result<Self, PatternError> {
        if name == "**" {
            return Ok(Self::Folders);
        }
        if !name.contains(['*', '?', '[', '\\']) {
            return Ok(Self::Name(name.to_owned()));
        }
        Regex::new(&expression(name)?)
            .map(Self::Like)
            .map_err(|_| PatternError("a range in [ ] is malformed"))
    }
}

/// The regular expression of a name with wildcards.
fn expression(name: &str) -> Result<String, PatternError> {
    let mut expression = "^".to_owned();
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            '\\' => {
                let escaped = letters.next().ok_or(PatternError("it ends in a backslash"))?;
                expression.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4])));
            }
            '[' => {
                let rest = letters.as_str();
                // A bracket in the first position is a literal.
                let first = rest.trim_start_matches(['!', '^']).chars().next().map_or(0, char::len_utf8);
                let skipped = rest.len() - rest.trim_start_matches(['!', '^']).len() + first;
                let end = rest[skipped..].find(']').ok_or(PatternError("a [ is never closed"))? + skipped;
                let (negation, class) = match rest[..end].strip_prefix(['!', '^']) {
                    Some(class) => ("^", class),
                    None => ("", &rest[..end]),
                };
                let class =
                    class.replace('[', "\\[").replace(']', "\\]").replace('&', "\\&").replace('~', "\\~");
                expression.extend(["[", negation, &class, "]"]);
                letters = rest[end + 1..].chars();
            }
            plain => expression.push_str(&regex::escape(plain.encode_utf8(&mut [0; 4]))),
        }
    }
    expression.push('$');
    Ok(expression)
}

/// Expands the braces of a pattern.
fn alternatives(pattern: &str) -> Result<Vec<String>, PatternError> {
    let Some(open) = find_plain(pattern, '{') else { return Ok(vec![pattern.to_owned()]) };
    let inner = &pattern[open + 1..];
    let (mut depth, mut start, mut parts, mut close) = (0_usize, 0, Vec::new(), None);
    let mut escaped = false;
    for (at, letter) in inner.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            '}' => {
                parts.push(&inner[start..at]);
                close = Some(at);
                break;
            }
            _ => {}
        }
    }
    let close = close.ok_or(PatternError("a { is never closed"))?;
    let mut all = Vec::new();
    for part in parts {
        all.extend(alternatives(&format!("{}{part}{}", &pattern[..open], &inner[close + 1..]))?);
    }
    Ok(all)
}

/// The position of the first unescaped `wanted`.
fn find_plain(text: &str, wanted: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, letter)| {
        let plain = !std::mem::take(&mut escaped);
        escaped = plain && letter == '\\';
        (plain && letter == wanted).then_some(at)
    })
}

fn walk(at: &Path, steps: &[Step], found: &mut BTreeSet<PathBuf>) {
    let Some((step, rest)) = steps.split_first() else {
        if fs::metadata(at).is_ok_and(|metadata| metadata.is_file()) {
            found.insert(at.to_owned());
        }
        return;
    };
    match step {
        Step::Name(name) => walk(&at.join(name), rest, found),
        Step::Like(like) => {
            for (name, _) in entries(at).filter(|(name, _)| like.is_match(name)) {
                walk(&at.join(name), rest, found);
            }
        }
        Step::Folders => {
            walk(at, rest, found);
            for (name, is_folder) in entries(at) {
                let path = at.join(name);
                if is_folder {
                    walk(&path, steps, found);
                } else if rest.is_empty() {
                    walk(&path, rest, found);
                }
            }
        }
    }
}

/// The names in a folder, and whether each is a folder. Links are not: following them could loop.
fn entries(folder: &Path) -> impl Iterator<Item = (String, bool)> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        Some((entry.file_name().into_string().ok()?, is_folder))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_files_in_any_folder_and_nothing_else() {
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
        check("x", &[]);
    }

    #[test]
    fn what_is_open_is_closed() {
        let check = |pattern: &str, expected: &str| {
            assert_eq!(files(pattern).unwrap_err().to_string(), expected, "{pattern}");
        };
        check("a[", "a [ is never closed");
        check("a{b", "a { is never closed");
        check("a\\", "it ends in a backslash");
        check("[z-a]", "a range in [ ] is malformed");
    }
}
