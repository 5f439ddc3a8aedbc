//! Objects to start from: claims, composite resources, cloud resources and workloads first, then any object whose name is typed.

use cluster::Resource;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::{Value, json};
use ui::Answer;

use crate::support::connect::Cluster;
use crate::support::definitions::Definitions;
use crate::support::exit::Failure;
use crate::support::informer::{Informer, Record, Records, Summaries, Summary};
use crate::support::kinds;
use crate::support::object_json;
use crate::support::owner_tree::{health_word, kinds_to_list};

/// More than that do not fit a page; the search narrows them down.
const MOST_OBJECTS: usize = 200;

/// Ends when there may be other kinds.
pub(super) async fn follow(
    cluster: &Cluster,
    definitions: &mut Definitions,
    text: &str,
    publish: &dyn Fn(Answer),
) -> Result<(), Failure> {
    let resources = cluster.session.resources().await.map_err(|error| error.diagnostic("Find"))?;
    let search = Search::of(text, &resources);
    definitions.look_at(&resources);
    let (listed, others) = search.kinds(kinds_to_list(resources.clone()));
    let home = [cluster.namespace.clone()];
    let (mut stated, mut named): (Informer<Summaries>, Informer<Records>) = tokio::join!(
        cluster.informers.list_everywhere(listed.iter().cloned(), &home),
        cluster.informers.list_everywhere(others, &home),
    );
    loop {
        let summaries = stated.summaries();
        let mut found: Vec<(Section, Value)> =
            summaries.iter().filter_map(|summary| search.stated(summary, &listed)).collect();
        for shelf in named.shelves() {
            found.extend(shelf.content().all().filter_map(|record| search.named(shelf.gvk, record)));
        }
        found.sort_by_cached_key(|(section, object)| {
            let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
            (*section, text("namespace"), text("kind"), text("name"))
        });
        let more = found.len().saturating_sub(MOST_OBJECTS);
        let objects: Vec<Value> = found.into_iter().take(MOST_OBJECTS).map(|(_, object)| object).collect();
        let mut unreadable = stated.unreadable();
        unreadable.extend(named.unreadable());
        publish(Ok(json!({
            "objects": objects, "more": more, "unreadable": unreadable,
            "trouble": stated.trouble().or_else(|| named.trouble()),
        })));
        tokio::select! {
            () = stated.changed() => {}
            () = named.changed() => {}
            () = definitions.changed(cluster, &resources) => return Ok(()),
        }
    }
}

/// Where an object stands among those that are found, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Claims,
    Composites,
    Cloud,
    Deliveries,
    Workloads,
    Others,
}

impl Section {
    const fn title(self) -> &'static str {
        match self {
            Self::Claims => "Claims",
            Self::Composites => "Composite resources",
            Self::Cloud => "Cloud resources",
            Self::Deliveries => "Deliveries",
            Self::Workloads => "Workloads",
            Self::Others => "Objects",
        }
    }
}

/// The section of a kind that people start from.
fn section(resource: &Resource) -> Option<Section> {
    let has = |category: &str| resource.categories.iter().any(|known| known == category);
    match (resource.gvk.group(), resource.gvk.kind()) {
        _ if has("claim") => Some(Section::Claims),
        _ if has("composite") => Some(Section::Composites),
        (group, _) if has("managed") || group.ends_with(".oracle.com") => Some(Section::Cloud),
        ("argoproj.io", "Application")
        | ("kustomize.toolkit.fluxcd.io", "Kustomization")
        | ("helm.toolkit.fluxcd.io", "HelmRelease") => Some(Section::Deliveries),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet") | ("batch", "Job" | "CronJob") => {
            Some(Section::Workloads)
        }
        _ => None,
    }
}

/// What was typed: `web`, `deploy`, `deploy/web` or several words.
struct Search {
    kind: Option<Resource>,
    /// Each must occur in the kind, the namespace or the name.
    words: Vec<String>,
    /// The same without a kind.
    all_words: Vec<String>,
}

impl Search {
    fn of(text: &str, resources: &[Resource]) -> Self {
        let words: Vec<String> = text.to_lowercase().split(['/', ' ']).map(str::to_owned).collect();
        let all_words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let kind = all_words.first().and_then(|word| kinds::find(word, resources));
        let kind = kind.filter(|it| it.can("list")).cloned();
        let words = all_words.iter().skip(usize::from(kind.is_some())).cloned().collect();
        Self { kind, words, all_words }
    }

