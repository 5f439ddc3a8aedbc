//! The programs of a control plane, and where each is found.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::error::Error;
use crate::gobuild::{self, BuildEvent, is_executable};
use crate::{CONTROL_PLANE, Environment};

/// A program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    Etcd,
    KubeApiserver,
    KubeControllerManager,
    KubeScheduler,
    /// Simulates the kubelets and the cloud provider.
    Kwok,
    /// The client, which the sandbox offers but does not run.
    Kubectl,
}

impl Program {
    /// In the order of their start.
    pub const ALL: [Self; 6] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Kwok,
        Self::Kubectl,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kwok => "kwok",
            Self::Kubectl => "kubectl",
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// In `KUBEBUILDER_ASSETS`.
    Assets,
    /// In the folder `control-plane` of an installed release.
    Installed,
    /// Built by an earlier run.
    Cache,
    /// Built by this run.
    Built,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LocatedProgram {
    pub(crate) program: Program,
    pub(crate) path: PathBuf,
    pub(crate) origin: Origin,
}

/// Locates each program: in `KUBEBUILDER_ASSETS`, where a release has it, in the cache, or by building it.
pub(crate) fn locate(
    environment: &Environment,
    on_event: &mut dyn FnMut(BuildEvent),
) -> Result<Vec<LocatedProgram>, Error> {
    let mut located: Vec<LocatedProgram> =
        Program::ALL.into_iter().filter_map(|program| in_assets(environment, program)).collect();
    if let Some(etcd) = located.iter().find(|located| located.program == Program::Etcd) {
        check_etcd(&etcd.path)?;
    }
    let missing: Vec<Program> = Program::ALL
        .into_iter()
        .filter(|program| located.iter().all(|located| located.program != *program))
        .collect();
    if !missing.is_empty() {
        let (folder, origin) = if let Some(folder) = installed(environment) {
            (folder, Origin::Installed)
        } else if let Some(folder) = CONTROL_PLANE.cached(&environment.cache) {
            (folder, Origin::Cache)
        } else {
            (build(environment, &missing, on_event)?, Origin::Built)
        };
        located.extend(missing.into_iter().map(|program| LocatedProgram {
            program,
            path: folder.join(program.name()),
            origin,
        }));
    }
    located.sort_by_key(|located| located.program);
    Ok(located)
}

/// The folder in which a release has the control plane of this version.
pub fn installed(environment: &Environment) -> Option<PathBuf> {
    environment.releases.iter().find(|folder| CONTROL_PLANE.is_in(folder)).cloned()
}

/// The first etcd that supports the API server's watches with `sendInitialEvents`.
const OLDEST_ETCD: (u32, u32) = (3, 6);

/// Rejects an etcd that reports too old a version; one that reports none is accepted.
fn check_etcd(path: &Path) -> Result<(), Error> {
    let output = Command::new(path).arg("--version").stdin(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    match etcd_version(&text) {
        Some((version, numbers)) if numbers < OLDEST_ETCD => {
            Err(Error::OldEtcd { path: path.to_owned(), version: version.to_owned() })
        }
        _ => Ok(()),
    }
}

/// The version in the output of `etcd --version`, as text and as major and minor number.
fn etcd_version(text: &str) -> Option<(&str, (u32, u32))> {
    let version = text.lines().find_map(|line| line.strip_prefix("etcd Version: "))?.trim();
    let mut numbers = version.split('.');
    let numbers = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some((version, numbers))
}

fn in_assets(environment: &Environment, program: Program) -> Option<LocatedProgram> {
    // The supervisor runs in another folder, where a relative path would not resolve.
    let path = std::path::absolute(environment.assets.as_ref()?.join(program.name())).ok()?;
    is_executable(&path).then_some(LocatedProgram { program, path, origin: Origin::Assets })
}

fn build(
    environment: &Environment,
    missing: &[Program],
    on_event: &mut dyn FnMut(BuildEvent),
) -> Result<PathBuf, Error> {
    CONTROL_PLANE.ensure(&environment.cache, &environment.path, on_event).map_err(|error| match error {
        gobuild::Error::NoGo { .. } => Error::NoPrograms {
            missing: missing.to_vec(),
            assets: environment.assets.clone(),
            cache: CONTROL_PLANE.folder(&environment.cache),
        },
        source => Error::Build(source),
    })
}

#[cfg(test)]
mod tests;
