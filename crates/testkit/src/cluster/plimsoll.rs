//! The `plimsoll` executable that belongs to the running test binary.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The path of `plimsoll`, which supervises sandboxes and is itself under test.
///
/// `cargo test --workspace` builds it before any test runs; the tests of a single crate build it if it is missing.
///
/// # Panics
///
/// If it cannot be built.
pub fn plimsoll() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let test = env::current_exe().expect("a running program has a path");
        // target/debug/deps/some_test-0123456789abcdef, beside target/debug/plimsoll
        let folder = test.ancestors().nth(2).expect("cargo puts test programs two folders deep");
        let program = folder.join(format!("plimsoll{}", env::consts::EXE_SUFFIX));
        if !program.exists() {
            let target = folder.parent().expect("cargo names a folder after the profile");
            let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            build.args(["build", "--package", "cli", "--bin", "plimsoll", "--target-dir"]).arg(target);
            if folder.ends_with("release") {
                build.arg("--release");
            }
            let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo starts");
            assert!(
                built.success(),
                "`cargo build --package cli` failed; the sandbox needs `plimsoll` as its supervisor"
            );
        }
        program
    })
    .clone()
}