    /// The kinds whose objects are listed with their state, and those of which names are enough.
    fn kinds(&self, all: Vec<Resource>) -> (Vec<Resource>, Vec<Resource>) {
        let (mut listed, mut others): (Vec<_>, Vec<_>) = match &self.kind {
            Some(kind) => (vec![kind.clone()], all),
            None => all.into_iter().partition(|kind| section(kind).is_some()),
        };
        if self.all_words.is_empty() {
            others.clear();
        }
        others.retain(|kind| listed.iter().all(|it| !it.gvk.is_same_kind(&kind.gvk)));
        listed.sort_by(|left, right| left.gvk.cmp(&right.gvk));
        (listed, others)
    }

    fn stated(&self, summary: &Summary, listed: &[Resource]) -> Option<(Section, Value)> {
        let target = &summary.target;
        let section = listed.iter().find(|resource| resource.gvk == target.gvk).and_then(section);
        // What a controller made is found in the tree of its owner, unless its kind was asked for.
        if summary.is_owned && self.kind.is_none() && section == Some(Section::Workloads) {
            return None;
        }
        if !has_all(target, &self.words) {
            return None;
        }
        let section = section.unwrap_or(Section::Others);
        let fields = json!({
            "section": section.title(), "created": summary.created,
            "health": health_word(&summary.health), "why": summary.health.trouble(),
        });
        Some((section, object_json(target, fields)))
    }

    fn named(&self, gvk: &GroupVersionKind, record: &Record) -> Option<(Section, Value)> {
        let target = ObjectRef::new(gvk.clone(), Namespace::new(&*record.namespace), &*record.name);
        let fields = json!({ "section": Section::Others.title(), "created": record.created });
        has_all(&target, &self.all_words).then(|| (Section::Others, object_json(&target, fields)))
    }
}

fn has_all(target: &ObjectRef, words: &[String]) -> bool {
    let text = target.to_string().to_lowercase();
    words.iter().all(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::kinds::tests::resource;

    #[test]
    fn a_search_names_a_kind_or_parts_of_names() {
        let resources =
            [resource("apps/v1/Deployment", "deployments", true), resource("v1/Pod", "pods", true)];
        let check = |text: &str, kind: Option<&str>, words: &[&str]| {
            let search = Search::of(text, &resources);
            assert_eq!(search.kind.as_ref().map(|it| it.gvk.kind()), kind, "{text}");
            assert_eq!(search.words, words, "{text}");
        };
        check("", None, &[]);
        check("web", None, &["web"]);
        check("Deployment", Some("Deployment"), &[]);
        check("pods/web", Some("Pod"), &["web"]);
        check("deployments.apps shop web", Some("Deployment"), &["shop", "web"]);
        let kinds = |text: &str| {
            let (stated, named) = Search::of(text, &resources).kinds(resources.to_vec());
            [stated, named].map(|kinds| kinds.iter().map(|it| it.gvk.kind().to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(kinds(""), [vec!["Deployment"], vec![]]);
        assert_eq!(kinds("web"), [vec!["Deployment"], vec!["Pod"]]);
        assert_eq!(kinds("pod"), [vec!["Pod"], vec!["Deployment"]]);
    }

    #[test]
    fn what_a_controller_made_is_not_a_start() {
        let resources = [resource("batch/v1/Job", "jobs", true)];
        let job = |owner: Value| {
            Summary::of(&json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": { "name": "nightly", "namespace": "shop", "ownerReferences": owner },
            }))
            .unwrap()
        };
        let sections = |text: &str, owner: Value| {
            let found = Search::of(text, &resources).stated(&job(owner), &resources);
            found.map(|(section, _)| section)
        };
        let owned = json!([{ "kind": "CronJob", "name": "nightly" }]);
        assert_eq!(sections("night", Value::Null), Some(Section::Workloads));
        assert_eq!(sections("night", owned.clone()), None);
        assert_eq!(sections("jobs night", owned), Some(Section::Workloads));
        assert_eq!(sections("day", Value::Null), None);
    }
}
