//! Names of sandboxes, and their files on disk.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::lifecycle::FOLDER_VARIABLE;
use super::programs::Program;
use crate::Environment;

/// The name of a sandbox: lower-case letters, digits and hyphens, at most 40.
///
/// It becomes part of folder and context names, so it is as simple as a Kubernetes label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Name(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid sandbox name: use at most 40 lower-case letters, digits and hyphens, starting with a letter or digit"
)]
pub struct InvalidName(String);

impl Name {
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

/// The folder of one sandbox. It is removed when the sandbox is down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    pub fn new(environment: &Environment, name: &Name) -> Self {
        Self::at(sandboxes(environment).join(name.as_str()))
    }

    pub(crate) fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn state(&self) -> PathBuf {
        self.root.join("state.json")
    }

    /// Processes that need the sandbox hold a shared lock on this file.
    pub fn lease(&self) -> PathBuf {
        self.root.join("lease")
    }

    /// For the user's programs.
    pub fn kubeconfig(&self) -> PathBuf {
        self.root.join("kubeconfig")
    }

    /// A folder that contains only `kubectl`, for use in `PATH`.
    pub fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    pub fn log(&self, program: Program) -> PathBuf {
        self.logs().join(format!("{program}.log"))
    }

    pub fn supervisor_log(&self) -> PathBuf {
        self.logs().join("supervisor.log")
    }

    pub fn audit_log(&self) -> PathBuf {
        self.logs().join("audit.jsonl")
    }

    /// The environment variable that makes a process a member of the sandbox: stopping the sandbox kills its members.
    pub fn membership_variable(&self) -> (&'static str, &Path) {
        (FOLDER_VARIABLE, &self.root)
    }

    /// The [`SupervisorOptions`](super::options::SupervisorOptions).
    pub(crate) fn options(&self) -> PathBuf {
        self.root.join("options.json")
    }

    /// For the control plane's own programs; users do not edit it.
    pub(crate) fn components_kubeconfig(&self) -> PathBuf {
        self.root.join("components.kubeconfig")
    }

    pub(crate) fn pki(&self) -> PathBuf {
        self.root.join("pki")
    }

    pub(crate) fn etcd(&self) -> PathBuf {
        self.root.join("etcd")
    }

    /// kwok's configuration.
    pub(crate) fn stages(&self) -> PathBuf {
        self.root.join("stages.yaml")
    }

    pub(crate) fn audit_policy(&self) -> PathBuf {
        self.root.join("audit-policy.yaml")
    }

    /// Held by the client that changes the sandbox. It is beside the folder because it outlives it.
    pub(crate) fn lock(&self) -> PathBuf {
        // Names contain no dot, so this is never the folder of another sandbox.
        self.root.with_extension("lock")
    }

    /// Tells the client that is about to start the sandbox to cancel. It is beside the folder, which does not exist yet.
    pub(crate) fn cancel_marker(&self) -> PathBuf {
        self.root.with_extension("off")
    }
}

/// The folder that contains the folders of all sandboxes.
pub(crate) fn sandboxes(environment: &Environment) -> PathBuf {
    environment.state.join("sandbox")
}

/// Opens a file for appending, with mode 0600.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).mode(0o600).open(path)
}

/// Replaces a file atomically, with mode 0600.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().expect("files of a sandbox are in its folder");
    // Temporary files are created with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_for_folders_and_contexts() {
        for good in ["default", "a", "7", "my-test-2", &"x".repeat(40)] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for bad in ["", "..", "a/b", "A", "-a", "a.b", "a b", "ä", &"x".repeat(41)] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }
}
