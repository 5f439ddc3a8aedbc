//! Builds a kustomization with the `kustomize` or `kubectl` of this machine: there is no faithful implementation outside Go.

use std::io::ErrorKind;
use std::process::Stdio;
use std::{env, ffi};

use diag::Diagnostic;

use tokio::process::Command;

use crate::codes;

/// The programs that can build, in order of preference.
const BUILDERS: [(&str, &[&str]); 2] = [("kustomize", &["build", "--"]), ("kubectl", &["kustomize", "--"])];

/// Why a machine without them cannot build, and what to do.
const ABSENT: &str = "neither kustomize nor kubectl is installed on this machine. The provider builds kustomizations with one of them, \
                      because the rules of kustomize exist only as a Go library. Install kustomize, or kubectl, in a folder of PATH. Or \
                      build the kustomization elsewhere, and pass the result as content = file(\"built.yaml\").";

/// The result of a build.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Built {
    /// The objects, as one YAML text.
    pub(super) text: String,
    /// The builder's warnings.
    pub(super) warnings: Vec<String>,
}

/// Builds the kustomization at `path`; otherwise says why that failed. Dropping the future kills the builder.
pub(super) async fn build(path: &str) -> Result<Built, String> {
    build_with(&BUILDERS, path).await
}

async fn build_with(builders: &[(&str, &[&str])], path: &str) -> Result<Built, String> {
    let failed = |why: &str| format!("failed to build kustomization at {path:?}: {why}");
    for (program, arguments) in builders {
        let mut command = Command::new(program);
        // Remote bases are fetched with git, which must not prompt.
        command
            .args(*arguments)
            .arg(path)
            .stdin(Stdio::null())
            .env("GIT_TERMINAL_PROMPT", "0")
            .kill_on_drop(true);
        let output = match command.output().await {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(&format!("{program} does not start: {error}"))),
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(failed(&format!("{program} reports:\n\n{}", errors.trim())));
        }
        let text = String::from_utf8(output.stdout)
            .map_err(|_| failed(&format!("{program} printed something other than text")))?;
        return Ok(Built { text, warnings: warnings(&errors) });
    }
    Err(failed(ABSENT))
}

/// The warning about a kustomization whose path is not known yet, if this machine could not build it: the build itself would
/// report that in the middle of an apply.
pub(super) fn missing_builder() -> Option<Diagnostic> {
    let installed = |program: &str| is_installed(program, &env::var_os("PATH").unwrap_or_default());
    if BUILDERS.iter().any(|(program, _)| installed(program)) {
        return None;
    }
    Some(
        Diagnostic::warning(codes::KUSTOMIZE_ABSENT, "Kustomize Not Installed")
            .detail(format!("The kustomization will be built during the apply, and {ABSENT}")),
    )
}

fn is_installed(program: &str, path: &ffi::OsStr) -> bool {
    let file = format!("{program}{}", env::consts::EXE_SUFFIX);
    env::split_paths(path).any(|folder| folder.join(&file).is_file())
}

/// The warnings among the lines of `errors`, without their prefix.
fn warnings(errors: &str) -> Vec<String> {
    let warning = |line: &str| {
        let text = line.trim_start_matches("# ").strip_prefix("Warning:")?;
        Some(text.trim().to_owned())
    };
    errors.lines().filter_map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A builder that prints its arguments.
    async fn built(script: &str) -> Result<Built, String> {
        build_with(&[("no-such-builder", &[]), ("sh", &["-c", script])], "some/folder").await
    }

    #[tokio::test]
    async fn the_first_builder_that_is_installed_builds() {
        let built =
            built("echo kind: \"$0\"; echo '# Warning: old' >&2; echo noise >&2; echo 'Warning: older' >&2")
                .await;
        let warnings = vec!["old".to_owned(), "older".to_owned()];
        assert_eq!(built, Ok(Built { text: "kind: some/folder\n".to_owned(), warnings }));
    }

    #[tokio::test]
    async fn a_builder_with_much_output_neither_hangs_nor_mixes_with_another() {
        let noisy = |name: &str| {
            format!(
                "i=0; while [ $i -lt 3000 ]; do echo 'Warning: {name} {name} {name} {name} {name}' >&2; i=$((i+1)); done"
            )
        };
        let (one, other) = (noisy("one"), noisy("other"));
        let (one, other) = tokio::join!(built(&one), built(&other));
        let (one, other) = (one.unwrap().warnings, other.unwrap().warnings);
        assert_eq!((one.len(), other.len()), (3000, 3000));
        assert!(one.iter().all(|line| line.starts_with("one")));
        assert!(other.iter().all(|line| line.starts_with("other")));
    }

    #[tokio::test]
    async fn a_failure_quotes_the_builder() {
        let failed = built("echo 'no such file' >&2; exit 1").await.unwrap_err();
        assert_eq!(failed, "failed to build kustomization at \"some/folder\": sh reports:\n\nno such file");
        let missing = build_with(&[("no-such-builder", &[])], "x").await.unwrap_err();
        assert!(missing.contains("neither kustomize nor kubectl is installed"), "{missing}");
    }

    #[test]
    fn programs_are_found_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kustomize"), "").unwrap();
        let path = env::join_paths(["/nowhere".as_ref(), folder.path()]).unwrap();
        assert_eq!(is_installed("kustomize", &path), cfg!(unix));
        assert!(!is_installed("kubectl", &path));
        assert!(!is_installed("kustomize", "".as_ref()));
    }
}
