//! The kinds of a cluster, as discovery lists them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::core::discovery::v2::{APIGroupDiscovery, APIResourceDiscovery, APIVersionDiscovery};
use manifest::{GroupVersionKind, Namespace};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

/// How a kind is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    pub gvk: GroupVersionKind,
    /// The name in URLs: `deployments`.
    pub plural: String,
    /// As in `deployment`. Servers before 1.27 omit it for built-in kinds.
    pub singular: String,
    /// As in `deploy`.
    pub short_names: Vec<String>,
    /// Groups of kinds that `kubectl get` accepts, as in `all` or `claim`.
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// As in `get`, `list`, `watch`, `patch` …
    pub verbs: Vec<String>,
}

impl Resource {
    /// The path of all its objects, in one namespace or in all.
    pub(crate) fn collection(&self, namespace: Option<&Namespace>) -> String {
        let root = if self.gvk.group().is_empty() { "/api" } else { "/apis" };
        let root = format!("{root}/{}", self.gvk.api_version());
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => {
                format!("{root}/namespaces/{}/{}", path_segment(namespace.as_str()), self.plural)
            }
            None => format!("{root}/{}", self.plural),
        }
    }

    /// The path of the collection that contains an object in `namespace`; a namespaced kind without a namespace uses
    /// `default`.
    pub(crate) fn collection_of(&self, namespace: Option<&Namespace>) -> String {
        let default = Namespace::new("default");
        self.collection(namespace.or(default.as_ref()))
    }

    pub(crate) fn path(&self, namespace: Option<&Namespace>, name: &str) -> String {
        format!("{}/{}", self.collection_of(namespace), path_segment(name))
    }

    /// The name of the CustomResourceDefinition that defines the kind, if one does.
    pub fn crd_name(&self) -> String {
        format!("{}.{}", self.plural, self.gvk.group())
    }

    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|able| able == verb)
    }

    /// Kubernetes' order of versions; the greatest is preferred.
    pub fn version_priority(&self) -> impl Ord + use<> {
        kube::core::Version::parse(self.gvk.version()).priority()
    }
}

/// A name as one segment of a path. The API server decodes before it splits the path, so what would lead elsewhere is encoded
/// twice: no object has such a name. Without a name the path would lead to all objects, and a DELETE delete them.
fn path_segment(name: &str) -> String {
    let name = match name {
        "" => "%2F".to_owned(),
        "." | ".." => name.replace('.', "%2E"),
        name => name.replace('/', "%2F"),
    };
    segment(&name).to_string()
}

/// A value in a URL; RBAC names contain colons.
pub(crate) fn segment(name: &str) -> PercentEncode<'_> {
    const RESERVED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');
    utf8_percent_encode(name, RESERVED)
}

/// All kinds at one point in time.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    resources: HashMap<GroupVersionKind, Resource>,
    groups: BTreeMap<String, BTreeSet<String>>,
    /// Groups whose aggregated server did not respond to the API server: kinds missing from them may exist.
    stale: BTreeSet<String>,
}

impl Catalog {
    pub(crate) fn get(&self, gvk: &GroupVersionKind) -> Option<&Resource> {
        self.resources.get(gvk)
    }

    pub(crate) fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.resources.values()
    }

    pub(crate) fn versions(&self, group: &str) -> Option<&BTreeSet<String>> {
        self.groups.get(group)
    }

    pub(crate) fn is_stale(&self, group: &str) -> bool {
        self.stale.contains(group)
    }

    pub(crate) fn stale_groups(&self) -> &BTreeSet<String> {
        &self.stale
    }
}

/// One version of an API group.
pub(super) struct GroupVersion {
    pub(super) group: String,
    pub(super) version: String,
    /// The version exists, but its resources could not be fetched.
    pub(super) stale: bool,
    pub(super) resources: Vec<Resource>,
}

impl FromIterator<GroupVersion> for Catalog {
    fn from_iter<T: IntoIterator<Item = GroupVersion>>(versions: T) -> Self {
        let mut catalog = Self::default();
        for GroupVersion { group, version, stale, resources } in versions {
            for resource in resources {
                // The first resource of a kind is its own; later ones are views of it.
                catalog.resources.entry(resource.gvk.clone()).or_insert(resource);
            }
            if stale {
                catalog.stale.insert(group.clone());
            }
            catalog.groups.entry(group).or_default().insert(version);
        }
        catalog
    }
}

impl GroupVersion {
    /// The versions of a group, as aggregated discovery lists them.
    pub(super) fn aggregated(group: APIGroupDiscovery) -> Vec<Self> {
        let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
        let version = |listed: APIVersionDiscovery| {
            let (group, version) = (name.clone(), listed.version.unwrap_or_default());
            let resource = |listed: APIResourceDiscovery| {
                Some(Resource {
                    // Resources that are not objects (such as TokenReviews) have no kind of their own.
                    gvk: gvk(&group, &version, &listed.response_kind?.kind?)?,
                    plural: listed.resource.unwrap_or_default(),
                    singular: listed.singular_resource.unwrap_or_default(),
                    short_names: listed.short_names,
                    categories: listed.categories,
                    namespaced: listed.scope.as_deref() == Some("Namespaced"),
                    verbs: listed.verbs,
                })
            };
            let resources = listed.resources.into_iter().filter_map(resource).collect();
            Self { stale: listed.freshness.as_deref() == Some("Stale"), resources, group, version }
        };
        group.versions.into_iter().map(version).collect()
    }

    /// A version of a group, as a server without aggregated discovery lists it.
    pub(super) fn unaggregated(group: String, version: String, listed: Vec<APIResource>) -> Self {
        let resource = |listed: APIResource| {
            Some(Resource {
                gvk: gvk(&group, &version, &listed.kind)?,
                plural: listed.name,
                singular: listed.singular_name,
                short_names: listed.short_names.unwrap_or_default(),
                categories: listed.categories.unwrap_or_default(),
                namespaced: listed.namespaced,
                verbs: listed.verbs,
            })
        };
        // Subresources, such as `pods/log`, are not kinds.
        let whole = listed.into_iter().filter(|listed| !listed.name.contains('/'));
        Self { resources: whole.filter_map(resource).collect(), stale: false, group, version }
    }
}

fn gvk(group: &str, version: &str, kind: &str) -> Option<GroupVersionKind> {
    let slash = if group.is_empty() { "" } else { "/" };
    format!("{group}{slash}{version}/{kind}").parse().ok()
}
