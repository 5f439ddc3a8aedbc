//! The demo, played whole, against the output that README promises.

use std::process::Command;

/// README's picture of the demo.
fn promised() -> &'static str {
    let readme = include_str!("../../../README.md");
    let (_, block) = readme.split_once("```text\n").expect("README shows the demo");
    block.split_once("```").expect("the block ends").0
}

/// The text without what differs from run to run: ports, times, ages, generated names and how often a poll was seen.
fn steady(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.trim().lines() {
        // How many steps of the operation are seen depends on the moment of each look.
        if line.contains(" operation: pending") {
            continue;
        }
        let words = line.split_whitespace().map(|word| {
            let is_age = word.strip_suffix('s').is_some_and(|number| number.parse::<u32>().is_ok());
            let is_number = word.parse::<u32>().is_ok();
            let generated = word.strip_prefix("orders-").or_else(|| word.strip_prefix("front-"));
            match word {
                _ if is_age || is_number => "N".to_owned(),
                _ if word.contains("://127.0.0.1:") => "URL".to_owned(),
                _ if generated.is_some() => "GENERATED".to_owned(),
                "terraform" | "tofu" => "terraform".to_owned(),
                other => other.to_owned(),
            }
        });
        lines.push(words.collect::<Vec<_>>().join(" "));
    }
    lines
}

fn play(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plimsoll = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        // Its own folder: a demo that a developer keeps running is left alone.
        command.env("XDG_STATE_HOME", folder.path()).env("NO_COLOR", "1");
        command
    };
    let demo = plimsoll().arg("demo").args(arguments).output().expect("plimsoll starts");
    let told = String::from_utf8_lossy(&demo.stderr).into_owned();
    assert!(demo.status.success(), "{told}");
    let left = plimsoll().args(["sandbox", "list", "-o", "json"]).output().expect("plimsoll starts");
    assert_eq!(String::from_utf8_lossy(&left.stdout).trim(), "[]");
    told
}

#[test]
fn the_demo_says_what_readme_shows_and_leaves_nothing_running() {
    assert_eq!(steady(&play(&[])), steady(promised()));
}

#[test]
fn the_demo_needs_no_terraform() {
    let told = play(&["--no-terraform"]);
    assert!(told.contains("4 objects are applied, and what was waited for is there"), "{told}");
    assert!(told.contains("spec.replicas: 5 → 3 (modified by: kubectl)"), "{told}");
}
