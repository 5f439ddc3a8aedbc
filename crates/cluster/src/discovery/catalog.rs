//! The kinds of a cluster, as discovery lists them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;

use manifest::{GroupVersionKind, Namespace};

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
            Some(namespace) => format!("{root}/namespaces/{}/{}", segment(namespace.as_str()), self.plural),
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
        format!("{}/{}", self.collection_of(namespace), segment(name))
    }

    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|able| able == verb)
    }
}

/// A name as one path segment: RBAC names contain colons, and a slash must not lead elsewhere.
pub(crate) fn segment(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
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

    /// Adds the kinds of one group.
    pub(super) fn add(&mut self, group: Group) {
        let name = group.metadata.name;
        for version in group.versions {
            self.groups.entry(name.clone()).or_default().insert(version.name.clone());
            if version.freshness == STALE {
                self.stale.insert(name.clone());
            }
            for resource in version.resources {
                // Resources that are not objects (such as TokenReviews) have no kind of their own.
                let Some(kind) = resource.response_kind.map(|kind| kind.kind) else { continue };
                let slash = if name.is_empty() { "" } else { "/" };
                let Ok(gvk) = format!("{name}{slash}{}/{kind}", version.name).parse::<GroupVersionKind>()
                else {
                    continue;
                };
                let found = Resource {
                    gvk: gvk.clone(),
                    plural: resource.resource,
                    singular: resource.singular_resource,
                    short_names: resource.short_names,
                    namespaced: resource.scope == NAMESPACED,
                    verbs: resource.verbs,
                };
                // The first resource of a kind is its own; later ones are views of it.
                self.resources.entry(gvk).or_insert(found);
            }
        }
    }
}

const STALE: &str = "Stale";
const NAMESPACED: &str = "Namespaced";

/// An API group, as aggregated discovery lists it.
#[derive(Debug, Deserialize)]
pub(super) struct Group {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    versions: Vec<Version>,
}

impl Group {
    pub(super) fn new(name: String, version: Version) -> Self {
        Self { metadata: Metadata { name }, versions: vec![version] }
    }
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Version {
    #[serde(rename = "version")]
    name: String,
    #[serde(default)]
    resources: Vec<Listed>,
    #[serde(default)]
    freshness: String,
}

impl Version {
    pub(super) fn of(name: String, resources: Vec<Listed>) -> Self {
        Self { name, resources, freshness: String::new() }
    }

    /// A version whose resources could not be fetched.
    pub(super) fn stale(name: String) -> Self {
        Self { name, resources: Vec::new(), freshness: STALE.to_owned() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    resource: String,
    response_kind: Option<ResponseKind>,
    scope: String,
    #[serde(default)]
    singular_resource: String,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
}

/// A kind as listed by a server without aggregated discovery (`APIResource`).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Unaggregated {
    name: String,
    kind: String,
    namespaced: bool,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
}

impl Unaggregated {
    /// Whether it is a subresource, such as `status`.
    pub(super) fn is_part(&self) -> bool {
        self.name.contains('/')
    }
}

impl From<Unaggregated> for Listed {
    fn from(listed: Unaggregated) -> Self {
        let scope = if listed.namespaced { NAMESPACED } else { "Cluster" };
        Self {
            resource: listed.name,
            response_kind: Some(ResponseKind { kind: listed.kind }),
            scope: scope.to_owned(),
            singular_resource: listed.singular_name,
            short_names: listed.short_names,
            verbs: listed.verbs,
        }
    }
}

#[derive(Debug, Deserialize)]
struct ResponseKind {
    kind: String,
}
