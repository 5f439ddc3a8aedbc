//! One command of a client, and what it printed.

use std::process::{Command, Output};

/// A command that has ended.
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
        Self::ended(shown, &output)
    }

    /// What is known of a command that was run in another way.
    pub fn ended(command: impl Into<String>, output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            command: command.into(),
            success: output.status.success(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// The same, if it succeeded.
    ///
    /// # Panics
    ///
    /// If it failed, with everything it printed.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "most tests only want to know how it ended")]
    pub fn expect_success(self) -> Self {
        assert!(self.success, "{} failed:\n{}", self.command, self.output());
        self
    }

    /// The same, if it failed.
    ///
    /// # Panics
    ///
    /// If it succeeded, with everything it printed.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "most tests only want to know how it ended")]
    pub fn expect_failure(self) -> Self {
        assert!(!self.success, "{} succeeded:\n{}", self.command, self.output());
        self
    }

    /// Whether it succeeded.
    pub fn is_success(&self) -> bool {
        self.success
    }

    /// What it printed as its answer.
    pub fn stdout(&self) -> &str {
        &self.stdout
    }

    /// Everything it printed, with every run of white space as one space and without the frames around diagnostics:
    /// clients wrap their messages.
    pub fn text(&self) -> String {
        let all = self.output();
        let words = all.split_whitespace().filter(|word| !matches!(*word, "│" | "╷" | "╵"));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Everything it printed, as it printed it.
    pub fn output(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}
