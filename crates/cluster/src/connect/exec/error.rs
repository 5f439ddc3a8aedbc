//! Why a credential plugin gave no credentials.

use std::time::Duration;

/// Why a plugin gave no credentials. What it printed on standard output is never repeated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    #[error(
        "exec plugin {command:?}: api version {version:?} is not supported; use client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1"
    )]
    Version { command: String, version: String },
    #[error("exec plugin has no command")]
    NoCommand,
    #[error("exec plugin {command:?} requires a terminal (interactiveMode: Always), but there is none")]
    Interactive { command: String },
    #[error("exec plugin {command:?} was not found{}", after_colon(hint.as_deref().unwrap_or_default()))]
    NotFound {
        command: String,
        /// The kubeconfig's `installHint`.
        hint: Option<String>,
    },
    #[error("exec plugin {command:?} could not be started")]
    Start { command: String, source: std::io::Error },
    #[error("exec plugin {command:?} printed no credentials within {} s and was stopped", after.as_secs_f64())]
    TimedOut { command: String, after: Duration },
    #[error("exec plugin {command:?} printed more than {} KiB and was stopped", super::process::MAX_STDOUT >> 10)]
    TooMuch { command: String },
    #[error("exec plugin {command:?} failed ({status}){}", after_colon(stderr))]
    Failed {
        command: String,
        /// As in `exit status: 1`.
        status: String,
        /// The end of its standard error.
        stderr: String,
    },
    #[error("exec plugin {command:?} printed nothing{}", after_colon(stderr))]
    Nothing {
        command: String,
        /// The end of its standard error.
        stderr: String,
    },
    #[error("exec plugin {command:?} printed an invalid ExecCredential: {problem}")]
    Invalid { command: String, problem: String },
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}
