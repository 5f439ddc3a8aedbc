//! A finished command and its output.

use std::process::{Command, Output};

#[derive(Debug)]
pub struct Run {
    command: String,
    success: bool,
    stdout: String,
    stderr: String,
}

impl Run {
    pub(super) fn of(command: &mut Command) -> Self {
        let shown = format!("{command:?}");
        let output = command.output().unwrap_or_else(|error| panic!("{shown}: {error}"));
        Self::from_output(shown, &output)
    }

    pub fn from_output(command: impl Into<String>, output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            command: command.into(),
            success: output.status.success(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// # Panics
    ///
    /// If it failed, with its output.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "most tests only check the exit status")]
    pub fn expect_success(self) -> Self {
        assert!(self.success, "{} failed:\n{}", self.command, self.output());
        self
    }

    /// # Panics
    ///
    /// If it succeeded, with its output.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "most tests only check the exit status")]
    pub fn expect_failure(self) -> Self {
        assert!(!self.success, "{} succeeded:\n{}", self.command, self.output());
        self
    }

    pub fn is_success(&self) -> bool {
        self.success
    }

    pub fn stdout(&self) -> &str {
        &self.stdout
    }

    /// The output with all white space collapsed and without the frames around diagnostics: clients wrap messages.
    pub fn text(&self) -> String {
        let all = self.output();
        let words = all.split_whitespace().filter(|word| !matches!(*word, "│" | "╷" | "╵"));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Standard output, then standard error.
    pub fn output(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}
