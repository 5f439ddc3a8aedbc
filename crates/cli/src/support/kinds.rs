//! Resolves the kinds that users type: `deploy`, `deployment`, `Deployments`, `deploy.apps`, `deployments.v1.apps`.

use std::cmp::Reverse;

use cluster::{Resource, Session};
use diag::Diagnostic;
use manifest::GroupVersionKind;

use super::exit::Failure;
use crate::codes;

/// The kind that `typed` names.
pub(crate) async fn resolve(session: &Session, typed: &str) -> Result<Resource, Failure> {
    let resources = session.resources().await.map_err(|error| error.diagnostic("Connect"))?;
    match find(typed, &resources) {
        Some(found) => Ok(found.clone()),
        None => Err(unknown(typed, &resources).into()),
    }
}

pub(crate) fn crd() -> GroupVersionKind {
    "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a fixed kind")
}

/// All names of a kind, in lower case.
fn names(resource: &Resource) -> impl Iterator<Item = String> {
    let long = [resource.plural.clone(), resource.singular.clone(), resource.gvk.kind().to_lowercase()];
    long.into_iter().chain(resource.short_names.iter().cloned()).filter(|name| !name.is_empty())
}

/// The preference for a kind if the name is ambiguous: built-in kinds before others, those at Oracle Cloud last since they
/// have the names of everything, stable versions first.
fn rank(resource: &Resource) -> impl Ord + use<'_> {
    let group = resource.gvk.group();
    let ours = match group {
        "" => 0,
        _ if manifest::is_built_in_group(group) => 1,
        _ if oraclecloud::kind::service_of(group).is_none() => 2,
        _ => 3,
    };
    (ours, group, Reverse(resource.version_priority()))
}

/// The best kind that `typed` names: `NAME`, `NAME.GROUP` or `NAME.VERSION.GROUP`.
pub(crate) fn find<'r>(typed: &str, resources: &'r [Resource]) -> Option<&'r Resource> {
    let typed = typed.to_lowercase();
    let is_meant = |resource: &&Resource| {
        let gvk = &resource.gvk;
        names(resource).any(|name| {
            let Some(rest) = typed.strip_prefix(name.as_str()) else { return false };
            match rest.strip_prefix('.') {
                None => rest.is_empty(),
                Some(place) => place == gvk.group() || place == format!("{}.{}", gvk.version(), gvk.group()),
            }
        })
    };
    resources.iter().filter(is_meant).min_by_key(|resource| rank(resource))
}

/// How similar two names must be for a suggestion; the same measure and limit as clap's.
pub(crate) const SIMILARITY: f64 = 0.8;

fn unknown(typed: &str, resources: &[Resource]) -> Diagnostic {
    let name = typed.split('.').next().unwrap_or(typed).to_lowercase();
    let mut close: Vec<(f64, &Resource)> = Vec::new();
    for candidate in resources {
        let alike = names(candidate).map(|own| strsim::jaro(&name, &own)).fold(0.0, f64::max);
        if alike > SIMILARITY {
            close.push((alike, candidate));
        }
    }
    close.sort_by(|(left, one), (right, other)| {
        right.total_cmp(left).then_with(|| rank(one).cmp(&rank(other)))
    });
    let diagnostic = Diagnostic::error(codes::KIND_UNKNOWN, format!("the cluster has no kind {typed}"));
    match close.first() {
        Some((_, likely)) => {
            let gvk = &likely.gvk;
            diagnostic.hint(format!("Did you mean {} ({})?", gvk.kind(), gvk.api_version()))
        }
        None => diagnostic.hint("List the kinds of the cluster with `kubectl api-resources`."),
    }
}

#[cfg(test)]
pub(crate) mod tests;
