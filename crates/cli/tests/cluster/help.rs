//! The help: every example in it parses, and commands of kubectl are translated.

use std::process::Command;

fn plimsoll(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(arguments).output().expect("plimsoll starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The examples in the help of a command, up to a comment or redirection.
fn examples(help: &str) -> Vec<Vec<String>> {
    let (_, after) = help.split_once("Examples:\n").expect("the help has examples");
    let commands = after.lines().filter_map(|line| line.split_once("plimsoll ").map(|(_, rest)| rest));
    let words = |rest: &str| {
        let command = rest.split("   ").next().unwrap_or(rest);
        // `source <(plimsoll …)` and `plimsoll … | source`
        let command = command.trim_end().trim_end_matches(')');
        command.split_whitespace().take_while(|word| !matches!(*word, ">" | "|")).map(str::to_owned).collect()
    };
    commands.map(words).collect()
}

#[test]
fn every_example_parses() {
    // `sandbox exec` passes every argument on, and `sandbox env` is shown inside a shell command.
    let commands = "plan, apply, drift, create, delete, applysets, wait, owners, tree, why, ui, render, inspect, operations, doctor, explain, \
                    install, uninstall, terraform install, \
                    operator, migrate crossplane, crds, certs, oci-server, completions, demo, function demo, reference, sandbox up, \
                    sandbox down, sandbox status, sandbox list, sandbox kubeconfig, sandbox logs, sandbox purge";
    for command in commands.split(", ") {
        let command: Vec<&str> = command.split(' ').collect();
        let help = plimsoll(&[&command[..], &["--help"]].concat());
        assert!(help.contains("Exit status: "), "{help}");
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{command:?}");
        for mut example in examples {
            assert_eq!(example[..command.len()], command);
            // Only the first mistake is reported, so everything before the unknown flag must be valid.
            let end = example.iter().position(|word| word == "--").unwrap_or(example.len());
            example.insert(end, "--unknown-flag".to_owned());
            let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
                .args(&example)
                .output()
                .expect("plimsoll starts");
            let transcript = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                transcript.starts_with("error: unexpected argument '--unknown-flag' found"),
                "{example:?}: {transcript}"
            );
        }
    }
}

#[test]
fn commands_of_kubectl_are_translated() {
    for (theirs, ours) in [("diff", "plimsoll plan"), ("version", "plimsoll --version")] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_plimsoll")).arg(theirs).output().expect("plimsoll starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && stderr.contains(&format!("here that is '{ours}'")), "{stderr}");
    }
}

#[test]
fn cluster_options_before_a_command_without_a_cluster_are_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["--context", "none-such", "certs", "--out", "certs", "--name", "x"])
        .output()
        .expect("plimsoll starts");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    error: 'certs' does not accept the options before it, which are for commands that connect to a cluster

    Usage: plimsoll [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_code_is_explained_without_a_cluster() {
    let entry = plimsoll(&["explain", "ownership-drift"]);
    assert!(entry.contains("ignore_fields"), "{entry}");
    let json: serde_json::Value =
        serde_json::from_str(&plimsoll(&["explain", "ownership-drift", "-o", "json"])).expect("JSON");
    assert_eq!((&json["code"], &json["area"]), (&"ownership-drift".into(), &"Ownership".into()));
    let names = plimsoll(&["explain", "-o", "name"]);
    assert!(names.lines().count() > 150 && names.lines().any(|name| name == "wait-timed-out"), "{names}");

    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["explain", "ownership-drfit"])
        .output()
        .expect("plimsoll starts");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("Did you mean ownership-drift?"), "{message}");
}
