//! What identifies an object: its group, version and kind, its namespace and its name.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// An API group and version, written `apps/v1` or, in the core group, `v1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiVersion {
    group: String,
    version: String,
}

impl ApiVersion {
    /// The group; empty for the core group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The version within the group.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        f.write_str(&self.version)
    }
}

impl FromStr for ApiVersion {
    type Err = ApiVersionError;

    fn from_str(text: &str) -> Result<Self, ApiVersionError> {
        let (group, version) = match text.split_once('/') {
            Some(("", _)) => return Err(ApiVersionError::EmptyGroup),
            Some((_, version)) if version.contains('/') => return Err(ApiVersionError::SeveralSlashes),
            Some(divided) => divided,
            None => ("", text),
        };
        if version.is_empty() {
            return Err(ApiVersionError::EmptyVersion);
        }
        Ok(Self { group: group.to_owned(), version: version.to_owned() })
    }
}

/// Why a text is not an API version.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ApiVersionError {
    /// `apps/v1/x`
    #[error("it has more than one slash")]
    SeveralSlashes,
    /// `/v1`
    #[error("there is no group before the slash")]
    EmptyGroup,
    /// Empty, or `apps/`
    #[error("it has no version")]
    EmptyVersion,
}

/// A kind in an API version, written `apps/v1/Deployment` or, in the core group, `v1/Pod`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersionKind {
    api_version: ApiVersion,
    kind: String,
}

impl GroupVersionKind {
    /// The kind `kind` of `api_version`; a kind is not empty and has no slash.
    pub fn new(api_version: ApiVersion, kind: &str) -> Result<Self, KindError> {
        match kind {
            "" => Err(KindError::Empty),
            _ if kind.contains('/') => Err(KindError::Slash),
            _ => Ok(Self { api_version, kind: kind.to_owned() }),
        }
    }

    /// The group and version.
    pub fn api_version(&self) -> &ApiVersion {
        &self.api_version
    }

    /// The group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.group()
    }

    /// The version within the group.
    pub fn version(&self) -> &str {
        self.api_version.version()
    }

    /// The kind, in the singular and in camel case.
    pub fn kind(&self) -> &str {
        &self.kind
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.api_version, self.kind)
    }
}

impl FromStr for GroupVersionKind {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Self, KindError> {
        let (api_version, kind) = text.rsplit_once('/').ok_or(KindError::NoApiVersion)?;
        Self::new(api_version.parse()?, kind)
    }
}

/// Why a text does not name a kind.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum KindError {
    /// There is no API version before the kind.
    #[error("there is no API version before the kind")]
    NoApiVersion,
    /// The API version is malformed.
    #[error("the API version is malformed")]
    ApiVersion(#[from] ApiVersionError),
    /// There is no kind.
    #[error("the kind is empty")]
    Empty,
    /// A kind has no slash.
    #[error("the kind has a slash")]
    Slash,
}

/// The name of a namespace; never empty, since Kubernetes takes an empty one for none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(String);

impl Namespace {
    /// The namespace of this name, or none if it is empty.
    pub fn new(name: impl Into<String>) -> Option<Self> {
        Some(name.into()).filter(|name| !name.is_empty()).map(Self)
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which object is meant, shown as `Deployment shop/web` or, without a namespace, `ClusterRole admin`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// What kind of object it is.
    pub gvk: GroupVersionKind,
    /// The namespace it is in; none for cluster-scoped kinds, and where it is still to be filled in.
    pub namespace: Option<Namespace>,
    /// Its name in the namespace.
    pub name: String,
}

impl ObjectRef {
    /// The object called `name`.
    pub fn new(gvk: GroupVersionKind, namespace: Option<Namespace>, name: impl Into<String>) -> Self {
        Self { gvk, namespace, name: name.into() }
    }

    /// The group and version, as in a manifest.
    pub fn api_version(&self) -> &ApiVersion {
        self.gvk.api_version()
    }

    /// The group; empty for the core group.
    pub fn group(&self) -> &str {
        self.gvk.group()
    }

    /// The version within the group.
    pub fn version(&self) -> &str {
        self.gvk.version()
    }

    /// The kind, in the singular and in camel case.
    pub fn kind(&self) -> &str {
        self.gvk.kind()
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind(), self.name),
            None => write!(f, "{} {}", self.kind(), self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions_have_at_most_one_slash() {
        let check = |text: &str, expected: Result<(&str, &str), ApiVersionError>| {
            let parsed = text.parse::<ApiVersion>();
            let parts = parsed.as_ref().map(|parsed| (parsed.group(), parsed.version()));
            assert_eq!(parts.map_err(|error| *error), expected, "{text}");
            if let Ok(parsed) = &parsed {
                assert_eq!(parsed.to_string(), text);
            }
        };
        check("v1", Ok(("", "v1")));
        check("apps/v1", Ok(("apps", "v1")));
        check("rbac.authorization.k8s.io/v1", Ok(("rbac.authorization.k8s.io", "v1")));
        check("", Err(ApiVersionError::EmptyVersion));
        check("apps/", Err(ApiVersionError::EmptyVersion));
        check("/v1", Err(ApiVersionError::EmptyGroup));
        check("a/b/c", Err(ApiVersionError::SeveralSlashes));
    }

    #[test]
    fn a_kind_stands_after_the_last_slash() {
        let check = |text: &str, expected: Result<(&str, &str, &str), KindError>| {
            let parsed = text.parse::<GroupVersionKind>();
            let parts = parsed.as_ref().map(|gvk| (gvk.group(), gvk.version(), gvk.kind()));
            assert_eq!(parts.map_err(|error| *error), expected, "{text}");
        };
        check("v1/Pod", Ok(("", "v1", "Pod")));
        check("apps/v1/Deployment", Ok(("apps", "v1", "Deployment")));
        check("Pod", Err(KindError::NoApiVersion));
        check("v1/", Err(KindError::Empty));
        check("a/b/c/Pod", Err(KindError::ApiVersion(ApiVersionError::SeveralSlashes)));
    }

    #[test]
    fn references_are_shown_as_people_name_objects() {
        let check = |gvk: &str, namespace: &str, name: &str, expected: &str| {
            let reference = ObjectRef::new(gvk.parse().unwrap(), Namespace::new(namespace), name);
            assert_eq!(reference.to_string(), expected);
        };
        check("apps/v1/Deployment", "shop", "web", "Deployment shop/web");
        check("rbac.authorization.k8s.io/v1/ClusterRole", "", "system:node", "ClusterRole system:node");
    }
}
