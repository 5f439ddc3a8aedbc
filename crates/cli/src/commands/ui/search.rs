//! Objects to start from: claims, composite resources, cloud resources and workloads first, and any kind that is typed.

use std::sync::Arc;

use cluster::{Resource, Selection};
use readiness::Health;
use serde_json::{Value, json};
use ui::Answer;

use crate::support::connect::Cluster;
use crate::support::exit::Failure;
use crate::support::kinds;
use crate::support::object_json;
use crate::support::owner_tree::{health_word, kinds_to_list, reference_of};

/// More than that do not fit a page; the search narrows them down.
const MOST_OBJECTS: usize = 200;

pub(super) async fn follow(cluster: &Cluster, text: &str, publish: &dyn Fn(Answer)) -> Result<(), Failure> {
    let resources = cluster.session.resources().await.map_err(|error| error.diagnostic("Find"))?;
    let search = Search::of(text, &resources);
    let listed = match &search.kind {
        Some(kind) => vec![kind.clone()],
        None => kinds_to_list(resources, false).into_iter().filter(|it| section(it).is_some()).collect(),
    };
    let mut informer = cluster.informers.list(listed.clone(), &Selection::default()).await;
    loop {
        let mut found: Vec<(Section, Value)> =
            informer.objects().iter().filter_map(|object| search.found(object, &listed)).collect();
        found.sort_by_key(|(section, object)| {
            let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
            (*section, text("namespace"), text("kind"), text("name"))
        });
        let more = found.len().saturating_sub(MOST_OBJECTS);
        let objects: Vec<Value> = found.into_iter().take(MOST_OBJECTS).map(|(_, object)| object).collect();
        publish(Ok(json!({
            "objects": objects, "more": more, "unreadable": informer.unreadable, "trouble": informer.trouble(),
        })));
        informer.changed().await;
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
}

impl Search {
    fn of(text: &str, resources: &[Resource]) -> Self {
        let words: Vec<String> = text.to_lowercase().split(['/', ' ']).map(str::to_owned).collect();
        let mut words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let kind = words.first().and_then(|word| kinds::find(word, resources)).filter(|it| it.can("list"));
        let kind = kind.cloned();
        if kind.is_some() {
            words.remove(0);
        }
        Self { kind, words }
    }

    fn found(&self, object: &Arc<Value>, listed: &[Resource]) -> Option<(Section, Value)> {
        let target = reference_of(object)?;
        let section = listed.iter().find(|resource| resource.gvk == target.gvk).and_then(section);
        // What a controller made is found in the tree of its owner, unless its kind was asked for.
        let is_part =
            object["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
        if is_part && self.kind.is_none() && section == Some(Section::Workloads) {
            return None;
        }
        let text = target.to_string().to_lowercase();
        if !self.words.iter().all(|word| text.contains(word)) {
            return None;
        }
        let section = section.unwrap_or(Section::Others);
        let health = Health::of(&**object, false);
        let fields = json!({
            "section": section.title(), "created": object["metadata"]["creationTimestamp"],
            "health": health_word(&health), "why": health.trouble(),
        });
        Some((section, object_json(&target, fields)))
    }
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
    }

    #[test]
    fn what_a_controller_made_is_not_a_start() {
        let resources = [resource("batch/v1/Job", "jobs", true)];
        let job = |owner: Value| {
            Arc::new(json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": { "name": "nightly", "namespace": "shop", "ownerReferences": owner },
            }))
        };
        let sections = |text: &str, owner: Value| {
            let found = Search::of(text, &resources).found(&job(owner), &resources);
            found.map(|(section, _)| section)
        };
        let owned = json!([{ "kind": "CronJob", "name": "nightly" }]);
        assert_eq!(sections("night", Value::Null), Some(Section::Workloads));
        assert_eq!(sections("night", owned.clone()), None);
        assert_eq!(sections("jobs night", owned), Some(Section::Workloads));
        assert_eq!(sections("day", Value::Null), None);
    }
}
