//! Python with Crossplane's function SDK, so that a function of somebody else's making can be called.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The version that the book's example and every test use.
const SDK: &str = "0.15.1";

/// A Python that can import the SDK, made once and kept; nothing, said on standard error, where there is no `python3`.
///
/// # Panics
///
/// If the environment cannot be made, and without `python3` where `CI=true`: there the test must not be skipped.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub fn with_function_sdk() -> Option<PathBuf> {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "python3 is needed in CI");
        eprintln!("skipped: there is no python3");
        return None;
    }
    let environment = sandbox::Environment::from_process().expect("tests have a home");
    let versions = environment.cache.join("function-python");
    let venv = versions.join(SDK);
    if !venv.exists() {
        // Made under another name and moved, so that an interrupted one is never used and two do not meet. Nothing in it
        // that is used here depends on where it is.
        fs::create_dir_all(&versions).expect("the cache can be written");
        let making = tempfile::tempdir_in(&versions).expect("the cache can be written");
        run(Command::new("python3").args(["-m", "venv"]).arg(making.path()));
        let package = format!("crossplane-function-sdk-python=={SDK}");
        let pip = ["-m", "pip", "install", "--quiet", package.as_str()];
        run(Command::new(making.path().join("bin/python")).args(pip));
        let made = making.keep();
        if fs::rename(&made, &venv).is_err() {
            assert!(venv.exists(), "{} cannot be renamed", made.display());
            fs::remove_dir_all(&made).expect("the folder is ours");
        }
    }
    Some(venv.join("bin/python"))
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program is there");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
