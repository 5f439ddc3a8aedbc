//! Import ids: `context:namespace:apiVersion/Kind:name`, where contexts and names may contain colons.
//!
//! The part with the kind is recognised by its form. Everything after it is the name, and everything before it the
//! context, whose last part is the namespace if the kind is namespaced.

use std::sync::LazyLock;

use diag::Diagnostic;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use regex::Regex;

use crate::codes;

/// An id, parsed as far as possible without the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImportId {
    /// Everything before the kind: the context, and possibly the namespace.
    before: Vec<String>,
    pub(super) gvk: GroupVersionKind,
    name: String,
}

impl ImportId {
    pub(super) fn parse(text: &str) -> Result<Self, Box<Diagnostic>> {
        let parts: Vec<&str> = text.split(':').collect();
        let Some(position) = parts.iter().position(|part| KIND.is_match(part)) else {
            return Err(Box::new(match parts[..] {
                [_, "", _] | [_, _, "", _] => missing("Kind"),
                _ => malformed(text),
            }));
        };
        let (before, name) = (&parts[..position], parts[position + 1..].join(":"));
        if before.is_empty() {
            return Err(Box::new(malformed(text)));
        }
        if name.is_empty() {
            return Err(Box::new(missing("Name")));
        }
        let Ok(gvk) = parts[position].parse() else { return Err(Box::new(malformed(text))) };
        Ok(Self { before: before.iter().map(|part| (*part).to_owned()).collect(), gvk, name })
    }

    /// The possible contexts: first all of `before`, then, for a namespaced kind, without the namespace.
    pub(super) fn contexts(&self) -> Vec<String> {
        let whole = self.before.join(":");
        match self.before.split_last() {
            Some((_, rest)) if !rest.is_empty() => vec![whole, rest.join(":")],
            _ => vec![whole],
        }
    }

    /// The object, in `context`.
    pub(super) fn target(&self, context: &str, namespaced: bool) -> Result<ObjectRef, Box<Diagnostic>> {
        let namespace = match self.before.split_last() {
            Some((last, rest)) if namespaced && rest.join(":") == context && !rest.is_empty() => {
                Namespace::new(last.clone())
            }
            _ if namespaced => return Err(Box::new(namespace_missing(&self.gvk))),
            _ => None,
        };
        Ok(ObjectRef::new(self.gvk.clone(), namespace, self.name.clone()))
    }

    /// The context for a kind of this scope.
    pub(super) fn context(&self, namespaced: bool) -> String {
        match self.before.split_last() {
            Some((_, rest)) if namespaced => rest.join(":"),
            _ => self.before.join(":"),
        }
    }
}

/// A kind with its API version: `apps/v1/Deployment`.
static KIND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^([a-z0-9.-]+/)?v[0-9][a-z0-9]*/[A-Z][A-Za-z0-9]*$").expect("a constant pattern")
});

const FORMS: &str = "Write one of:\n  <context>:<namespace>:<apiVersion>/<Kind>:<name>, as prod:default:apps/v1/Deployment:web\n  \
                     <context>:<apiVersion>/<Kind>:<name>, as prod:v1/Namespace:shop\nWith a cluster in the provider block \
                     the context may be empty: :default:v1/Pod:x";

fn malformed(text: &str) -> Diagnostic {
    Diagnostic::error(codes::IMPORT_ID, "Invalid Import ID Format")
        .detail(format!("{text:?} has no part with an API version and a kind."))
        .hint(FORMS)
}

fn missing(part: &str) -> Diagnostic {
    Diagnostic::error(codes::IMPORT_ID, format!("Import Failed: Missing {part}"))
        .detail(format!("The import id has no {}.", part.to_lowercase()))
        .hint(FORMS)
}

/// The error for an id without a cluster.
pub(super) fn context_missing() -> Diagnostic {
    missing("Context")
}

fn namespace_missing(gvk: &GroupVersionKind) -> Diagnostic {
    Diagnostic::error(codes::IMPORT_ID, "Invalid Import ID Format")
        .detail(format!("{} is a namespaced kind, and the import id has no namespace.", gvk.kind()))
        .hint(FORMS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_however_many_colons_they_have() {
        let check = |text: &str, namespaced: bool, context: &str, expected: &str| {
            let id = ImportId::parse(text).unwrap();
            assert_eq!(id.context(namespaced), context, "{text}");
            let target = id.target(context, namespaced).unwrap();
            assert_eq!(format!("{} {target}", target.gvk), expected, "{text}");
        };
        check(
            "prod:default:apps/v1/Deployment:web",
            true,
            "prod",
            "apps/v1/Deployment Deployment default/web",
        );
        check("prod:default:v1/Pod:x", true, "prod", "v1/Pod Pod default/x");
        check("prod:v1/Namespace:shop", false, "prod", "v1/Namespace Namespace shop");
        check(":default:v1/Pod:x", true, "", "v1/Pod Pod default/x");
        check(":v1/Node:n", false, "", "v1/Node Node n");
        let arn = "arn:aws:eks:eu-west-1:123456789012:cluster/prod";
        check(&format!("{arn}:shop:v1/Pod:x"), true, arn, "v1/Pod Pod shop/x");
        check(
            &format!("{arn}:rbac.authorization.k8s.io/v1/ClusterRole:system:node"),
            false,
            arn,
            "rbac.authorization.k8s.io/v1/ClusterRole ClusterRole system:node",
        );
    }

    #[test]
    fn a_malformed_id_names_the_missing_part() {
        let check = |text: &str, expected: &str| {
            assert_eq!(ImportId::parse(text).unwrap_err().summary, expected, "{text}");
        };
        check("", "Invalid Import ID Format");
        check("prod:default:Pod:x", "Invalid Import ID Format");
        check("v1/Pod:x", "Invalid Import ID Format");
        check("prod:default::x", "Import Failed: Missing Kind");
        check("prod:default:v1/Pod:", "Import Failed: Missing Name");
        check("prod:default:v1/pod:x", "Invalid Import ID Format");
        check("prod:default:a b/v1/Pod:x", "Invalid Import ID Format");
        let id = ImportId::parse("prod:v1/Pod:x").unwrap();
        assert_eq!(id.target("", true).unwrap_err().summary, "Invalid Import ID Format");
    }
}
