//! What identifies an object: its group, version and kind, its namespace and its name.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Map, Value};
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
///
/// It is deserialized from `apiVersion` and `kind` side by side, as objects write it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "TypeMeta")]
pub struct GroupVersionKind {
    api_version: ApiVersion,
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta {
    api_version: String,
    kind: String,
}

impl TryFrom<TypeMeta> for GroupVersionKind {
    type Error = KindError;

    fn try_from(written: TypeMeta) -> Result<Self, KindError> {
        Self::new(written.api_version.parse()?, &written.kind)
    }
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

    /// The kind that `apiVersion` and `kind` of `object` name: a whole object, or a reference to one.
    pub fn of(object: &Map<String, Value>) -> Result<Self, KindError> {
        Self::new(text(object, "apiVersion").parse()?, text(object, "kind"))
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

    /// `Kind.group`, or just the kind in the core group: how Go prints a GroupKind.
    pub fn group_kind(&self) -> String {
        match self.group() {
            "" => self.kind.clone(),
            group => format!("{}.{group}", self.kind),
        }
    }

    /// Whether both are the same kind, possibly in different versions of its group.
    pub fn is_same_kind(&self, other: &Self) -> bool {
        (self.group(), self.kind()) == (other.group(), other.kind())
    }
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
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

    /// A reference to `object`, which has to have a kind and a name.
    pub fn of(object: &Map<String, Value>) -> Result<Self, IdentityError> {
        let gvk = GroupVersionKind::of(object).map_err(|source| IdentityError::Kind {
            api_version: text(object, "apiVersion").to_owned(),
            kind: text(object, "kind").to_owned(),
            source,
        })?;
        let metadata = object.get("metadata").and_then(Value::as_object);
        let part = |key: &str| metadata.map_or("", |metadata| text(metadata, key));
        match part("name") {
            "" => Err(IdentityError::Name { kind: gvk.kind }),
            name => Ok(Self::new(gvk, Namespace::new(part("namespace")), name)),
        }
    }

    /// Whether both refer to the same object, possibly in different versions of its kind.
    pub fn is_same_object(&self, other: &Self) -> bool {
        self.gvk.is_same_kind(&other.gvk) && (&self.namespace, &self.name) == (&other.namespace, &other.name)
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

/// Why an object cannot be referred to.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IdentityError {
    /// Its `apiVersion` and `kind` do not name a kind.
    #[error("kind {kind:?} of apiVersion {api_version:?} is not a kind")]
    Kind {
        /// As written.
        api_version: String,
        /// As written.
        kind: String,
        /// What is wrong with them.
        source: KindError,
    },
    /// It has no `metadata.name`.
    #[error("a {kind} has no name")]
    Name {
        /// What it is.
        kind: String,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    #[test]
    fn objects_are_referred_to_by_kind_and_name() {
        let check = |object: Value, expected: Result<&str, &str>| {
            let reference = ObjectRef::of(object.as_object().unwrap());
            let shown = reference.map(|reference| format!("{} {reference}", reference.api_version()));
            assert_eq!(
                shown.map_err(|error| error.to_string()),
                expected.map(str::to_owned).map_err(str::to_owned)
            );
        };
        let named = json!({"namespace": "shop", "name": "web"});
        check(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": named}),
            Ok("apps/v1 Deployment shop/web"),
        );
        check(
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}),
            Ok("v1 Namespace a"),
        );
        check(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ""}}), Err("a Pod has no name"));
        check(json!({"kind": "Pod", "metadata": named}), Err(r#"kind "Pod" of apiVersion "" is not a kind"#));
        check(
            json!({"apiVersion": "a/b/c", "kind": 1}),
            Err(r#"kind "" of apiVersion "a/b/c" is not a kind"#),
        );
    }

    #[test]
    fn a_version_does_not_make_another_object() {
        let of = |gvk: &str, name: &str| ObjectRef::new(gvk.parse().unwrap(), None, name);
        let web = of("apps/v1/Deployment", "web");
        assert!(web.is_same_object(&of("apps/v1beta1/Deployment", "web")));
        assert!(!web.is_same_object(&of("apps/v1/Deployment", "other")));
        assert!(!web.is_same_object(&of("extensions/v1/Deployment", "web")));
        assert_eq!(web.gvk.group_kind(), "Deployment.apps");
        assert_eq!(of("v1/Pod", "a").gvk.group_kind(), "Pod");
    }

    #[test]
    fn kinds_are_read_as_objects_write_them() {
        let read = |value: Value| serde_json::from_value::<GroupVersionKind>(value);
        let gvk = read(json!({"apiVersion": "apps/v1", "kind": "Deployment"})).unwrap();
        assert_eq!(gvk.to_string(), "apps/v1/Deployment");
        assert_eq!(
            read(json!({"apiVersion": "v1", "kind": ""})).unwrap_err().to_string(),
            "the kind is empty"
        );
    }
}
