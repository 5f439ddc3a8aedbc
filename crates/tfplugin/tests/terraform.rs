//! The example provider with a real `terraform`, where one is installed.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "clippy recognises only test functions as tests"
)]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A working folder with a configuration, a shelf, and a `terraform` that uses the example provider.
struct Workspace {
    folder: TempDir,
    reattach: Option<String>,
}

impl Workspace {
    /// `None`, with a message, where there is no `terraform`.
    fn new() -> Option<Self> {
        let works =
            Command::new("terraform").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !works.is_ok_and(|status| status.success()) {
            println!("skipped: terraform is not installed");
            return None;
        }
        let workspace = Self { folder: tempfile::tempdir().unwrap(), reattach: None };
        std::fs::create_dir(workspace.shelf()).unwrap();
        let plugins = workspace.path("plugins");
        std::fs::create_dir(&plugins).unwrap();
        std::os::unix::fs::symlink(provider(), plugins.join("terraform-provider-shelf")).unwrap();
        let overrides = format!(
            "provider_installation {{\n  dev_overrides {{ \"acme/shelf\" = \"{}\" }}\n  direct {{}}\n}}\n",
            plugins.display()
        );
        std::fs::write(workspace.path("cli.tfrc"), overrides).unwrap();
        Some(workspace)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn shelf(&self) -> PathBuf {
        self.path("shelf")
    }

    fn note(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.shelf().join(name)).ok()
    }

    fn write(&self, resources: &str) {
        let mut main =
            "terraform {\n  required_providers {\n    shelf = { source = \"acme/shelf\" }\n  }\n}\n"
                .to_owned();
        writeln!(main, "provider \"shelf\" {{\n  folder = \"{}\"\n}}\n{resources}", self.shelf().display())
            .unwrap();
        std::fs::write(self.path("main.tf"), main).unwrap();
    }

    fn run(&self, arguments: &str) -> Outcome {
        let mut command = Command::new("terraform");
        command
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .env("TF_CLI_CONFIG_FILE", self.path("cli.tfrc"))
            .env("TF_IN_AUTOMATION", "1")
            .env("CHECKPOINT_DISABLE", "1")
            .env("NO_COLOR", "1")
            .env_remove("TF_LOG")
            .env_remove("TF_LOG_PROVIDER");
        if let Some(reattach) = &self.reattach {
            command.env("TF_REATTACH_PROVIDERS", reattach);
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        // Terraform wraps and frames messages; only the words matter.
        let words = text.split_whitespace().filter(|word| !matches!(*word, "│" | "╷" | "╵"));
        Outcome { code: output.status.code().unwrap(), text: words.collect::<Vec<_>>().join(" ") }
    }

    fn apply(&self, resources: &str) -> Outcome {
        self.write(resources);
        self.run("apply -auto-approve -no-color")
    }

    /// A plan that must be empty.
    fn expect_no_changes(&self) {
        self.run("plan -no-color -detailed-exitcode").expect(0, &["No changes."]);
    }

    fn state(&self) -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(self.path("terraform.tfstate")).unwrap()).unwrap()
    }
}

struct Outcome {
    code: i32,
    text: String,
}

impl Outcome {
    #[track_caller]
    fn expect(self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, code, "{}", self.text);
        for text in texts {
            assert!(self.text.contains(text), "{text:?} is not in: {}", self.text);
        }
    }
}

/// The example, which cargo builds along with the tests.
fn provider() -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let provider = deps.parent().and_then(Path::parent).unwrap().join("examples/shelf");
    assert!(provider.exists(), "build the examples too: `cargo test -p tfplugin`");
    provider
}

const NOTE: &str = r#"
resource "shelf_note" "a" {
  name  = "first"
  text  = "hello wide world"
  tags  = { "é" = "ü" }
  cover = {}
}
output "starts"  { value = startswith(shelf_note.a.id, "note-") }
output "words"   { value = shelf_note.a.words[2] }
output "seal"    { value = shelf_note.a.cover.seal }
"#;

