//! A reader who types what a page says, in one shell, and compares what appears with what is printed there.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use testkit::terraform::{Client, Workspace};

use crate::blocks::{self, Block};
use crate::{PLIMSOLL, root};

/// A reader with an empty folder, no cluster, and `plimsoll` and `terraform` on PATH.
pub(crate) struct Reader {
    folder: tempfile::TempDir,
}

impl Reader {
    /// OpenTofu if Terraform is not installed: it accepts the same configuration.
    pub(crate) fn new() -> Self {
        Self::with(&Client::any())
    }

    pub(crate) fn with(client: &Client) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        symlink(PLIMSOLL, bin.join("plimsoll")).unwrap();
        let client = Workspace::new(client.clone(), &[]).command().get_program().to_owned();
        symlink(client, bin.join("terraform")).unwrap();
        Self { folder }
    }

    /// Runs everything on the page, from top to bottom, in one shell, between the scripts `before` and `after`.
    pub(crate) fn follow(&self, page: &str, before: &str, after: &str, is_for_us: impl Fn(&str) -> bool) {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let mut script = format!("{SHELL}set -e\n{before}set +e\n");
        let mut steps = 0;
        let mut shown = Vec::new();
        for block in blocks::of(&text) {
            match block {
                Block::File { name, content } => {
                    script.extend(["printf %s ", &quoted(&content), " > ", &quoted(&name), "\n"]);
                }
                Block::Commands(commands) => {
                    for command in commands.iter().filter(|command| is_for_us(command)) {
                        steps += 1;
                        let typed = command
                            .replace("cargo run --release --", "plimsoll")
                            .replace("cargo run --", "plimsoll");
                        script.extend(["step ", &quoted(&typed), "\n"]);
                    }
                }
                Block::Transcript(transcript) => {
                    for (command, lines) in transcript {
                        steps += 1;
                        let fails = lines.iter().any(|line| line.starts_with("error"));
                        let step = if fails { "shows_failure" } else { "shows" };
                        let file = format!("output-{}", shown.len());
                        script.extend([step, " ", &quoted(&command), " ", &file, "\n"]);
                        shown.push((command, lines));
                    }
                }
            }
        }
        assert!(steps > 0, "{page} has no commands");
        script.extend(["set -e\n", after]);
        let output = self.bash().args(["-c", &script]).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{page}:\n{}\n{}", text(&output.stdout), text(&output.stderr));
        for (number, (command, expected)) in shown.iter().enumerate() {
            let printed = fs::read_to_string(self.folder.path().join(format!("output-{number}"))).unwrap();
            let mut lines = printed.lines().map(comparable);
            for line in expected.iter().filter(|line| !line.trim().is_empty()) {
                let is_there = lines.any(|printed| printed == comparable(line));
                assert!(is_there, "{page}: {command} does not print {line:?} here:\n{printed}");
            }
        }
    }

    fn bash(&self) -> Command {
        let cache = sandbox::Environment::from_process().unwrap().cache;
        let mut bash = Command::new("bash");
        let path = std::env::var("PATH").unwrap_or_default();
        bash.current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()))
            // A home of the reader's own, for the provider, but with the control plane that is built already.
            .env("HOME", self.folder.path())
            .env("XDG_CACHE_HOME", cache.parent().unwrap())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("CHECKPOINT_DISABLE", "1")
            .env("COLUMNS", "160")
            .env_remove("KUBECONFIG")
            .env_remove("TF_CLI_CONFIG_FILE");
        bash
    }
}

/// A line without what differs from run to run: the widths of columns, times and addresses.
fn comparable(line: &str) -> String {
    let word = |word: &str| match word {
        time if time.parse::<jiff::Timestamp>().is_ok() => "TIME".to_owned(),
        address if address.parse::<std::net::IpAddr>().is_ok() => "ADDRESS".to_owned(),
        word => word.to_owned(),
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Stops what a failed page has left running.
        let _ended = self.bash().args(["-c", "plimsoll sandbox down"]).output();
    }
}

const SHELL: &str = include_str!("shell.sh");
