//! The bill of materials, in CycloneDX, by its own tool for Cargo: which crates are in a release, in which versions, under which licences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Release, output};

/// What to do where the tool is missing. Workflows install the same version.
pub(super) const ADVICE: &str = "there is no cargo-cyclonedx, which writes the bill of materials: run `cargo install --locked cargo-cyclonedx@0.5.9`, or pass \
                                 --without-sbom";
/// How the tool names a crate of this workspace, and a file that cargo would download it from.
const BY_PATH: &str = "path+file://";
const BY_FILE: &str = "download_url=file://";

/// Whether the tool is installed.
pub(super) fn is_possible() -> bool {
    output(Command::new(env!("CARGO")).args(["cyclonedx", "--version"])).is_ok()
}

/// One file for each program.
pub(super) fn write(release: &Release) -> Result<Vec<PathBuf>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["cyclonedx", "--format", "json", "--describe", "binaries", "--spec-version", "1.5", "--all"]);
    // With a time of its own, the tool leaves out the random serial number.
    cargo.env("SOURCE_DATE_EPOCH", release.time.to_string()).env("CARGO_NET_OFFLINE", "true");
    ensure!(
        cargo.current_dir(&release.root).status().context("running cargo cyclonedx")?.success(),
        "there is no bill of materials"
    );
    // As cargo names it.
    let root = fs::canonicalize(&release.root).context("resolving the workspace")?;
    let mut files = Vec::new();
    for (krate, program) in [("cli", "plimsoll"), ("provider", super::provider::NAME)] {
        let to = release.out.join(format!("{program}_{}.cdx.json", release.version));
        let from = release.root.join(format!("crates/{krate}/{program}_bin.cdx.json"));
        let text = fs::read_to_string(&from).with_context(|| format!("reading {}", from.display()))?;
        fs::write(&to, portable(&text, &root)?).with_context(|| format!("writing {}", to.display()))?;
        files.push(to);
    }
    clean(release)?;
    Ok(files)
}

/// Removes what the tool leaves beside each manifest.
fn clean(release: &Release) -> Result<()> {
    let krates = fs::read_dir(release.root.join("crates")).context("reading crates")?;
    let folders = krates.map(|krate| Ok(krate?.path())).collect::<Result<Vec<_>>>()?;
    for folder in folders.into_iter().chain(["bench", "xtask"].map(|name| release.root.join(name))) {
        for file in fs::read_dir(folder)? {
            let path = file?.path();
            if path.to_string_lossy().ends_with(".cdx.json") {
                fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}

/// The same bill of materials wherever the checkout is: crates of this workspace are named by their folder in it.
fn portable(text: &str, root: &Path) -> Result<String> {
    let text = text.replace(&format!("{BY_PATH}{}/", root.display()), "path+workspace:/");
    let mut parts = text.split(BY_FILE);
    let mut portable = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let separator = portable.pop().context("a qualifier follows `?` or `&`")?;
        let rest = &part[part.find(['"', '#', '&']).context("the bill of materials is not whole")?..];
        match rest.strip_prefix('&') {
            // Other qualifiers follow.
            Some(others) => portable.extend([&separator.to_string(), others]),
            None => portable.push_str(rest),
        }
    }
    for name in [BY_PATH, BY_FILE] {
        ensure!(!portable.contains(name), "the bill of materials names a folder of this machine: {name}");
    }
    Ok(portable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_folder_of_this_machine_is_named() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(portable(text, Path::new("/home/a/p")).ok().as_deref(), expected, "{text}");
        };
        check(
            r#""bom-ref": "path+file:///home/a/p/crates/cli#plimsoll@0.2.0","#,
            Some(r#""bom-ref": "path+workspace:/crates/cli#plimsoll@0.2.0","#),
        );
        check(
            r#""purl": "pkg:cargo/cli@0.2.0?download_url=file://.#src/main.rs","#,
            Some(r#""purl": "pkg:cargo/cli@0.2.0#src/main.rs","#),
        );
        check(
            r#"["pkg:cargo/diag@1?download_url=file://../diag","pkg:cargo/x@1?a=b&download_url=file://x&c=d"]"#,
            Some(r#"["pkg:cargo/diag@1","pkg:cargo/x@1?a=b&c=d"]"#),
        );
        check(
            r#""pkg:cargo/serde@1?download_url=https://e.org""#,
            Some(r#""pkg:cargo/serde@1?download_url=https://e.org""#),
        );
        // A crate outside the workspace.
        check(r#""path+file:///home/a/p2#0.1.0""#, None);
    }

    #[test]
    fn workflows_install_the_tool_in_the_version_of_the_advice() {
        let command = ADVICE.split('`').nth(1).unwrap();
        for name in ["nightly", "release"] {
            let path = crate::root().join(format!(".github/workflows/{name}.yaml"));
            let workflow = fs::read_to_string(path).unwrap();
            assert!(workflow.contains(&format!("run: {command}\n")), "{name}: {command}");
        }
    }
}
