//! Where everything of a sandbox is on disk.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::lifecycle::MARK;
use super::programs::Program;
use crate::Environment;

/// The name of a sandbox: lower-case letters, digits and hyphens, at most 40.
///
/// It becomes part of folder names and of context names, so it is kept as simple as a Kubernetes label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// A name that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no name for a sandbox: use lower-case letters, digits and hyphens, at most 40, and begin with a letter or digit"
)]
pub struct InvalidName(String);

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Name {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for Name {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        let fits = (1..=40).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !text.starts_with('-');
        if fits { Ok(Self(text)) } else { Err(InvalidName(text)) }
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

/// The folder of one sandbox. It is gone when the sandbox is down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The folder of the sandbox `name`.
    pub fn new(environment: &Environment, name: &Name) -> Self {
        Self { root: all(environment).join(name.as_str()) }
    }

    /// The folder at `root`, as the supervisor is told.
    pub(crate) fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What runs, as the supervisor writes it down.
    pub fn state(&self) -> PathBuf {
        self.root.join("state.json")
    }

    /// Locked by whoever needs the sandbox to stay.
    pub fn lease(&self) -> PathBuf {
        self.root.join("lease")
    }

    /// The kubeconfig for people and their programs.
    pub fn kubeconfig(&self) -> PathBuf {
        self.root.join("kubeconfig")
    }

    /// A folder with nothing but `kubectl`, to be put on `PATH`.
    pub fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// The folder of the log files.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The log of `program`.
    pub fn log(&self, program: Program) -> PathBuf {
        self.logs().join(format!("{program}.log"))
    }

    /// What the supervisor itself had to say.
    pub fn supervisor_log(&self) -> PathBuf {
        self.logs().join("supervisor.log")
    }

    /// The API server's audit log, if it was asked for.
    pub fn audit_log(&self) -> PathBuf {
        self.logs().join("audit.jsonl")
    }

    /// The variable, and its value, by which a process belongs to the sandbox: whatever has it in its environment ends
    /// with the sandbox.
    pub fn membership(&self) -> (&'static str, &Path) {
        (MARK, &self.root)
    }

    /// What the supervisor is to do.
    pub(crate) fn options(&self) -> PathBuf {
        self.root.join("options.json")
    }

    /// The kubeconfig of the control plane's own programs, which no user edits.
    pub(crate) fn components_kubeconfig(&self) -> PathBuf {
        self.root.join("components.kubeconfig")
    }

    /// The folder of keys and certificates.
    pub(crate) fn pki(&self) -> PathBuf {
        self.root.join("pki")
    }

    /// etcd's data.
    pub(crate) fn etcd(&self) -> PathBuf {
        self.root.join("etcd")
    }

    /// kwok's stages.
    pub(crate) fn stages(&self) -> PathBuf {
        self.root.join("stages.yaml")
    }

    /// The API server's audit policy.
    pub(crate) fn audit_policy(&self) -> PathBuf {
        self.root.join("audit-policy.yaml")
    }

    /// The lock that a client holds while it changes the sandbox; beside the folder, because it outlives it.
    pub(crate) fn lock(&self) -> PathBuf {
        // No name has a dot, so this is never the folder of another sandbox.
        self.root.with_extension("lock")
    }

    /// Says to whoever is about to start the sandbox that it is not to start after all; beside the folder, which is not
    /// there yet.
    pub(crate) fn called_off(&self) -> PathBuf {
        self.root.with_extension("off")
    }
}

/// The folder that holds a folder for each sandbox.
pub(crate) fn all(environment: &Environment) -> PathBuf {
    environment.state.join("sandbox")
}

/// Makes a folder, and those above it, that only its owner can enter.
pub(crate) fn make_private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file to append to that only its owner can read.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).mode(0o600).open(path)
}

/// Writes a file that only its owner can read; it appears whole or not at all.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().expect("files of a sandbox are in its folder");
    // Temporary files are 0600 from the start.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_simple_enough_for_folders_and_contexts() {
        for good in ["default", "a", "7", "my-test-2", &"x".repeat(40)] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for bad in ["", "..", "a/b", "A", "-a", "a.b", "a b", "ä", &"x".repeat(41)] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }
}
