//! Objects in the paths of URLs: `/tree/NAMESPACE/KIND/NAME`, with `-` for objects outside namespaces.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const RESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');
const NO_NAMESPACE: &str = "-";

/// An object, as a URL names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub namespace: Option<String>,
    /// In any form that commands accept; links have `deployment.apps`.
    pub kind: String,
    pub name: String,
}

impl Target {
    /// The object at three segments of a path.
    pub(crate) fn parse(segments: &[&str]) -> Option<Self> {
        let [namespace, kind, name] = segments else { return None };
        let decode = |text: &str| Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
        let filled = |text: &str| decode(text).filter(|text| !text.is_empty());
        let namespace = filled(namespace)?;
        let (kind, name) = (filled(kind)?, filled(name)?);
        Some(Self { namespace: Some(namespace).filter(|it| it != NO_NAMESPACE), kind, name })
    }

    /// The object that JSON identifies by `apiVersion`, `kind`, `namespace` and `name`.
    pub(crate) fn new(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let dot = if group.is_empty() { "" } else { "." };
        let kind = format!("{}{dot}{group}", kind.to_lowercase());
        Self { namespace: namespace.map(str::to_owned), kind, name: name.to_owned() }
    }

    /// The path of the object in a view.
    pub(crate) fn path(&self, view: &str) -> String {
        let namespace = self.namespace.as_deref().unwrap_or(NO_NAMESPACE);
        let [namespace, kind, name] =
            [namespace, &self.kind, &self.name].map(|part| utf8_percent_encode(part, RESERVED));
        format!("/{view}/{namespace}/{kind}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_survives_its_path() {
        let check = |target: Target, path: &str| {
            assert_eq!(target.path("tree"), path);
            let segments: Vec<&str> = path.split('/').skip(2).collect();
            assert_eq!(Target::parse(&segments), Some(target));
        };
        check(Target::new("apps/v1", "Deployment", Some("shop"), "web"), "/tree/shop/deployment.apps/web");
        check(Target::new("v1", "Node", None, "n1"), "/tree/-/node/n1");
        check(
            Target::new("rbac.authorization.k8s.io/v1", "ClusterRole", None, "system:a/b"),
            "/tree/-/clusterrole.rbac.authorization.k8s.io/system:a%2Fb",
        );
        for invalid in [&["shop", "pod"][..], &["shop", "", "web"], &["shop", "pod", "%ff"]] {
            assert_eq!(Target::parse(invalid), None, "{invalid:?}");
        }
    }
}
