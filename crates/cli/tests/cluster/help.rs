//! The help: every example in it parses, and shells can complete what it lists.

use std::process::Command;

fn plimsoll(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(arguments).output().expect("plimsoll starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The examples in the help of a command: lines that begin with `plimsoll`, up to a comment or redirection.
fn examples(help: &str) -> Vec<Vec<String>> {
    let (_, after) = help.split_once("Examples:\n").expect("the help has examples");
    let commands = after.lines().filter_map(|line| line.split_once("plimsoll ").map(|(_, rest)| rest));
    let words = |rest: &str| {
        let command = rest.split("   ").next().unwrap_or(rest);
        command.split_whitespace().take_while(|word| *word != ">").map(str::to_owned).collect()
    };
    commands.map(words).collect()
}

#[test]
fn every_example_is_understood() {
    let commands = [
        "plan",
        "apply",
        "drift",
        "delete",
        "wait",
        "owners",
        "tree",
        "why",
        "operations",
        "doctor",
        "explain",
        "operator",
        "crds",
        "certs",
        "oci-server",
        "completions",
        "demo",
    ];
    for command in commands {
        let examples = examples(&plimsoll(&[command, "--help"]));
        assert!(!examples.is_empty(), "{command}");
        for mut example in examples {
            assert_eq!(example[0], command);
            // Only the first mistake is reported, so everything before the unknown flag must be valid.
            example.push("--unknown-flag".to_owned());
            let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
                .args(&example)
                .output()
                .expect("plimsoll starts");
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                told.starts_with("error: unexpected argument '--unknown-flag' found"),
                "{example:?}: {told}"
            );
        }
    }
}

#[test]
fn shells_get_a_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = plimsoll(&["completions", shell]);
        assert!(script.contains("owners") && script.contains("force-conflicts"), "{shell}");
    }
}

#[test]
fn what_is_said_of_the_cluster_may_stand_before_the_command() {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["--context", "none-such", "certs", "--out", "certs", "--name", "x"])
        .output()
        .expect("plimsoll starts");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    error: 'certs' does not understand the options before it: they are for commands that ask a cluster

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
