//! Python with third-party SDKs: Crossplane's, to call a function we did not write, and Oracle's, to be called by a client
//! we did not write.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A package on PyPI, pinned for all tests.
struct Package {
    name: &'static str,
    version: &'static str,
    /// Below the cache folder.
    folder: &'static str,
}

const FUNCTIONS: Package =
    Package { name: "crossplane-function-sdk-python", version: "0.15.1", folder: "function-python" };
const ORACLE_CLOUD: Package = Package { name: "oci", version: "2.189.0", folder: "oci-python" };

/// A Python with Crossplane's function SDK, in the version that the book's example uses.
///
/// # Panics
///
/// See [`with_oci_sdk`].
pub fn with_function_sdk() -> Option<PathBuf> {
    with(&FUNCTIONS)
}

/// A Python with Oracle's SDK, installed once. Without `python3` it prints a note and returns none.
///
/// # Panics
///
/// If the environment cannot be created, or if `CI=true` and there is no `python3`: CI must not skip the test.
pub fn with_oci_sdk() -> Option<PathBuf> {
    with(&ORACLE_CLOUD)
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn with(package: &Package) -> Option<PathBuf> {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "python3 is needed in CI");
        eprintln!("skipped: no python3 on PATH");
        return None;
    }
    let environment = sandbox::Environment::from_process().expect("tests have a home");
    let versions = environment.cache.join(package.folder);
    let venv = versions.join(package.version);
    if !venv.exists() {
        // Created under another name and renamed, so that interrupted or concurrent installations do no harm. Nothing
        // used here depends on its location.
        fs::create_dir_all(&versions).expect("the cache can be written");
        let temporary = tempfile::tempdir_in(&versions).expect("the cache can be written");
        run(Command::new("python3").args(["-m", "venv"]).arg(temporary.path()));
        let requirement = format!("{}=={}", package.name, package.version);
        let pip = ["-m", "pip", "install", "--quiet", requirement.as_str()];
        run(Command::new(temporary.path().join("bin/python")).args(pip));
        let created = temporary.keep();
        if fs::rename(&created, &venv).is_err() {
            assert!(venv.exists(), "{} cannot be renamed", created.display());
            fs::remove_dir_all(&created).expect("the folder was created here");
        }
    }
    Some(venv.join("bin/python"))
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
