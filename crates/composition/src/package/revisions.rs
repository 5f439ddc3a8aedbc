//! Which revisions a Function has, and which of them is active.

use std::cmp::Reverse;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{ANNOTATION_RUNTIME_NAMESPACE, LABEL_PACKAGE, endpoint, is_active, is_of, runtime_namespace};
use crate::naming::hex;
use crate::object;
use crate::protocol::Object;

/// What a revision takes from its Function.
const COPIED: [&str; 7] = [
    "packagePullPolicy",
    "packagePullSecrets",
    "runtimeConfigRef",
    "ignoreCrossplaneConstraints",
    "skipDependencyResolution",
    "commonLabels",
    "commonAnnotations",
];

/// What has to happen to the revisions of a Function.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// The function runs already, and not by our doing: Crossplane installed this package, or a user wrote the endpoint.
    External(Box<Object>),
    Ours(Box<Revisions>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Revisions {
    /// The revision of the package that the Function asks for.
    pub current: String,
    /// The name of the revision to run, unless none is active.
    pub active: Option<String>,
    /// Revisions as they have to be, where they are not: one without a resourceVersion is new. Those that are no longer
    /// active come first, so that never two are.
    pub write: Vec<Object>,
    /// The names of revisions beyond the history limit.
    pub delete: Vec<String>,
}

/// Decides, given all FunctionRevisions; runtimes are in `namespace`.
///
/// With the policy `Manual`, a new revision waits until a user activates it, and the one before stays active until then.
pub fn plan(function: &Object, all: &[Object], namespace: &str) -> Plan {
    let name = object::name(function).unwrap_or_default();
    let package = object::text(function, &["spec", "package"]).unwrap_or_default();
    let is_wanted = |revision: &&&Object| image(revision) == Some(package);
    let (owned, foreign): (Vec<&Object>, Vec<&Object>) = all
        .iter()
        .filter(|revision| is_of(revision, name))
        .partition(|revision| object::is_controlled_by(revision, function));
    let is_external = |revision: &&Object| {
        is_active(revision) && endpoint(revision).is_some() && runtime_namespace(revision).is_none()
    };
    let installed_elsewhere = owned.iter().filter(is_wanted).copied().find(is_external);
    if let Some(external) = foreign.into_iter().find(is_external).or(installed_elsewhere) {
        return Plan::External(Box::new(external.clone()));
    }

    let newest = owned.iter().map(|revision| number(revision)).max().unwrap_or(0);
    let before = owned.iter().filter(is_wanted).max_by_key(|revision| number(revision)).copied();
    let mut current = before.cloned().unwrap_or_else(|| new(function, package));
    if before.is_none_or(|before| number(before) < newest) {
        set(&mut current, "revision", (newest + 1).into());
    }
    let is_automatic = object::text(function, &["spec", "revisionActivationPolicy"]) != Some("Manual");
    if is_automatic {
        set(&mut current, "desiredState", "Active".into());
    }
    let current_name = object::name(&current).unwrap_or_default().to_owned();
    let mut revisions: Vec<Object> = owned.iter().map(|revision| (*revision).clone()).collect();
    revisions.retain(|revision| object::name(revision) != Some(current_name.as_str()));
    revisions.push(current);
    // Of several that a user has activated, the newest.
    revisions.sort_by_key(|revision| Reverse(number(revision)));
    let mut active = None;
    for revision in revisions.iter_mut().filter(|revision| is_active(revision)) {
        if active.is_none() {
            active = object::name(revision).map(str::to_owned);
            run_here(revision, function, namespace);
        } else {
            set(revision, "desiredState", "Inactive".into());
        }
    }
    let delete = surplus(function, &revisions, &current_name, active.as_deref());
    revisions.retain(|revision| {
        let is_kept = object::name(revision).is_some_and(|name| !delete.iter().any(|gone| gone == name));
        is_kept && !owned.contains(&revision)
    });
    revisions.sort_by_key(is_active);
    Plan::Ours(Box::new(Revisions { current: current_name, active, write: revisions, delete }))
}

/// The names of the oldest revisions beyond the history limit. Zero keeps all.
fn surplus(function: &Object, newest_first: &[Object], current: &str, active: Option<&str>) -> Vec<String> {
    let limit =
        object::nested(function, &["spec", "revisionHistoryLimit"]).and_then(Value::as_u64).unwrap_or(1);
    if limit == 0 {
        return Vec::new();
    }
    let names = newest_first.iter().filter_map(|revision| object::name(revision));
    let idle = names.filter(|name| *name != current && Some(*name) != active);
    let kept =
        usize::try_from(limit).unwrap_or(usize::MAX) - usize::from(active.is_some_and(|one| one != current));
    idle.skip(kept).map(str::to_owned).collect()
}

/// A revision of `package` that is not active yet.
fn new(function: &Object, package: &str) -> Object {
    let name = object::name(function).unwrap_or_default();
    object::object(json!({
        "apiVersion": "pkg.crossplane.io/v1", "kind": "FunctionRevision",
        "metadata": {
            "name": revision_name(name, package),
            "labels": {LABEL_PACKAGE: name},
            "ownerReferences": [object::controller_reference(function)],
        },
        "spec": {"image": package, "desiredState": "Inactive", "revision": 1},
    }))
}

/// The revision with what the Function says about its runtime, which is ours.
fn run_here(revision: &mut Object, function: &Object, namespace: &str) {
    let annotations = object::nested_mut(revision, &["metadata", "annotations"]);
    annotations.insert(ANNOTATION_RUNTIME_NAMESPACE.to_owned(), namespace.into());
    for key in COPIED {
        match object::nested(function, &["spec", key]) {
            Some(value) => set(revision, key, value.clone()),
            None => {
                object::nested_mut(revision, &["spec"]).remove(key);
            }
        }
    }
    let name = object::name(function).unwrap_or_default();
    set(revision, "tlsServerSecretName", format!("{name}-tls-server").into());
}

fn set(revision: &mut Object, key: &str, value: Value) {
    object::nested_mut(revision, &["spec"]).insert(key.to_owned(), value);
}

fn number(revision: &Object) -> i64 {
    object::nested(revision, &["spec", "revision"]).and_then(Value::as_i64).unwrap_or(0)
}

fn image(revision: &Object) -> Option<&str> {
    object::text(revision, &["spec", "image"])
}

/// The name that Crossplane gives a revision, from the digest of the package. The digest of a tag is unknown without its
/// registry, so its name is hashed instead.
fn revision_name(function: &str, package: &str) -> String {
    let digest = match package.split_once("@sha256:") {
        Some((_, digest)) => digest.to_owned(),
        None => hex(&Sha256::digest(package)),
    };
    let first = |text: &str, count: usize| text.chars().take(count).collect::<String>();
    let label = format!("{}-{}", first(function, 50), first(&digest, 12));
    label.replace(['.', '/', ':'], "-")
}

#[cfg(test)]
mod tests;
