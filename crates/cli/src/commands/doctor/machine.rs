//! Checks this machine: its programs, and what a sandbox needs.

use std::process::{Command, Stdio};

use sandbox::{CONTROL_PLANE, Environment, SandboxState, gobuild};

use super::{Finding, State};

/// Programs that some commands use, the arguments that print their version, and their purpose.
const PROGRAMS: [(&str, &[&str], &str); 5] = [
    ("go", &["version"], "The first start of a sandbox builds its programs with Go 1.26 or later."),
    (
        "kubectl",
        &["version", "--client"],
        "A sandbox brings its own; `--kustomize` uses it where kustomize is missing.",
    ),
    ("kustomize", &["version"], "`--kustomize` uses kubectl in its place."),
    ("terraform", &["version"], "The demo and the provider are for terraform or tofu."),
    ("tofu", &["version"], "The demo and the provider are for terraform or tofu."),
];

pub(super) fn look() -> Vec<Finding> {
    let mut findings = vec![Finding::new("plimsoll", State::Good, env!("CARGO_PKG_VERSION"))];
    match Environment::from_process() {
        Err(error) => findings.push(Finding::new("folders", State::Broken, error.to_string())),
        Ok(environment) => {
            findings.extend(PROGRAMS.iter().map(|(name, ask, need)| program(&environment, name, ask, need)));
            findings.push(control_plane(&environment));
            findings.push(sandboxes(&environment));
        }
    }
    findings
}

fn program(environment: &Environment, name: &'static str, ask: &[&str], need: &str) -> Finding {
    let Some(path) = gobuild::find_program(name, &environment.path) else {
        return Finding::new(name, State::Absent, "not on PATH").advise(need);
    };
    let output = Command::new(&path).args(ask).stdin(Stdio::null()).output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    match version(&said) {
        Some(version) => Finding::new(name, State::Good, format!("{version} ({})", path.display())),
        None => Finding::new(name, State::Odd, format!("{} does not tell its version", path.display())),
    }
}

/// The first word that looks like a version: `v1.36.3`, `go1.26.8`, `5.4.2`.
fn version(said: &str) -> Option<String> {
    said.split_whitespace().find_map(|word| {
        let number = word.trim_start_matches("go").trim_start_matches('v');
        let is_version = number.split('.').count() >= 2
            && number
                .split('.')
                .take(2)
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        is_version.then(|| number.trim_end_matches(',').to_owned())
    })
}

fn control_plane(environment: &Environment) -> Finding {
    const SUBJECT: &str = "control plane";
    if let Some(assets) = &environment.assets {
        return Finding::new(SUBJECT, State::Good, format!("from KUBEBUILDER_ASSETS, {}", assets.display()));
    }
    match CONTROL_PLANE.cached(&environment.cache) {
        Some(folder) => Finding::new(SUBJECT, State::Good, format!("built, in {}", folder.display())),
        None => Finding::new(SUBJECT, State::Absent, "not built yet")
            .advise("`plimsoll sandbox up --detach` builds it, in four to six minutes."),
    }
}

fn sandboxes(environment: &Environment) -> Finding {
    const SUBJECT: &str = "sandboxes";
    match sandbox::list(environment) {
        Err(error) => Finding::new(SUBJECT, State::Broken, error.to_string()),
        Ok(all) if all.is_empty() => Finding::new(SUBJECT, State::Good, "none"),
        Ok(all) => {
            let shown: Vec<String> =
                all.iter().map(|status| format!("{} {}", status.name, status.state.as_str())).collect();
            let sound =
                all.iter().all(|status| matches!(status.state, SandboxState::Ready | SandboxState::Starting));
            let finding =
                Finding::new(SUBJECT, if sound { State::Good } else { State::Odd }, shown.join(", "));
            if sound { finding } else { finding.advise("`plimsoll sandbox down --name NAME` cleans up.") }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let check =
            |said: &str, expected: Option<&str>| assert_eq!(version(said).as_deref(), expected, "{said}");
        check("go version go1.26.8 linux/amd64", Some("1.26.8"));
        check("Client Version: v1.36.3\nKustomize Version: v5.8.1", Some("1.36.3"));
        check("Terraform v1.11.4\non linux_amd64", Some("1.11.4"));
        check("v5.8.1", Some("5.8.1"));
        check("no idea", None);
        check("", None);
    }
}
