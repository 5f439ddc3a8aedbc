//! The kinds that the simulated API server serves: a few of its own, and those that CRDs define.

use serde_json::{Value, json};

/// A kind and the versions in which it is served.
#[expect(clippy::struct_field_names, reason = "a kind has a kind")]
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    pub(crate) has_status: bool,
    pub(crate) versions: Vec<String>,
}

/// Group, kind, plural, namespaced, status. An operator looks for a kind that is missing again and again, and most of a history
/// would be that.
const BUILT_IN: [(&str, &str, &str, bool, bool); 14] = [
    ("", "ConfigMap", "configmaps", true, false),
    ("", "Secret", "secrets", true, false),
    ("", "Event", "events", true, false),
    ("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", false, false),
    ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", false, false),
    ("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", false, true),
    (
        "apiextensions.crossplane.io",
        "CompositeResourceDefinition",
        "compositeresourcedefinitions",
        false,
        true,
    ),
    ("apiextensions.crossplane.io", "Composition", "compositions", false, true),
    ("apiextensions.crossplane.io", "CompositionRevision", "compositionrevisions", false, true),
    ("pkg.crossplane.io", "Function", "functions", false, true),
    ("pkg.crossplane.io", "FunctionRevision", "functionrevisions", false, true),
    ("pkg.crossplane.io", "Provider", "providers", false, true),
    ("pkg.crossplane.io", "Configuration", "configurations", false, true),
    ("apps", "Deployment", "deployments", true, true),
];

const RUNTIME_CONFIG: (&str, &str, &str, bool, bool) =
    ("pkg.crossplane.io", "DeploymentRuntimeConfig", "deploymentruntimeconfigs", false, false);

pub(crate) const CRDS: &str = "customresourcedefinitions";

impl Kind {
    pub(crate) fn built_in() -> Vec<Self> {
        let made = |(group, kind, plural, namespaced, has_status): (&str, &str, &str, bool, bool)| Self {
            group: group.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced,
            has_status,
            versions: vec!["v1".to_owned()],
        };
        let runtime_config = Self { versions: vec!["v1beta1".to_owned()], ..made(RUNTIME_CONFIG) };
        BUILT_IN.into_iter().map(made).chain([runtime_config]).collect()
    }

    /// What a CRD defines, once it is established.
    pub(crate) fn of_crd(crd: &Value) -> Option<Self> {
        let conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
        let is_established =
            conditions.into_iter().any(|one| one["type"] == "Established" && one["status"] == "True");
        let (spec, text) = (&crd["spec"], |value: &Value| value.as_str().unwrap_or_default().to_owned());
        let versions = spec["versions"].as_array().into_iter().flatten();
        is_established.then(|| Self {
            group: text(&spec["group"]),
            kind: text(&spec["names"]["kind"]),
            plural: text(&spec["names"]["plural"]),
            namespaced: spec["scope"] == "Namespaced",
            has_status: true,
            versions: versions.filter(|one| one["served"] == true).map(|one| text(&one["name"])).collect(),
        })
    }

    pub(crate) fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }
}

/// The aggregated discovery document of `/api` or `/apis`.
pub(crate) fn discovery(kinds: &[Kind], is_core: bool) -> Value {
    let mut groups: Vec<&str> = kinds.iter().map(|kind| kind.group.as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    let resource = |kind: &Kind, version: &str| {
        json!({
            "resource": kind.plural,
            "responseKind": {"group": kind.group, "version": version, "kind": kind.kind},
            "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
            "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
        })
    };
    let group = |name: &&str| {
        let of: Vec<&Kind> = kinds.iter().filter(|kind| kind.group == **name).collect();
        let mut versions: Vec<&String> = of.iter().flat_map(|kind| &kind.versions).collect();
        versions.sort_unstable();
        versions.dedup();
        let version = |version: &&String| {
            let served = of.iter().filter(|kind| kind.versions.contains(version));
            let resources: Vec<Value> = served.map(|kind| resource(kind, version)).collect();
            json!({"version": version, "freshness": "Current", "resources": resources})
        };
        let versions: Vec<Value> = versions.iter().map(version).collect();
        json!({"metadata": {"name": name}, "versions": versions})
    };
    let items: Vec<Value> = groups.iter().filter(|name| name.is_empty() == is_core).map(group).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items})
}

/// A CRD whose schema takes anything, as an administrator installs it.
pub(crate) fn crd(kind: &str, plural: &str, group: &str, versions: &[&str]) -> Value {
    let version = |name: &&str| json!({"name": name, "served": true, "storage": *name == "v1"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": versions.iter().map(version).collect::<Vec<_>>(),
        },
    })
}
