//! A kind that does not exist: which kinds do, and which one was probably meant.

use std::cmp::Reverse;
use std::fmt;
use std::fmt::Write as _;
use std::time::Duration;

use kube::core::Version;
use manifest::GroupVersionKind;
use strsim::osa_distance;

use super::Catalog;

/// A kind that a fresh discovery lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingKind {
    pub gvk: GroupVersionKind,
    /// The versions of its group; empty if the group does not exist.
    pub versions: Vec<String>,
    /// The same kind in versions that are served, best first. Its objects exist, and can be read through these.
    pub served: Vec<GroupVersionKind>,
    /// What was probably meant, likeliest first.
    pub did_you_mean: Vec<GroupVersionKind>,
}

/// The built-in kinds and the groups that contain them.
const BUILTIN: &[(&str, &[&str])] = &[
    (
        "v1",
        &[
            "ConfigMap",
            "Secret",
            "Service",
            "Pod",
            "Namespace",
            "ServiceAccount",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Node",
            "Endpoints",
            "Event",
            "LimitRange",
            "ResourceQuota",
        ],
    ),
    ("apps/v1", &["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"]),
    ("batch/v1", &["Job", "CronJob"]),
    ("networking.k8s.io/v1", &["Ingress", "NetworkPolicy", "IngressClass"]),
    ("rbac.authorization.k8s.io/v1", &["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"]),
    ("storage.k8s.io/v1", &["StorageClass", "VolumeAttachment"]),
    ("policy/v1", &["PodDisruptionBudget"]),
    ("autoscaling/v2", &["HorizontalPodAutoscaler"]),
];

impl MissingKind {
    pub(crate) fn new(gvk: &GroupVersionKind, catalog: &Catalog) -> Self {
        let versions = catalog.versions(gvk.group()).into_iter().flatten().cloned().collect();
        let kinds = catalog.resources().map(|resource| &resource.gvk);
        let mut served: Vec<GroupVersionKind> = kinds.filter(|one| one.is_same_kind(gvk)).cloned().collect();
        served.sort_by_key(|one| Reverse(Version::parse(one.version()).priority()));
        let did_you_mean = suggest(gvk, catalog);
        Self { gvk: gvk.clone(), versions, served, did_you_mean }
    }

    /// The group of the kind, if it is a built-in kind in the wrong group.
    pub fn group_of_builtin(&self) -> Option<&'static str> {
        let (home, _) = BUILTIN.iter().find(|(_, kinds)| kinds.contains(&self.gvk.kind()))?;
        let group = home.rsplit_once('/').map_or("", |(group, _)| group);
        (group != self.gvk.group()).then_some(home)
    }

    /// The reason, in sentences. Users' tests match the first words.
    pub(crate) fn explain(&self, name: Option<&str>, waited: Duration) -> String {
        let (group, version, kind) = (self.gvk.group(), self.gvk.version(), self.gvk.kind());
        let api_version = self.gvk.api_version();
        if let Some(home) = self.group_of_builtin() {
            return format!("There is no {kind} in {api_version}: {kind} is in {home}.");
        }
        let object = name.map_or(kind.to_owned(), |name| format!("{kind}/{name}"));
        let mut text = if waited.is_zero() {
            format!("CRD for {object} not found: no matches for kind \"{kind}\" in \"{api_version}\".")
        } else {
            format!(
                "CRD for {object} not found after {}s: no matches for kind \"{kind}\" in \"{api_version}\".",
                // Rounded up to the "30s" that users of the Go provider know.
                waited.as_secs().div_ceil(10) * 10,
            )
        };
        let group_name =
            if group.is_empty() { "the core group".to_owned() } else { format!("the group {group}") };
        let _ = match self.versions.as_slice() {
            [] => write!(text, "\n\nThe cluster does not serve {group_name}."),
            versions if versions.iter().any(|known| known == version) => {
                write!(text, "\n\nThe cluster serves {group_name} in version {version}, but not this kind.")
            }
            versions => {
                write!(
                    text,
                    "\n\nThe cluster serves {group_name}, but only in version {}.",
                    versions.join(", ")
                )
            }
        };
        if !self.did_you_mean.is_empty() {
            let names: Vec<String> =
                self.did_you_mean.iter().map(|gvk| format!("{} {}", gvk.api_version(), gvk.kind())).collect();
            let _ = write!(text, "\n\nDid you mean {}?", names.join(" or "));
        }
        text
    }

    pub(crate) fn advise(&self) -> String {
        match (self.group_of_builtin(), self.did_you_mean.first()) {
            (Some(home), _) => format!("Write apiVersion: {home}."),
            (None, Some(close)) => format!(
                "Correct apiVersion and kind (apiVersion: {}, kind: {}), or install the CRD.",
                close.api_version(),
                close.kind()
            ),
            (None, None) => {
                "Install the CRD, for instance in the same apply, or correct apiVersion and kind.".to_owned()
            }
        }
    }
}

impl fmt::Display for MissingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no matches for kind \"{}\" in \"{}\"", self.gvk.kind(), self.gvk.api_version())
    }
}

/// At most three kinds similar to `wanted`: the same kind elsewhere first, then close spellings.
fn suggest(wanted: &GroupVersionKind, catalog: &Catalog) -> Vec<GroupVersionKind> {
    let mut close: Vec<(usize, &GroupVersionKind)> = catalog
        .resources()
        .map(|resource| &resource.gvk)
        .filter_map(|gvk| {
            let kind = osa_distance(&wanted.kind().to_lowercase(), &gvk.kind().to_lowercase());
            let group = osa_distance(wanted.group(), gvk.group());
            // Up to a third of the letters may differ; the same kind counts in any group.
            let kind_is_close = kind * 3 <= wanted.kind().len();
            let group_is_close = group * 3 <= wanted.group().len();
            let score = match (kind_is_close, group_is_close) {
                (true, true) => kind + group + usize::from(gvk.version() != wanted.version()),
                (true, false) if kind == 0 => 10 + group.min(50),
                _ => return None,
            };
            Some((score, gvk))
        })
        .collect();
    close.sort();
    close.into_iter().map(|(_, gvk)| gvk.clone()).take(3).collect()
}

#[cfg(test)]
mod tests;
