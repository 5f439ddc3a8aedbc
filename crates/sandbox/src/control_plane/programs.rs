//! The programs of a control plane, and where each is found.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::Error;
use crate::Environment;
use crate::gobuild::{self, Binary, BuildEvent, Module, is_executable};

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

/// The sources of the control plane, embedded so that an installed `plimsoll` can build it without a checkout.
pub const CONTROL_PLANE: Module<'static> = Module {
    name: "control-plane",
    files: &[
        ("go.mod", include_str!("../../../../tools/control-plane/go.mod")),
        ("go.sum", include_str!("../../../../tools/control-plane/go.sum")),
        ("main.go", include_str!("../../../../tools/control-plane/main.go")),
        ("exitwith/stdin.go", include_str!("../../../../tools/control-plane/exitwith/stdin.go")),
        ("kwok/main.go", include_str!("../../../../tools/control-plane/kwok/main.go")),
    ],
    binaries: &[
        Binary {
            package: ".",
            file: "control-plane",
            links: &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"],
        },
        Binary { package: "./kwok", file: "kwok", links: &[] },
    ],
    // Without these, `/version` and `kubectl version` report a development build.
    ldflags: "-X k8s.io/component-base/version.gitVersion=v1.36.3 \
              -X k8s.io/component-base/version.gitMajor=1 \
              -X k8s.io/component-base/version.gitMinor=36 \
              -X k8s.io/component-base/version.gitTreeState=clean",
    cold_build: Duration::from_secs(255),
};

/// The version of a Go module that the embedded sources require.
pub(crate) fn required_version(module: &str) -> Option<&'static str> {
    let (_, go_mod) = CONTROL_PLANE.files.iter().find(|(name, _)| *name == "go.mod")?;
    go_mod.lines().find_map(|line| line.trim().strip_prefix(module)?.strip_prefix(' '))
}

/// Locates each program: in `KUBEBUILDER_ASSETS`, in the cache, or by building it.
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
        let (folder, origin) = match CONTROL_PLANE.cached(&environment.cache) {
            Some(folder) => (folder, Origin::Cache),
            None => (build(environment, &missing, on_event)?, Origin::Built),
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
