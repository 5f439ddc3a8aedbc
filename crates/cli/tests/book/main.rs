//! The book and README: generated pages are fresh, and the commands in them work.

#![expect(clippy::unwrap_used, reason = "all of this is tests, also what has no #[test] of its own")]

mod blocks;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use blocks::Block;
use testkit::terraform::{Client, Workspace};

const PLIMSOLL: &str = env!("CARGO_BIN_EXE_plimsoll");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

#[test]
fn the_generated_pages_are_up_to_date() {
    for page in ["cli", "kinds", "cloud-kinds", "diagnostics"] {
        let printed = Command::new(PLIMSOLL).args(["reference", page]).output().unwrap();
        assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        let kept =
            fs::read_to_string(root().join(format!("book/src/reference/{page}.md"))).unwrap_or_default();
        let is_fresh = kept == String::from_utf8(printed.stdout).unwrap();
        assert!(is_fresh, "book/src/reference/{page}.md is stale: run `cargo xtask book`");
    }
}

#[test]
fn the_commands_of_the_first_chapter_work() {
    Reader::new().follow("book/src/first-steps.md", |_| true);
}

#[test]
fn the_commands_for_users_of_kubectl_work() {
    Reader::new().follow("book/src/migration/kubectl.md", |_| true);
}

#[test]
fn the_commands_about_platform_changes_work() {
    Reader::new().follow("book/src/platform-changes.md", |_| true);
}

#[test]
fn the_commands_of_the_readme_work() {
    // A test cannot run its own suite, and the demo has a test of its own.
    let elsewhere = ["cargo test --workspace", "./demo"];
    Reader::new().follow("README.md", |command| !elsewhere.contains(&command));
}

/// A reader with an empty folder, no cluster, and `plimsoll` and `terraform` on PATH.
struct Reader {
    folder: tempfile::TempDir,
}

impl Reader {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        symlink(PLIMSOLL, bin.join("plimsoll")).unwrap();
        // OpenTofu if Terraform is not installed: it accepts the same configuration.
        let client = Workspace::new(Client::any(), &[]).command().get_program().to_owned();
        symlink(client, bin.join("terraform")).unwrap();
        Self { folder }
    }

    /// Runs everything on the page, from top to bottom, in one shell.
    fn follow(&self, page: &str, is_for_us: impl Fn(&str) -> bool) {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let mut script = String::from(STEP);
        let mut steps = 0;
        for block in blocks::of(&text) {
            match block {
                Block::File { name, content } => fs::write(self.folder.path().join(name), content).unwrap(),
                Block::Commands(commands) => {
                    for command in commands.iter().filter(|command| is_for_us(command)) {
                        steps += 1;
                        let typed = command
                            .replace("cargo run --release --", "plimsoll")
                            .replace("cargo run --", "plimsoll");
                        script.extend(["step ", &quoted(&typed), "\n"]);
                    }
                }
            }
        }
        assert!(steps > 3, "{page} has {steps} commands");
        let output = self.bash().args(["-c", &script]).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{page}:\n{}\n{}", text(&output.stdout), text(&output.stderr));
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
            .env_remove("KUBECONFIG")
            .env_remove("TF_CLI_CONFIG_FILE");
        bash
    }
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

/// Runs one command as typed, and stops at a failure. A plan with changes exits with 2.
const STEP: &str = r#"
# What runs in the background ends with the page.
trap 'kill $(jobs -p) 2>/dev/null' EXIT
step() {
  local status=0
  eval "$1" || status=$?
  case "$status:$1" in
    0:*|2:"plimsoll plan "*) ;;
    *) echo "ended with $status: $1"; exit 1 ;;
  esac
}
"#;
