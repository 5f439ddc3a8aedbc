//! Which objects need a dry run, and which can be compared locally.

use std::collections::{HashMap, HashSet};

use cluster::{Resource, Selection, Session};
use futures::future::try_join_all;
use manifest::{GroupVersionKind, ObjectRef};
use plan::{Admission, Intervention, LastAnswer, Question};

const GROUP: &str = "admissionregistration.k8s.io";

/// The number of unchanged objects from which listing webhooks and policies takes fewer requests than asking about
/// each.
const WORTH_LISTING: usize = 5;

/// The answers that need no request to the API server.
pub(crate) struct DryRuns<'w> {
    /// The objects that are already as an apply would leave them.
    applied: HashSet<&'w ObjectRef>,
    /// What may intervene, by kind; empty if it was not listed.
    interventions: HashMap<GroupVersionKind, Intervention>,
}

impl<'w> DryRuns<'w> {
    pub(crate) async fn new(session: &Session, applied: HashSet<&'w ObjectRef>) -> Self {
        let interventions = match applied.len() {
            0..WORTH_LISTING => None,
            _ => interventions(session).await,
        };
        Self { applied, interventions: interventions.unwrap_or_default() }
    }

    /// Whether an object needs a dry run. Responses are not kept between runs.
    pub(crate) fn question(&self, target: &ObjectRef) -> Question {
        plan::question(LastAnswer::Forgotten, || self.applied.contains(target), self.intervention(target))
    }

    /// Whether an object counts as unchanged although the API server rejected the dry run.
    pub(crate) fn is_unchanged_unasked(&self, target: &ObjectRef) -> bool {
        plan::is_unchanged_unasked(|| self.applied.contains(target), self.intervention(target))
    }

    fn intervention(&self, target: &ObjectRef) -> Intervention {
        self.interventions.get(&target.gvk).copied().unwrap_or(Intervention::Unknown)
    }
}

/// Lists webhooks and admission policies; `None` without permission.
async fn interventions(session: &Session) -> Option<HashMap<GroupVersionKind, Intervention>> {
    let resources = session.resources().await.ok()?;
    let kinds = Admission::KINDS.iter().filter_map(|kind| served(&resources, kind));
    let lists = kinds.map(|resource| async move { session.list(&resource.gvk, &Selection::default()).await });
    let listings = try_join_all(lists).await.ok()?;
    let admission = Admission::of(listings.iter().flat_map(|listing| &listing.items));
    let intervention = |resource: &Resource| {
        let concerns = admission.concerns(resource.gvk.group(), &resource.plural);
        if concerns { Intervention::Possible } else { Intervention::None }
    };
    Some(resources.iter().map(|resource| (resource.gvk.clone(), intervention(resource))).collect())
}

/// The kind in its preferred version, if the cluster serves it.
fn served<'r>(resources: &'r [Resource], kind: &str) -> Option<&'r Resource> {
    let known = resources.iter().filter(|it| it.gvk.group() == GROUP && it.gvk.kind() == kind);
    known.max_by_key(|resource| resource.version_priority())
}
