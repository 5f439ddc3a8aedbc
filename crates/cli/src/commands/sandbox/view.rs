//! Sandboxes as text.

use std::io;

use jiff::Timestamp;
use sandbox::{Name, SandboxState, Status};

use crate::support::age;
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer};

/// Everything about one sandbox.
pub(super) fn status(printer: &mut Printer, status: &Status) -> io::Result<()> {
    let style = match status.state {
        SandboxState::Ready => GOOD,
        SandboxState::Starting | SandboxState::Stopping => PENDING,
        SandboxState::Failed | SandboxState::Dead | SandboxState::Damaged => BAD,
    };
    let after = status.ready_after_ms.map_or_else(String::new, |ms| format!(" (after {})", seconds(ms)));
    printer.data(format_args!("{} {style}{}{style:#}{after}", status.name, status.state.as_str()))?;
    let mut line = |label: &str, text: &str| printer.data(format_args!("  {DIM}{label:<12}{DIM:#} {text}"));
    if !status.server.is_empty() {
        line("server", &status.server)?;
    }
    line("kubeconfig", &status.kubeconfig.display().to_string())?;
    line("contexts", &status.contexts.join(", "))?;
    if let Some(started) = status.started {
        line("started", &format!("{started:.0}"))?;
    }
    if !status.versions.is_empty() {
        let versions: Vec<String> =
            status.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        line("versions", &versions.join(", "))?;
    }
    if let Some(seconds) = status.linger_seconds {
        line("ends", &format!("{seconds} s after the last lease on {}", status.lease.display()))?;
    }
    line("logs", &status.logs.display().to_string())?;
    if let Some(audit) = &status.audit_log {
        line("audit log", &audit.display().to_string())?;
    }
    for program in &status.programs {
        let pid = program.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
        let place = program.path.display();
        printer.data(format_args!("  {:<24} {pid:>8}  {DIM}{place}{DIM:#}", program.program.name()))?;
    }
    if let Some(failure) = &status.failure {
        let program = failure.program.map_or_else(String::new, |program| format!("{program} "));
        printer.data(format_args!("  {BAD}failure{BAD:#}      {program}{}", failure.reason))?;
        for line in &failure.log {
            printer.data(format_args!("    {DIM}{line}{DIM:#}"))?;
        }
    }
    Ok(())
}

/// A line for each sandbox.
pub(super) fn list(printer: &mut Printer, all: &[Status]) -> io::Result<()> {
    let head = ["NAME", "STATE", "SERVER", "KUBERNETES", "AGE"].map(str::to_owned).to_vec();
    let rows = all.iter().map(|status| {
        let age = status.started.map_or_else(String::new, |started| age::between(started, Timestamp::now()));
        let version = status.versions.get("kubernetes").cloned().unwrap_or_default();
        vec![status.name.to_string(), status.state.as_str().to_owned(), status.server.clone(), version, age]
    });
    printer.table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// The flag that selects a sandbox, if it is needed.
pub(super) fn name_flag(name: &Name) -> String {
    if *name == Name::default() { String::new() } else { format!(" --name {name}") }
}

/// Milliseconds as seconds with one decimal.
pub(super) fn seconds(milliseconds: u64) -> String {
    let tenths = (milliseconds + 50) / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

/// `text` as one word of a POSIX shell.
pub(crate) fn shell_quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%=,".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    // Inside single quotes every character except the single quote is literal.
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_for_the_shell() {
        for (text, quoted) in [
            ("/home/me/kubeconfig", "/home/me/kubeconfig"),
            ("/home/my files/k", "'/home/my files/k'"),
            ("/it's/k", r"'/it'\''s/k'"),
            ("$HOME/`x`", "'$HOME/`x`'"),
            ("", "''"),
        ] {
            assert_eq!(shell_quoted(text), quoted);
        }
    }

    #[test]
    fn milliseconds_are_rounded_to_tenths() {
        assert_eq!(seconds(2949), "2.9 s");
        assert_eq!(seconds(2950), "3.0 s");
    }
}
