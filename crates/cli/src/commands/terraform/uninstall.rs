//! `plimsoll terraform uninstall`: takes out of the mirror what `plimsoll terraform install` put there, and nothing else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use diag::Diagnostic;
use serde_json::{Value, json};

use super::{DROP_IN, OWN, package, user_mirror};
use crate::args::terraform::Uninstall;
use crate::codes;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::{DIM, GOOD, LITERAL, PENDING, Printer};

pub(super) fn run(args: &Uninstall, printer: &mut Printer) -> Outcome {
    let mirror = match &args.folder {
        Some(folder) => folder.clone(),
        None => user_mirror()?,
    };
    let found = find(&mirror)?;
    if !args.dry_run {
        for package in found.iter().filter(|package| package.is_ours) {
            package.remove(&mirror).map_err(|error| immovable(&package.path, &error))?;
        }
    }
    let data: Vec<Value> = found.iter().map(|package| package.to_json(args.dry_run)).collect();
    let ours = || found.iter().filter(|package| package.is_ours);
    printer.output(&data, ours().map(|package| package.address), |printer| {
        found.iter().try_for_each(|package| printer.data(package.line(args.dry_run)))
    })?;
    if ours().next().is_none() {
        printer.message(format_args!("plimsoll has installed nothing in {}", mirror.display()));
        return Ok(Exit::Success);
    }
    let (word, will) = if args.dry_run { ("would be removed", "would then be") } else { ("removed", "are") };
    printer.message(format_args!("{DIM}{word} from {}{DIM:#}", mirror.display()));
    printer.message(format_args!(
        "Lock files that name these versions {will} refused by `terraform init`, with \"Failed to query available provider packages\". \
         {LITERAL}terraform init -upgrade{LITERAL:#} selects a release of the registry, which has jmorris0x0/k8sconnect. For {OWN}, \
         first move the state: {LITERAL}terraform state replace-provider {OWN} jmorris0x0/k8sconnect{LITERAL:#}"
    ));
    Ok(Exit::Success)
}

/// A program in the mirror under one of our addresses.
struct Package {
    address: &'static str,
    version: String,
    path: PathBuf,
    is_ours: bool,
}

/// Everything for this platform under our addresses, in order.
fn find(mirror: &Path) -> Result<Vec<Package>, Failure> {
    let mut found = Vec::new();
    for address in DROP_IN.into_iter().chain([OWN]) {
        let folder = mirror.join(address);
        let mut versions = names(&folder).map_err(|error| unreadable(&folder, &error))?;
        versions.sort();
        for version in versions {
            let path = package(mirror, address, &version);
            match is_ours(&path) {
                Ok(is_ours) => found.push(Package { address, version, path, is_ours }),
                // A version for another platform, or packed by another tool.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(unreadable(&path, &error)),
            }
        }
    }
    Ok(found)
}

/// The names of the folders in a folder; none if it does not exist.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.extend(entry.file_name().into_string().ok());
        }
    }
    Ok(names)
}

/// Every build of this program knows our address, and no other provider does. `install` makes no links.
fn is_ours(path: &Path) -> io::Result<bool> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(false);
    }
    Ok(memchr::memmem::find(&fs::read(path)?, OWN.as_bytes()).is_some())
}

impl Package {
    /// Removes the program, and the folders above it that are empty then.
    fn remove(&self, mirror: &Path) -> io::Result<()> {
        fs::remove_file(&self.path)?;
        let folders = self.path.ancestors().skip(1);
        for folder in folders.take_while(|folder| *folder != mirror) {
            match fs::remove_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => break,
                removed => removed?,
            }
        }
        Ok(())
    }

    fn line(&self, is_dry_run: bool) -> String {
        let Self { address, version, .. } = self;
        match (self.is_ours, is_dry_run) {
            (true, false) => format!("{GOOD}removed{GOOD:#} {address} {version}"),
            (true, true) => format!("{PENDING}would be removed{PENDING:#} {address} {version}"),
            (false, _) => format!("{DIM}kept {address} {version}: plimsoll has not installed it{DIM:#}"),
        }
    }

    fn to_json(&self, is_dry_run: bool) -> Value {
        let outcome = match (self.is_ours, is_dry_run) {
            (true, false) => "removed",
            (true, true) => "possible",
            (false, _) => "kept",
        };
        json!({ "address": self.address, "version": self.version, "path": self.path, "outcome": outcome })
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Diagnostic::error(codes::ENVIRONMENT, format!("cannot read {}", path.display()))
        .detail(format!("Cause: {error}."))
        .hint("Choose a folder that you can read with --folder.")
        .into()
}

fn immovable(path: &Path, error: &io::Error) -> Failure {
    Diagnostic::error(codes::ENVIRONMENT, format!("cannot remove {}", path.display()))
        .detail(format!("Cause: {error}."))
        .hint("Run the command as the user who installed it; `--dry-run` lists what it would remove.")
        .into()
}
