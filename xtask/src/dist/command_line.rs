//! `plimsoll` for people: the program with completions, man pages and the licence.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::Release;
use super::cargo_build::{Platform, Programs};
use super::tarball::Files;
use super::{output, say};

/// Where shells expect each script, by the name of the shell.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "bash/plimsoll"), ("zsh", "zsh/_plimsoll"), ("fish", "fish/plimsoll.fish")];

/// `is_native` says whether this machine can run the program, which prints its own completions and man pages.
pub(super) fn archive(
    release: &Release,
    platform: &Platform,
    programs: &Programs,
    is_native: bool,
) -> Result<PathBuf> {
    let name = format!("plimsoll_{}_{}", release.version, platform.registry);
    let mut files = Files::default();
    files.program(&format!("{name}/plimsoll{}", platform.suffix()), &programs.plimsoll);
    files.copy(&format!("{name}/LICENSE"), &release.root.join("LICENSE"));
    files.copy(&format!("{name}/CHANGELOG.md"), &release.root.join("CHANGELOG.md"));
    if is_native {
        for (shell, path) in COMPLETIONS {
            let script = output(Command::new(&programs.plimsoll).args(["completions", shell]))?;
            files.text(&format!("{name}/completions/{path}"), script);
        }
        let pages = tempfile::tempdir().context("creating a folder for man pages")?;
        output(Command::new(&programs.plimsoll).args(["reference", "man", "--out"]).arg(pages.path()))?;
        files.tree(&format!("{name}/man/man1"), pages.path(), &|_| true)?;
        return write(release, &name, &files);
    }
    say(&format!("left out: completions and man pages for {} (it does not run here)", platform.registry));
    write(release, &name, &files)
}

fn write(release: &Release, name: &str, files: &Files) -> Result<PathBuf> {
    let archive = release.out.join(format!("{name}.tar.gz"));
    files.write_gz(&archive, release.time)?;
    Ok(archive)
}
