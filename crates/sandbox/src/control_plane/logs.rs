//! The last lines of log files, for error messages.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

const MAX_LINES: usize = 15;
/// Some programs log whole objects on one line.
const MAX_LINE_CHARS: usize = 400;
/// How far back to look for these lines.
const TAIL_BYTES: u64 = 16 * 1024;

/// The last lines of a log file; none if it cannot be read.
pub(crate) fn last_lines(path: &Path) -> Vec<String> {
    let tail = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        Ok(tail)
    };
    let tail = tail().unwrap_or_default();
    let text = String::from_utf8_lossy(&tail);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(MAX_LINES)..].iter().map(|line| truncated(line)).collect()
}

fn truncated(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_of_a_long_log_are_kept() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String =
            (0..10_000).flat_map(|n| ["line ".to_owned(), n.to_string(), "\n\n".to_owned()]).collect();
        std::fs::write(file.path(), text).unwrap();
        let lines = last_lines(file.path());
        assert_eq!(lines.len(), MAX_LINES);
        assert_eq!(lines[0], "line 9985");
        assert_eq!(lines[14], "line 9999");
    }

    #[test]
    fn long_lines_are_truncated() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "ä".repeat(MAX_LINE_CHARS + 1) + "\nshort\n").unwrap();
        assert_eq!(last_lines(file.path()), ["ä".repeat(MAX_LINE_CHARS) + "…", "short".to_owned()]);
    }

    #[test]
    fn a_missing_log_has_no_lines() {
        assert!(last_lines(Path::new("/nonexistent/log")).is_empty());
    }
}
