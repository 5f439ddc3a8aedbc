//! The programs a control plane consists of, and where each is found.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::Error;
use crate::gobuild::{self, Module, is_executable};
use crate::{Environment, gobuild::Event};

/// A program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// The store.
    Etcd,
    /// The API.
    KubeApiserver,
    /// Garbage collection, namespaces, Deployments, Jobs and the rest of the controllers.
    KubeControllerManager,
    /// Puts Pods on Nodes.
    KubeScheduler,
    /// Plays the kubelets and the cloud.
    Kwok,
    /// The client; it does not run, it is there to be used.
    Kubectl,
}

impl Program {
    /// All of them, in the order they start.
    pub const ALL: [Self; 6] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Kwok,
        Self::Kubectl,
    ];

    /// The name of the executable.
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

/// Where a program was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// In `KUBEBUILDER_ASSETS`.
    Assets,
    /// In the cache folder, where an earlier run built it.
    Cache,
    /// In the cache folder, where this run built it.
    Built,
}

/// A program and where it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Which program.
    pub program: Program,
    /// Its executable.
    pub path: PathBuf,
    /// How it came to be there.
    pub origin: Origin,
}

/// The sources of the control plane, carried along so that an installed `plimsoll` can build it without a checkout.
pub const MODULE: Module<'static> = Module {
    name: "control-plane",
    files: &[
        ("go.mod", include_str!("../../../../tools/control-plane/go.mod")),
        ("go.sum", include_str!("../../../../tools/control-plane/go.sum")),
        ("main.go", include_str!("../../../../tools/control-plane/main.go")),
        ("exitwith/stdin.go", include_str!("../../../../tools/control-plane/exitwith/stdin.go")),
        ("kwok/main.go", include_str!("../../../../tools/control-plane/kwok/main.go")),
    ],
    programs: &[
        gobuild::Program {
            package: ".",
            file: "control-plane",
            links: &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"],
        },
        gobuild::Program { package: "./kwok", file: "kwok", links: &[] },
    ],
    // Without these `/version` and `kubectl version` read as a development build.
    ldflags: "-X k8s.io/component-base/version.gitVersion=v1.36.3 \
              -X k8s.io/component-base/version.gitMajor=1 \
              -X k8s.io/component-base/version.gitMinor=36 \
              -X k8s.io/component-base/version.gitTreeState=clean",
    cold_build: Duration::from_secs(255),
};

/// The version of a Go module that the embedded sources require.
pub(crate) fn required_version(module: &str) -> Option<&'static str> {
    let (_, go_mod) = MODULE.files.iter().find(|(name, _)| *name == "go.mod")?;
    go_mod.lines().find_map(|line| line.trim().strip_prefix(module)?.strip_prefix(' '))
}

/// Finds every program, each on its own: in `KUBEBUILDER_ASSETS`, in the cache, or by building it.
pub(crate) fn find(environment: &Environment, on_event: &mut dyn FnMut(Event)) -> Result<Vec<Found>, Error> {
    let mut found: Vec<Found> =
        Program::ALL.into_iter().filter_map(|program| in_assets(environment, program)).collect();
    let missing: Vec<Program> = Program::ALL
        .into_iter()
        .filter(|program| found.iter().all(|other| other.program != *program))
        .collect();
    if !missing.is_empty() {
        let (folder, origin) = match MODULE.cached(&environment.cache) {
            Some(folder) => (folder, Origin::Cache),
            None => (build(environment, &missing, on_event)?, Origin::Built),
        };
        found.extend(missing.into_iter().map(|program| Found {
            program,
            path: folder.join(program.name()),
            origin,
        }));
    }
    found.sort_by_key(|entry| entry.program);
    if let Some(etcd) =
        found.iter().find(|entry| entry.program == Program::Etcd && entry.origin == Origin::Assets)
    {
        check_etcd(&etcd.path)?;
    }
    Ok(found)
}

/// The oldest etcd that answers watches with `sendInitialEvents` as the API server expects.
const OLDEST_ETCD: (u32, u32) = (3, 6);

/// Refuses an etcd that says it is too old; one that does not say is given the benefit of the doubt.
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

/// The version in what `etcd --version` prints, as text and as major and minor number.
fn etcd_version(text: &str) -> Option<(&str, (u32, u32))> {
    let version = text.lines().find_map(|line| line.strip_prefix("etcd Version: "))?.trim();
    let mut numbers = version.split('.');
    let numbers = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some((version, numbers))
}

fn in_assets(environment: &Environment, program: Program) -> Option<Found> {
    // The supervisor runs in a folder of its own, so a relative path would change its meaning.
    let path = std::path::absolute(environment.assets.as_ref()?.join(program.name())).ok()?;
    is_executable(&path).then_some(Found { program, path, origin: Origin::Assets })
}

fn build(
    environment: &Environment,
    missing: &[Program],
    on_event: &mut dyn FnMut(Event),
) -> Result<PathBuf, Error> {
    MODULE.ensure(&environment.cache, &environment.path, on_event).map_err(|error| match error {
        gobuild::Error::NoGo { .. } => Error::NoPrograms {
            missing: missing.to_vec(),
            assets: environment.assets.clone(),
            cache: MODULE.folder(&environment.cache),
        },
        source => Error::Build(source),
    })
}

#[cfg(test)]
mod tests;