fn lifecycle(workspace: &Workspace) {
    // The refinement of the unknown id makes the output known before the id.
    workspace.write(NOTE);
    workspace
        .run("plan -no-color")
        .expect(0, &["1 to add", "+ starts = true", "+ words = (known after apply)"]);
    workspace
        .run("apply -auto-approve -no-color")
        .expect(0, &["1 added, 0 changed, 0 destroyed", "words = \"world\"", "seal = \"sealed by blue\""]);
    assert_eq!(workspace.note("first").as_deref(), Some("hello wide world"));
    workspace.expect_no_changes();
    let state = workspace.state();
    let instance = &state["resources"][0]["instances"][0];
    assert_eq!(instance["schema_version"], 1);
    // {"edition":"MQ=="}, in Terraform's own base64.
    assert_eq!(instance["private"], "eyJlZGl0aW9uIjoiTVE9PSJ9");

    // A change outside Terraform is detected and corrected in place.
    std::fs::write(workspace.shelf().join("first"), "scribbled over").unwrap();
    workspace
        .run("plan -no-color -detailed-exitcode")
        .expect(2, &["0 to add, 1 to change, 0 to destroy", "scribbled over"]);
    workspace.apply(NOTE).expect(0, &["0 added, 1 changed, 0 destroyed"]);
    assert_eq!(workspace.note("first").as_deref(), Some("hello wide world"));

    // A new text updates the note and keeps its id; a new name replaces the note.
    let updated = NOTE.replace("hello wide world", "goodbye old world");
    workspace.apply(&updated).expect(0, &["0 added, 1 changed, 0 destroyed", "words = \"world\""]);
    workspace
        .apply(&updated.replace("\"first\"", "\"second\""))
        .expect(0, &["# forces replacement", "1 added, 0 changed, 1 destroyed"]);
    assert_eq!(
        (workspace.note("first"), workspace.note("second").as_deref()),
        (None, Some("goodbye old world"))
    );

    // A missing note is created again.
    std::fs::remove_file(workspace.shelf().join("second")).unwrap();
    workspace.run("apply -auto-approve -no-color").expect(0, &["1 added, 0 changed, 0 destroyed"]);

    workspace.run("destroy -auto-approve -no-color").expect(0, &["1 destroyed"]);
    assert_eq!(std::fs::read_dir(workspace.shelf()).unwrap().count(), 0);
}

#[test]
fn the_whole_lifecycle_works_over_mutual_tls() {
    let Some(workspace) = Workspace::new() else { return };
    lifecycle(&workspace);
}

#[test]
fn the_whole_lifecycle_works_in_reattach_mode() {
    let Some(mut workspace) = Workspace::new() else { return };
    let attached = Attached::start();
    workspace.reattach = Some(attached.reattach.clone());
    lifecycle(&workspace);
}

/// A provider started with `-debug`, killed in the end.
struct Attached {
    process: Child,
    reattach: String,
}

