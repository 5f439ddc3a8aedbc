//! Checks the programs of this machine.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{Finding, Status};

/// Programs that some commands use, the arguments that print their version, and their purpose.
const PROGRAMS: [(&str, &[&str], &str); 5] = [
    (
        "go",
        &["version"],
        "Without the archive of the control plane, the first start of a sandbox builds it with Go 1.26 or later.",
    ),
    (
        "kubectl",
        &["version", "--client"],
        "A sandbox has its own; `--kustomize` uses kubectl if kustomize is missing.",
    ),
    ("kustomize", &["version"], "`--kustomize` uses kubectl instead."),
    ("terraform", &["version"], "The demo and the provider work with terraform or tofu."),
    ("tofu", &["version"], "The demo and the provider work with terraform or tofu."),
];

pub(super) fn check() -> Vec<Finding> {
    let mut findings = vec![Finding::new("plimsoll", Status::Good, env!("CARGO_PKG_VERSION"))];
    findings.extend(PROGRAMS.iter().map(|(name, ask, need)| program(name, ask, need)));
    findings
}

/// The first file of this name on PATH.
fn find(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(&file)).find(|path| path.is_file())
}

fn program(name: &'static str, ask: &[&str], need: &str) -> Finding {
    let Some(path) = find(name) else {
        return Finding::new(name, Status::Absent, "not on PATH").advise(need);
    };
    let output = Command::new(&path).args(ask).stdin(Stdio::null()).output();
    let output =
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    match version(&output) {
        Some(version) => Finding::new(name, Status::Good, format!("{version} ({})", path.display())),
        None => Finding::new(name, Status::Odd, format!("cannot read the version of {}", path.display())),
    }
}

/// The first word that looks like a version: `v1.36.3`, `go1.26.8`, `5.4.2`.
fn version(output: &str) -> Option<String> {
    output.split_whitespace().find_map(|word| {
        let number = word.trim_start_matches("go").trim_start_matches('v');
        let is_version = number.split('.').count() >= 2
            && number
                .split('.')
                .take(2)
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        is_version.then(|| number.trim_end_matches(',').to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_the_output_of_programs() {
        let check = |output: &str, expected: Option<&str>| {
            assert_eq!(version(output).as_deref(), expected, "{output}");
        };
        check("go version go1.26.8 linux/amd64", Some("1.26.8"));
        check("Client Version: v1.36.3\nKustomize Version: v5.8.1", Some("1.36.3"));
        check("Terraform v1.11.4\non linux_amd64", Some("1.11.4"));
        check("v5.8.1", Some("5.8.1"));
        check("no idea", None);
        check("", None);
    }
}
