//! Python with the SDKs of others: Crossplane's, so that a function of somebody else's making can be called, and Oracle's,
//! so that a client of somebody else's making calls us.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A package as PyPI knows it, in the one version that every test uses.
struct Package {
    name: &'static str,
    version: &'static str,
    /// Where environments with it are kept.
    folder: &'static str,
}

const FUNCTIONS: Package =
    Package { name: "crossplane-function-sdk-python", version: "0.15.1", folder: "function-python" };
const ORACLE_CLOUD: Package = Package { name: "oci", version: "2.189.0", folder: "oci-python" };

/// A Python that can import Crossplane's function SDK, of the version that the book's example uses.
///
/// # Panics
///
/// As [`with_oci_sdk`] does.
pub fn with_function_sdk() -> Option<PathBuf> {
    with(&FUNCTIONS)
}

/// A Python that can import Oracle's SDK, made once and kept; nothing, said on standard error, where there is no
/// `python3`.
///
/// # Panics
///
/// If the environment cannot be made, and without `python3` where `CI=true`: there the test must not be skipped.
pub fn with_oci_sdk() -> Option<PathBuf> {
    with(&ORACLE_CLOUD)
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn with(package: &Package) -> Option<PathBuf> {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "python3 is needed in CI");
        eprintln!("skipped: there is no python3");
        return None;
    }
    let environment = sandbox::Environment::from_process().expect("tests have a home");
    let versions = environment.cache.join(package.folder);
    let venv = versions.join(package.version);
    if !venv.exists() {
        // Made under another name and moved, so that an interrupted one is never used and two do not meet. Nothing in it
        // that is used here depends on where it is.
        fs::create_dir_all(&versions).expect("the cache can be written");
        let making = tempfile::tempdir_in(&versions).expect("the cache can be written");
        run(Command::new("python3").args(["-m", "venv"]).arg(making.path()));
        let wanted = format!("{}=={}", package.name, package.version);
        let pip = ["-m", "pip", "install", "--quiet", wanted.as_str()];
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
