//! `plimsoll` as a program that runs beside the test.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};

/// `plimsoll`, 100 columns wide, without colour, and without cloud settings from the tester's environment.
pub(crate) fn plimsoll(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(arguments).env("COLUMNS", "100").env("NO_COLOR", "1");
    for variable in ["KUBECONFIG", "RUST_LOG", "PLIMSOLL_OCI_ENDPOINT", "OCI_CONFIG_FILE_PATH"] {
        command.env_remove(variable);
    }
    command
}

/// The output and exit status of a command that ends by itself.
pub(crate) fn transcript(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().map_or("a signal".to_owned(), |code| code.to_string());
    format!("exit {code}\n{}{}", text(&output.stdout), text(&output.stderr)).trim_end().to_owned()
}

/// A running program; it is killed at the end of the test.
pub(crate) struct Running {
    child: Child,
    lines: BufReader<Box<dyn std::io::Read + Send>>,
}

impl Running {
    /// Starts `command`; its lines are those of standard output.
    pub(crate) fn answering(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        Self { child, lines: BufReader::new(Box::new(stdout)) }
    }

    /// Starts `command`; its lines are those of its log.
    pub(crate) fn logging(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        Self { child, lines: BufReader::new(Box::new(stderr)) }
    }

    /// The next line; empty at the end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    /// Reads lines until one contains `words`.
    pub(crate) fn until(&mut self, words: &str) -> String {
        let mut before = String::new();
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "it ended before it said {words:?}:\n{before}");
            if line.contains(words) {
                return line;
            }
            before.push_str(&line);
        }
    }

    /// Stops it with a signal; returns its exit code and the rest of its output.
    pub(crate) fn end_by(mut self, signal: &str) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may already have ended by itself.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
