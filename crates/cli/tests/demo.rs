//! Plays the whole demo and compares it with what README shows; then checks what it leaves behind, however it ends.
//!
//! With PLIMSOLL_PICTURES, a folder, README's recording and its text are made anew; `cargo xtask pictures` does that.

#![expect(clippy::unwrap_used, reason = "all of this is tests, also what has no #[test] of its own")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::recording::{self, Recording};

const PLIMSOLL: &str = env!("CARGO_BIN_EXE_plimsoll");
/// Long enough for a busy machine; nothing waits that long unless it has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// A user who runs the demo, with separate folders: a sandbox that a developer keeps running is left alone.
struct Viewer {
    folder: TempDir,
}

impl Viewer {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("XDG_STATE_HOME", self.folder.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// Runs `plimsoll …`, which must succeed; returns its messages and its data.
    fn plimsoll(&self, arguments: &[&str]) -> (String, String) {
        let output = self.command(PLIMSOLL).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (transcript, data) = (text(&output.stderr), text(&output.stdout));
        assert!(output.status.success(), "{arguments:?}: {transcript}");
        (transcript, data)
    }

    /// Plays the demo to its end, and records what a user sees.
    fn record(&self) -> Recording {
        let mut demo = self.command(PLIMSOLL);
        demo.arg("demo").env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").stderr(Stdio::piped());
        let mut demo = demo.spawn().unwrap();
        let recording = Recording::of(BufReader::new(demo.stderr.take().unwrap())).unwrap();
        assert!(demo.wait().unwrap().success(), "{}", recording.text());
        recording
    }

    /// Plays the demo to its end; returns its output.
    fn play(&self, arguments: &[&str]) -> String {
        self.plimsoll(&[&["demo"], arguments].concat()).0
    }

    fn sandbox(&self) -> PathBuf {
        self.folder.path().join("plimsoll/sandbox/demo")
    }

    /// The processes that belong to the demo's sandbox.
    fn members(&self) -> Vec<String> {
        let mark = format!("PLIMSOLL_SANDBOX_FOLDER={}", self.sandbox().display());
        let belongs = |folder: &PathBuf| {
            let environment = fs::read(folder.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        };
        let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let command_line = |folder: PathBuf| fs::read_to_string(folder.join("cmdline")).unwrap_or_default();
        processes.filter(belongs).map(|folder| command_line(folder).replace('\0', " ")).collect()
    }

    fn nothing_is_left(&self) {
        let begun = Instant::now();
        while self.sandbox().exists() || !self.members().is_empty() {
            assert!(begun.elapsed() < PATIENCE, "still there: {:?}", self.members());
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.plimsoll(&["sandbox", "list", "-o", "json"]).1.trim(), "[]");
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        // Stops what a failed demo has left running.
        let _ended = self.command(PLIMSOLL).args(["sandbox", "down", "--name", "demo"]).output();
    }
}

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A file of the repository, which may have been made anew just now.
fn file(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// What README shows of the demo as text, with what is before and after it.
fn shown(readme: &str) -> [&str; 3] {
    let (before, rest) = readme.split_once("```text\n").expect("README shows the demo");
    let (text, after) = rest.split_once("```").expect("the block ends");
    [before, text, after]
}

/// The text without what differs from run to run: ports, times, ages, generated names and how often a poll was seen.
fn steady(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.trim().lines() {
        // How many steps of the operation are seen depends on the timing of each poll.
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

#[test]
fn the_demo_prints_what_the_readme_shows_and_leaves_nothing_running() {
    let viewer = Viewer::new();
    let recording = viewer.record();
    if let Some(folder) = std::env::var_os("PLIMSOLL_PICTURES") {
        fs::write(Path::new(&folder).join("demo.svg"), recording.to_svg("plimsoll demo")).unwrap();
        let readme = file("README.md");
        let [before, _, after] = shown(&readme);
        let text = recording.text();
        fs::write(Path::new(ROOT).join("README.md"), format!("{before}```text\n{text}```{after}")).unwrap();
    }
    let played = steady(&recording.text());
    assert_eq!(played, steady(shown(&file("README.md"))[1]), "the text");
    assert_eq!(played, steady(&recording::text_of(&file("book/src/view/demo.svg"))), "the recording");
    viewer.nothing_is_left();
}

#[test]
fn the_demo_works_without_terraform_and_continues_on_enter() {
    let viewer = Viewer::new();
    let mut demo = viewer.command(PLIMSOLL);
    demo.args(["demo", "--no-terraform", "--pause"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut demo = demo.spawn().unwrap();
    let mut keyboard = demo.stdin.take().unwrap();
    let mut transcript = String::new();
    for line in BufReader::new(demo.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.trim() == "press Enter" {
            keyboard.write_all(b"\n").unwrap();
        }
        transcript.push_str(&line);
        transcript.push('\n');
    }
    assert!(demo.wait().unwrap().success(), "{transcript}");
    assert_eq!(transcript.matches("press Enter").count(), 6, "{transcript}");
    assert!(
        transcript.contains("4 objects applied; the endpoint exists and the Deployment is rolled out"),
        "{transcript}"
    );
    // What the demo shows is what the command prints.
    assert!(transcript.contains("$ plimsoll plan --filename demo --force-conflicts"), "{transcript}");
    assert!(transcript.contains("~ Deployment shop/front"), "{transcript}");
    assert!(transcript.contains("spec.replicas: 5 → 3   held by kubectl, then by plimsoll"), "{transcript}");
    viewer.nothing_is_left();
}

#[test]
fn a_kept_demo_runs_until_its_own_commands_stop_it() {
    let viewer = Viewer::new();
    let transcript = viewer.play(&["--no-terraform", "--keep"]);
    let members = viewer.members();
    for part in ["oci-server", "function demo", "operator", "kube-apiserver"] {
        assert!(members.iter().any(|member| member.contains(part)), "{part} is not in {members:?}");
    }
    let (_, next) = transcript.split_once("next steps").unwrap();
    let bin = viewer.folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(PLIMSOLL, bin.join("plimsoll")).unwrap();
    // The operator still works: what it created for the claim is deleted with the claim.
    let typed = next.replace(
        "plimsoll sandbox down",
        "plimsoll delete app/orders --namespace shop\n\
         plimsoll wait queue/orders --namespace shop --for delete\n\
         plimsoll sandbox down",
    );
    let mut shell = viewer.command("bash");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = shell.args(["-e", "-c", &typed]).env("PATH", path).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    for part in ["Queue orders", "replicas: 5", "met Queue shop/orders is gone", "stopped sandbox demo"] {
        assert!(stdout.contains(part) || stderr.contains(part), "{part} is not in\n{stdout}\n{stderr}");
    }
    viewer.nothing_is_left();
}

#[test]
fn a_kept_demo_says_where_its_files_are_and_terraform_plans_there() {
    let viewer = Viewer::new();
    let transcript = viewer.play(&["--keep"]);
    let (_, next) = transcript.split_once("next steps").unwrap();
    assert!(
        next.contains("export TF_CLI_CONFIG_FILE=terraform.rc; "),
        "Terraform or OpenTofu is needed: {next}"
    );
    let bin = viewer.folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(PLIMSOLL, bin.join("plimsoll")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = viewer.command("bash").args(["-e", "-c", next]).env("PATH", path).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    // A user has scaled the Deployment by hand.
    assert!(stdout.contains("spec.replicas: 5 → 3") && stdout.contains("0 to add, 1 to change"), "{stdout}");
    viewer.nothing_is_left();
}

#[test]
fn an_interrupted_or_killed_demo_leaves_nothing_running() {
    for signal in ["INT", "KILL"] {
        let viewer = Viewer::new();
        // Tests that run in the background may have SIGINT ignored, and child processes inherit that.
        let mut demo = viewer.command("env");
        demo.args(["--default-signal=INT", PLIMSOLL, "demo", "--no-terraform", "--pause"]);
        demo.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut demo = demo.spawn().unwrap();
        let mut keyboard = demo.stdin.take().unwrap();
        let mut transcript = BufReader::new(demo.stderr.take().unwrap());
        // At the second pause, the operator and all other processes run.
        for pause in 1..=2 {
            let mut line = String::new();
            while line.trim() != "press Enter" {
                line.clear();
                assert_ne!(transcript.read_line(&mut line).unwrap(), 0, "it ends before pause {pause}");
            }
            if pause == 1 {
                keyboard.write_all(b"\n").unwrap();
            }
        }
        assert!(viewer.members().iter().any(|member| member.contains("operator")), "{:?}", viewer.members());
        let sent = Command::new("kill").args(["-s", signal, &demo.id().to_string()]).status();
        assert!(sent.unwrap().success());
        assert!(!demo.wait().unwrap().success());
        let mut rest = String::new();
        transcript.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "it did not wait for Enter");
        viewer.nothing_is_left();
    }
}

/// A stand-in for cargo and go. Each waits until the other has begun, which happens only if they run at the same time.
const BUILDER: &str = r#"#!/bin/bash
name=$(basename "$0")
case $name in cargo) other=go ;; go) other=cargo ;; esac
echo "$* in $PWD" > "$HOME/$name.began"
for ((tries = 0; tries < 1000; tries++)); do
    [ ! -e "$HOME/$other.began" ] || break
    sleep 0.02
done
[ -e "$HOME/$other.began" ] || exit 1
if [ "$name" = cargo ]; then
    mkdir -p "$CARGO_TARGET_DIR/debug"
    printf '#!/bin/sh\necho "played: $*"\n' > "$CARGO_TARGET_DIR/debug/plimsoll"
    chmod +x "$CARGO_TARGET_DIR/debug/plimsoll"
fi
"#;

#[test]
fn the_script_says_first_how_long_it_takes_and_builds_both_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["cargo", "go"] {
        fs::write(bin.join(name), BUILDER).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let run = |path: &str| {
        let mut script = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo"));
        script.args(["--keep"]).env("PATH", path).env("HOME", folder.path()).env_remove("XDG_CACHE_HOME");
        let output = script.env("CARGO_TARGET_DIR", folder.path().join("target")).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    let (_, _, refused) = run("/usr/bin:/bin");
    assert!(refused.starts_with("The demo needs cargo go"), "{refused}");

    let path = format!("{}:/usr/bin:/bin", bin.display());
    let (succeeded, played, said) = run(&path);
    assert!(succeeded, "{said}");
    assert_eq!(played, "played: demo --keep\n");
    let first = said.lines().next().unwrap_or_default();
    assert!(first.starts_with("Building plimsoll with Cargo, and at the same time"), "{said}");
    assert!(first.contains("minutes on") && first.ends_with("cores."), "{said}");
    let began = |name: &str| fs::read_to_string(folder.path().join(format!("{name}.began"))).unwrap();
    assert!(began("go").starts_with("build -trimpath . ./kwok in"), "{}", began("go"));
    assert!(began("go").trim_end().ends_with("tools/control-plane"), "{}", began("go"));

    let build = folder.path().join(".cache/plimsoll/control-plane/0123456789abcdef");
    fs::create_dir_all(&build).unwrap();
    fs::write(build.join("kwok"), "").unwrap();
    let (succeeded, played, said) = run(&path);
    assert!(succeeded && said.is_empty(), "{said}");
    assert_eq!(played, "played: demo --keep\n");
}
