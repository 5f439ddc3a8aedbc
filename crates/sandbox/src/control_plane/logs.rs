//! Log files: their last lines, and what is added to them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// How much of a log is worth showing with an error.
const SHOWN_LINES: usize = 15;
/// How much of a line; some programs write objects to their logs.
const SHOWN_LETTERS: usize = 400;
/// How far back to look for these lines.
const SHOWN_BYTES: u64 = 16 * 1024;

/// The last lines of a log file; none if it cannot be read.
pub(crate) fn last_lines(path: &Path) -> Vec<String> {
    let tail = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(SHOWN_BYTES)))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        Ok(tail)
    };
    let tail = tail().unwrap_or_default();
    let text = String::from_utf8_lossy(&tail);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].iter().map(|line| shortened(line)).collect()
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(SHOWN_LETTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_a_long_log_are_whole_and_few() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String =
            (0..10_000).flat_map(|n| ["line ".to_owned(), n.to_string(), "\n\n".to_owned()]).collect();
        std::fs::write(file.path(), text).unwrap();
        let lines = last_lines(file.path());
        assert_eq!(lines.len(), SHOWN_LINES);
        assert_eq!(lines[0], "line 9985");
        assert_eq!(lines[14], "line 9999");
    }

    #[test]
    fn a_line_that_goes_on_and_on_is_cut() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "ä".repeat(SHOWN_LETTERS + 1) + "\nshort\n").unwrap();
        assert_eq!(last_lines(file.path()), ["ä".repeat(SHOWN_LETTERS) + "…", "short".to_owned()]);
    }

    #[test]
    fn a_log_that_is_not_there_has_no_lines() {
        assert!(last_lines(Path::new("/nonexistent/log")).is_empty());
    }
}
