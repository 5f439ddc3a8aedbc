//! `plimsoll terraform install` and `uninstall`: this program as a provider, in the local mirror that Terraform and OpenTofu
//! search without any settings.

mod uninstall;

use std::env::consts;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use diag::Diagnostic;
use serde_json::json;

use crate::args::terraform::{Install, Terraform};
use crate::codes;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::{DIM, GOOD, LITERAL, Printer};
use crate::support::process::own_executable;

/// The address of the Go provider, in the registry of each client, which is part of the address.
const DROP_IN: [&str; 2] =
    ["registry.terraform.io/jmorris0x0/k8sconnect", "registry.opentofu.org/jmorris0x0/k8sconnect"];
/// Our own address. No registry serves it yet, so a mirror is the only way to install it.
const OWN: &str = "plimsoll.dev/plimsoll/k8sconnect";

pub(super) fn run(command: &Terraform, printer: &mut Printer) -> Outcome {
    match command {
        Terraform::Install(args) => install(args, printer),
        Terraform::Uninstall(args) => uninstall::run(args, printer),
    }
}

fn install(args: &Install, printer: &mut Printer) -> Outcome {
    let mirror = match &args.folder {
        Some(folder) => folder.clone(),
        None => user_mirror()?,
    };
    let program = own_executable()?;
    let drop_in = args.as_version.as_ref().map_or_else(drop_in_version, |version| version.0.clone());
    let addresses = DROP_IN.map(|address| (address, drop_in.as_str())).into_iter();
    let mut installed: Vec<PathBuf> = Vec::new();
    let mut results = Vec::new();
    for (address, version) in addresses.chain([(OWN, env!("CARGO_PKG_VERSION"))]) {
        let target = package(&mirror, address, version);
        let placed = match installed.first() {
            Some(first) => place(first, &target, |part| {
                fs::hard_link(first, part).or_else(|_| fs::copy(first, part).map(drop))
            }),
            // Not a link: the copy stays as it is when this program is updated, because lock files contain its hash.
            None => place(&program, &target, |part| fs::copy(&program, part).map(drop)),
        };
        let is_replaced = placed.map_err(|error| unwritable(&target, &error))?;
        results.push((address, version, target.clone(), is_replaced));
        installed.push(target);
    }
    let data: Vec<_> = results
        .iter()
        .map(|(address, version, path, _)| json!({ "address": address, "version": version, "path": path }))
        .collect();
    printer.output(&data, results.iter().map(|(address, ..)| *address), |printer| {
        results.iter().try_for_each(|(address, version, ..)| {
            printer.data(format_args!("{GOOD}installed{GOOD:#} {address} {version}"))
        })
    })?;
    printer.message(format_args!(
        "{DIM}in {}; select it with{DIM:#} {LITERAL}terraform init -upgrade{LITERAL:#}",
        mirror.display()
    ));
    printer.message(
        "For these addresses the folder replaces the registry: configurations that are locked to another version, such as 0.3.8, need \
         `terraform init -upgrade` too. To undo it: `plimsoll terraform uninstall`.",
    );
    if results.iter().any(|(.., is_replaced)| *is_replaced) {
        printer.diagnostic(&replaced());
    }
    if args.folder.is_none()
        && let Some(file) = overriding_settings()
    {
        printer.diagnostic(&overridden(&file, &mirror));
    }
    Ok(Exit::Success)
}

/// The version of the drop-in. It follows from ours: 0.2.1 is 0.3.201, so a later release is always above an earlier one.
fn drop_in_version() -> String {
    let number = |text: &str| text.parse::<u32>().expect("cargo checks versions");
    let patch = number(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000
        + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
        + number(env!("CARGO_PKG_VERSION_PATCH"));
    format!("0.3.{patch}")
}

/// The program in an unpacked mirror: HOST/NAMESPACE/TYPE/VERSION/PLATFORM/PROGRAM.
fn package(mirror: &Path, address: &str, version: &str) -> PathBuf {
    let program = format!("{}_v{version}{}", provider::PROGRAM, consts::EXE_SUFFIX);
    mirror.join(address).join(version).join(platform()).join(program)
}

/// This platform, as Go and so the registry calls it.
fn platform() -> String {
    let system = match consts::OS {
        "macos" => "darwin",
        system => system,
    };
    let processor = match consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        processor => processor,
    };
    format!("{system}_{processor}")
}