impl Attached {
    fn start() -> Self {
        let mut process = Command::new(provider()).arg("-debug").stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let reattach = lines.filter_map(|line| {
            let value = line.trim().strip_prefix("TF_REATTACH_PROVIDERS='")?.strip_suffix('\'')?;
            Some(value.to_owned())
        });
        let reattach = { reattach }.next().unwrap();
        Self { process, reattach }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[test]
fn secrets_reach_the_provider_and_not_the_state() {
    let Some(workspace) = Workspace::new() else { return };
    let sealed = "ephemeral \"shelf_password\" \"p\" {\n  hint = \"2\"\n}\n\
                  resource \"shelf_note\" \"a\" {\n  name = \"a\"\n  text = \"x\"\n  \
                  password = ephemeral.shelf_password.p.value\n}\n\
                  output \"short\" {\n  value = provider::shelf::abbreviate(\"wide\", 2)\n}\n";
    workspace.apply(sealed).expect(0, &["1 added", "short = \"wi\""]);
    assert_eq!(workspace.note("a.sealed").as_deref(), Some("hunter2"));
    assert!(!workspace.state().to_string().contains("hunter2"));
    workspace.expect_no_changes();
    workspace.write(&sealed.replace("2)", "-2)"));
    workspace
        .run("plan -no-color")
        .expect(1, &["Invalid value for \"letters\" parameter", "A number of letters is not negative"]);
}

#[test]
fn a_warning_names_its_attribute_and_a_panic_fails_one_resource() {
    let Some(workspace) = Workspace::new() else { return };
    let loud = "resource \"shelf_note\" \"a\" {\n  name = \"a\"\n  text = \"LOUD\"\n}\n";
    workspace.apply(loud).expect(0, &[
        "Warning: The note is loud with shelf_note.a, on main.tf line 11, in resource \"shelf_note\" \"a\": 11: text = \"LOUD\"",
        "All its letters are capitals. Write it in lower case.",
    ]);
    let doomed = loud.replace("LOUD", "the end of the world");
    let other = "resource \"shelf_note\" \"b\" {\n  name = \"b\"\n  text = \"fine\"\n}\n";
    workspace.apply(&(doomed + other)).expect(
        1,
        &[
            "Error: The provider panicked with shelf_note.a",
            "ApplyResourceChange panicked at crates/tfplugin/examples/shelf.rs:",
            "this text cannot be written",
        ],
    );
    // The failed update lost no state, and the other note exists.
    assert_eq!(
        (workspace.note("a").as_deref(), workspace.note("b").as_deref()),
        (Some("LOUD"), Some("fine"))
    );
    let state = workspace.state();
    assert_eq!(state["resources"][0]["instances"][0]["attributes"]["text"], "LOUD");
    workspace.write("resource \"shelf_note\" \"a\" {\n  name = \"\"\n  text = \"\"\n}\n");
    workspace.run("validate -no-color").expect(1, &["A note needs a name", "on main.tf line 10"]);
}

#[test]
fn states_are_imported_upgraded_and_moved() {
    let Some(workspace) = Workspace::new() else { return };
    std::fs::write(workspace.shelf().join("found"), "an old note").unwrap();
    let note = "resource \"shelf_note\" \"a\" {\n  name = \"found\"\n  text = \"an old note\"\n}\n";
    workspace.write(note);
    workspace.run("import -no-color shelf_note.a found").expect(0, &["Import successful!"]);
    workspace.expect_no_changes();

    // The same state as version 0 wrote it.
    let mut state = workspace.state();
    let instance = &mut state["resources"][0]["instances"][0];
    instance["schema_version"] = 0.into();
    instance["attributes"] = serde_json::json!({ "name": "found", "content": "an old note", "pages": 3 });
    std::fs::write(workspace.path("terraform.tfstate"), state.to_string()).unwrap();
    workspace.expect_no_changes();

    let scrap = "resource \"shelf_scrap\" \"s\" {\n  title = \"grown\"\n}\n";
    std::fs::write(workspace.shelf().join("grown"), "grown up").unwrap();
    workspace.apply(&format!("{note}{scrap}")).expect(0, &["1 added"]);
    let grown = "resource \"shelf_note\" \"s\" {\n  name = \"grown\"\n  text = \"grown up\"\n}\n";
    let moved = "moved {\n  from = shelf_scrap.s\n  to   = shelf_note.s\n}\n";
    workspace.apply(&format!("{note}{grown}{moved}")).expect(0, &["0 added, 0 changed, 0 destroyed"]);
    workspace
        .apply(&format!("{note}{scrap}{}", "moved {\n  from = shelf_note.s\n  to   = shelf_scrap.s\n}\n"))
        .expect(1, &["Unable to Move Resource State", "Source Resource Type: shelf_note"]);
}

#[test]
fn data_sources_are_read_and_log_lines_reach_terraform() {
    let Some(workspace) = Workspace::new() else { return };
    let data = "data \"shelf_notes\" \"all\" {\n  depends_on = [shelf_note.a]\n}\noutput \"names\" {\n  value = join(\"+\", data.shelf_notes.all.names)\n}\n";
    let note = "resource \"shelf_note\" \"a\" {\n  name = \"b\"\n  text = \"x\"\n}\n";
    std::fs::write(workspace.shelf().join("a"), "").unwrap();
    workspace.apply(&format!("{note}{data}")).expect(0, &["names = \"a+b\""]);

    workspace.write(&note.replace("\"x\"", "\"y\""));
    let log = workspace.path("log");
    let status = Command::new("terraform")
        .args(["apply", "-auto-approve", "-no-color"])
        .current_dir(workspace.folder.path())
        .env("TF_CLI_CONFIG_FILE", workspace.path("cli.tfrc"))
        .env("TF_LOG_PROVIDER", "INFO")
        .env("TF_LOG_PATH", &log)
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let log = std::fs::read_to_string(log).unwrap();
    let line = log.lines().find(|line| line.contains("wrote a note")).unwrap();
    assert!(line.contains("[INFO]  provider.terraform-provider-shelf: wrote a note:"), "{line}");
    // Go prints the fields in any order.
    assert!(line.contains(" @module=shelf") && line.contains(" edition=2"), "{line}");
}
