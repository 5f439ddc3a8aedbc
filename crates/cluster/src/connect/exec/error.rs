//! Why a credential plugin gave no credentials.

use std::time::Duration;

/// Why a plugin gave no credentials. What it printed on standard output is never repeated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// The configuration asks for a protocol we do not speak.
    #[error(
        "exec plugin {command:?}: api version {version:?} is not supported; use client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1"
    )]
    Version {
        /// The program.
        command: String,
        /// The version asked for.
        version: String,
    },
    /// The configuration has no command.
    #[error("exec plugin without a command")]
    NoCommand,
    /// The plugin insists on a terminal.
    #[error("exec plugin {command:?} wants a terminal (interactiveMode: Always), and there is none")]
    Interactive {
        /// The program.
        command: String,
    },
    /// The program does not exist.
    #[error("exec plugin {command:?} was not found{}", hint.as_ref().map_or(String::new(), |hint| format!(": {hint}")))]
    NotFound {
        /// The program.
        command: String,
        /// What the kubeconfig says about installing it.
        hint: Option<String>,
    },
    /// The program could not be run.
    #[error("exec plugin {command:?} could not be started")]
    Start {
        /// The program.
        command: String,
        /// Why.
        source: std::io::Error,
    },
    /// The program did not end.
    #[error("exec plugin {command:?} has printed no credentials after {} s and was stopped", after.as_secs_f64())]
    TimedOut {
        /// The program.
        command: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// The program printed without end.
    #[error("exec plugin {command:?} printed more than {} KiB and was stopped", super::process::MOST_PRINTED >> 10)]
    TooMuch {
        /// The program.
        command: String,
    },
    /// The program failed.
    #[error("exec plugin {command:?} failed ({status}){}", said(stderr))]
    Failed {
        /// The program.
        command: String,
        /// How it ended, for instance `exit status: 1`.
        status: String,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// The program printed nothing.
    #[error("exec plugin {command:?} printed nothing{}", said(stderr))]
    Nothing {
        /// The program.
        command: String,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// The program printed something else than credentials.
    #[error("exec plugin {command:?} printed something that is no ExecCredential: {problem}")]
    Answer {
        /// The program.
        command: String,
        /// What is wrong with it.
        problem: String,
    },
}

fn said(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(": {stderr}") }
}
