//! The demo, played whole, against the output that README promises.

use std::process::Command;

/// README's picture of the demo.
fn promised() -> &'static str {
    let readme = include_str!("../../../README.md");
    let (_, block) = readme.split_once("```text\n").expect("README shows the demo");
    block.split_once("```").expect("the block ends").0
}

/// The text without what differs from run to run: the port, the time taken and the address of the load balancer.
fn steady(text: &str) -> String {
    let mut steady = String::new();
    for line in text.trim().lines() {
        let words = line.split(' ').map(|word| {
            if word.starts_with("https://127.0.0.1:") || word.contains("203.0.113.") {
                word.replace(|character: char| character.is_ascii_digit(), "N")
                    .replace("NN", "N")
                    .replace("NN", "N")
            } else {
                word.to_owned()
            }
        });
        let line = words.collect::<Vec<_>>().join(" ");
        let line = match line.split_once(" objects in ") {
            Some((count, time)) => {
                assert!(time.ends_with(" ms"), "{line}");
                format!("{count} objects in N ms")
            }
            None => line,
        };
        steady.push_str(&line);
        steady.push('\n');
    }
    steady
}

#[test]
fn the_demo_says_what_readme_shows_and_leaves_nothing_running() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plimsoll = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        // Its own folder: a demo that a developer keeps running is left alone.
        command.env("XDG_STATE_HOME", folder.path()).env("NO_COLOR", "1");
        command
    };
    let demo = plimsoll().arg("demo").output().expect("plimsoll starts");
    let told = String::from_utf8_lossy(&demo.stderr);
    assert!(demo.status.success(), "{told}");
    assert_eq!(steady(&told), steady(promised()));
    let left = plimsoll().args(["sandbox", "list", "-o", "json"]).output().expect("plimsoll starts");
    assert_eq!(String::from_utf8_lossy(&left.stdout).trim(), "[]");
}