/// Puts the program at `target`, with `write` for a file that is renamed to it. Returns whether another program was there.
fn place(program: &Path, target: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<bool> {
    let folder = target.parent().unwrap_or(target);
    fs::create_dir_all(folder)?;
    let before = fs::read(target).ok();
    if before.as_ref() == Some(&fs::read(program)?) {
        return Ok(false);
    }
    // A client that starts the provider now sees the former program or the new one, never half of it.
    let part = folder.with_extension("part");
    write(&part)?;
    fs::rename(&part, target)?;
    Ok(before.is_some())
}

/// The folder that both clients search for the current user.
fn user_mirror() -> Result<PathBuf, Failure> {
    let base = if cfg!(windows) {
        std::env::var_os("APPDATA").map(|folder| PathBuf::from(folder).join("terraform.d"))
    } else {
        std::env::home_dir().map(|home| home.join(".terraform.d"))
    };
    let base = base.filter(|base| base.is_absolute()).ok_or_else(|| {
        Diagnostic::error(codes::ENVIRONMENT, "there is no home folder to install the provider in")
            .hint("Set HOME, or choose a folder with --folder.")
    })?;
    Ok(base.join("plugins"))
}

/// A settings file of a client that says itself where providers come from: then mirrors are not searched by default.
fn overriding_settings() -> Option<PathBuf> {
    let decides = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().any(|line| line.trim_start().starts_with("provider_installation"))
    };
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    settings_files(variable, std::env::home_dir()).into_iter().find(decides)
}

/// The files in which clients look for settings.
fn settings_files(variable: impl Fn(&str) -> Option<PathBuf>, home: Option<PathBuf>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"].into_iter().filter_map(&variable).collect();
    let (folder, names) = if cfg!(windows) {
        (variable("APPDATA"), ["terraform.rc", "tofu.rc"])
    } else {
        (home, [".terraformrc", ".tofurc"])
    };
    files.extend(folder.into_iter().flat_map(|folder| names.map(|name| folder.join(name))));
    if !cfg!(windows) {
        files.extend(variable("XDG_CONFIG_HOME").map(|folder| folder.join("opentofu/tofurc")));
    }
    files
}

fn unwritable(target: &Path, error: &io::Error) -> Failure {
    Diagnostic::error(codes::REPORT_UNWRITABLE, format!("cannot write {}", target.display()))
        .detail(format!("Cause: {error}."))
        .hint("Choose a folder that you can write to with --folder.")
        .into()
}

fn replaced() -> Diagnostic {
    Diagnostic::warning(codes::PROVIDER_REPLACED, "another program had the same version")
        .detail("Lock files contain the hash of a provider, so configurations that were initialised with it are refused.")
        .hint("Remove the provider's entry from .terraform.lock.hcl, or install another version with --as-version.")
}

fn overridden(file: &Path, mirror: &Path) -> Diagnostic {
    let title = format!("{} decides where providers come from", file.display());
    Diagnostic::warning(codes::MIRROR_NOT_SEARCHED, title)
        .detail("A block `provider_installation` replaces the default, by which the folder of the mirror is searched.")
        .hint(format!("Add this to the block: filesystem_mirror {{ path = {:?} }}", mirror.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_where_a_mirror_has_it() {
        let path = package(Path::new("/m"), OWN, "1.2.3");
        let expected = format!(
            "/m/plimsoll.dev/plimsoll/k8sconnect/1.2.3/{}/terraform-provider-k8sconnect_v1.2.3",
            platform()
        );
        assert_eq!(path.to_str(), Some(expected.as_str()));
    }

    #[cfg(not(windows))]
    #[test]
    fn every_file_that_a_client_reads_is_looked_at() {
        let check = |set: &[(&str, &str)], expected: &[&str]| {
            let variable = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| PathBuf::from(value))
            };
            let files = settings_files(variable, Some("/h".into()));
            assert_eq!(files, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{set:?}");
        };
        check(&[], &["/h/.terraformrc", "/h/.tofurc"]);
        check(&[("TF_CLI_CONFIG_FILE", "/a")], &["/a", "/h/.terraformrc", "/h/.tofurc"]);
        check(&[("XDG_CONFIG_HOME", "/x")], &["/h/.terraformrc", "/h/.tofurc", "/x/opentofu/tofurc"]);
    }

    #[test]
    fn a_program_is_replaced_only_by_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        let target = folder.path().join("a/b/c");
        fs::write(&one, "1").unwrap();
        fs::write(&other, "2").unwrap();
        let put = |program: &PathBuf| place(program, &target, |part| fs::copy(program, part).map(drop));
        let results = [&one, &one, &other].map(|program| put(program).unwrap());
        assert_eq!(results, [false, false, true]);
        assert_eq!(fs::read_to_string(&target).unwrap(), "2");
    }
}
