//! What a shell offers while a command is typed: contexts, and the kinds, names, namespaces and sets of the cluster.
//!
//! A shell calls the program itself for that. Whatever goes wrong, it offers nothing and says nothing.

mod words;

use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::engine::CompletionCandidate;
use cluster::{Environment, Selection, Session};
use manifest::{GroupVersionKind, Namespace};
use plan::applyset;
use serde_json::Value;

use self::words::Words;
use super::connect::Cluster;
use super::{kinds, process};
use crate::commands::AREAS;

/// The variable by which a shell asks for candidates.
pub(crate) const VARIABLE: &str = "PLIMSOLL_COMPLETE";
/// A user who waits longer has typed the word.
const PATIENCE: Duration = Duration::from_secs(2);

/// Contexts of the kubeconfig.
pub(crate) fn contexts(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = Words::of_process();
    let connection = super::connect::connection(&typed.cluster.kubeconfig);
    matching(current, cluster::contexts(&connection, &Environment::of_process()))
}

pub(crate) fn namespaces(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = ask(async |cluster: Cluster| {
        let kind = "v1/Namespace".parse().ok()?;
        names(&cluster.session, &kind, None).await
    });
    matching(current, found)
}

/// Kinds, then names of the kind: `deploy/web`, or `deploy web`.
pub(crate) fn objects(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let typed = Words::of_process();
    let former = typed.positional.first().filter(|first| !first.contains('/'));
    match (current.rsplit_once('/'), former) {
        (Some((kind, _)), _) => {
            let found = ask(async |cluster: Cluster| names_of(&cluster, kind).await);
            matching(OsStr::new(current), found.into_iter().map(|name| format!("{kind}/{name}")))
        }
        (None, Some(kind)) => {
            let found = ask(async |cluster: Cluster| names_of(&cluster, kind).await);
            let is_new = |name: &String| !typed.positional.contains(name);
            matching(OsStr::new(current), found.into_iter().filter(is_new))
        }
        (None, None) => kinds(current),
    }
}

/// Parents of sets, as `--applyset` names them.
pub(crate) fn applysets(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = ask(async |cluster: Cluster| {
        let mut found = Vec::new();
        for (kind, prefix) in [("v1/Secret", ""), ("v1/ConfigMap", "configmaps/")] {
            let selection = Selection {
                namespace: Some(cluster.namespace.clone()),
                labels: Some(applyset::ID.to_owned()),
                ..Selection::default()
            };
            let page = cluster.session.list_page(&kind.parse().ok()?, &selection, "").await.ok();
            let names = page.iter().flat_map(|page| &page.items).filter_map(name);
            found.extend(names.map(|name| format!("{prefix}{name}")));
        }
        Some(found)
    });
    matching(current, found)
}

/// What `wait --for` takes.
pub(crate) fn goals(current: &OsStr) -> Vec<CompletionCandidate> {
    let goals = ["rollout", "condition=", "field=", "value=", "create", "delete"];
    matching(current, goals.map(str::to_owned))
}

pub(crate) fn codes(current: &OsStr) -> Vec<CompletionCandidate> {
    let codes = AREAS.iter().flat_map(|(_, codes)| codes.iter());
    matching(current, codes.map(|code| code.name().to_owned()))
}

/// The kinds that can be listed: by their plural names, with the group where two share a name, and short names once they are
/// typed.
fn kinds(current: &str) -> Vec<CompletionCandidate> {
    let found = ask(async |cluster: Cluster| cluster.session.resources().await.ok());
    let mut candidates: Vec<(String, String)> = Vec::new();
    for resource in found.iter().filter(|resource| resource.can("list")) {
        let is_best = kinds::find(&resource.plural, &found).is_some_and(|best| best.gvk == resource.gvk);
        let is_preferred = found.iter().all(|other| {
            !other.gvk.is_same_kind(&resource.gvk) || other.version_priority() <= resource.version_priority()
        });
        let name = match is_best {
            true => resource.plural.clone(),
            false if is_preferred => format!("{}.{}", resource.plural, resource.gvk.group()),
            false => continue,
        };
        let help = resource.gvk.to_string();
        let short =
            resource.short_names.iter().filter(|short| is_best && !current.is_empty() && **short == current);
        candidates.extend(short.map(|short| (short.clone(), help.clone())));
        candidates.push((name, help));
    }
    candidates.sort();
    candidates.dedup_by(|next, first| next.0 == first.0);
    let matching = candidates.into_iter().filter(|(name, _)| name.starts_with(current));
    matching.map(|(name, help)| CompletionCandidate::new(name).help(Some(help.into()))).collect()
}

async fn names_of(cluster: &Cluster, kind: &str) -> Option<Vec<String>> {
    let resource = kinds::resolve(&cluster.session, kind).await.ok()?;
    let namespace = resource.namespaced.then(|| cluster.namespace.clone());
    names(&cluster.session, &resource.gvk, namespace).await
}

/// The names on the first page.
async fn names(
    session: &Session,
    gvk: &GroupVersionKind,
    namespace: Option<Namespace>,
) -> Option<Vec<String>> {
    let selection = Selection { namespace, ..Selection::default() };
    let page = session.list_page(gvk, &selection, "").await.ok()?;
    Some(page.items.iter().filter_map(name).collect())
}

fn name(object: &Value) -> Option<String> {
    object["metadata"]["name"].as_str().map(str::to_owned)
}

/// Asks the cluster that the words so far select.
fn ask<T: Default>(question: impl AsyncFnOnce(Cluster) -> Option<T>) -> T {
    let answer = || {
        let runtime = process::runtime().ok()?;
        runtime.block_on(async {
            let cluster = Cluster::connect(&Words::of_process().cluster).ok()?;
            tokio::time::timeout(PATIENCE, question(cluster)).await.ok()?
        })
    };
    answer().unwrap_or_default()
}

fn matching(current: &OsStr, candidates: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let matching = candidates.into_iter().filter(|candidate| candidate.starts_with(current));
    matching.map(CompletionCandidate::new).collect()
}
