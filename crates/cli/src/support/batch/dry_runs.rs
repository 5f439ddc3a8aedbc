//! Which objects need a dry run, and which can be compared locally.

use std::collections::HashSet;

use cluster::Session;
use manifest::ObjectRef;
use plan::{Admission, Intervention, LastAnswer, LocalAnswer, Question};
use tokio::sync::OnceCell;

/// The number of unchanged objects from which listing webhooks and policies takes fewer requests than asking about
/// each.
const WORTH_LISTING: usize = 5;

/// The answers that need no request to the API server.
pub(crate) struct DryRuns<'w> {
    session: &'w Session,
    /// The objects that are already as an apply would leave them.
    applied: HashSet<&'w ObjectRef>,
    /// Listed at most once; `None` without permission.
    admission: OnceCell<Option<Admission>>,
}

impl<'w> DryRuns<'w> {
    pub(crate) async fn new(session: &'w Session, applied: HashSet<&'w ObjectRef>) -> Self {
        let dry_runs = Self { session, applied, admission: OnceCell::new() };
        if dry_runs.applied.len() >= WORTH_LISTING {
            dry_runs.admission().await;
        }
        dry_runs
    }

    /// Whether an object needs a dry run.
    pub(crate) async fn question(&self, target: &ObjectRef) -> Question {
        let intervention = match self.admission.get() {
            Some(_) => self.intervention(target).await,
            None => Intervention::Unknown,
        };
        question(|| self.applied.contains(target), intervention)
    }

    /// What is known of an object for which the API server has refused a dry run or an apply.
    pub(crate) async fn local_answer(&self, target: &ObjectRef) -> LocalAnswer {
        let is_applied = self.applied.contains(target);
        let intervention = if is_applied { self.intervention(target).await } else { Intervention::Unknown };
        plan::local_answer(|| is_applied, intervention)
    }

    async fn intervention(&self, target: &ObjectRef) -> Intervention {
        match (self.admission().await, self.session.resource(&target.gvk).await) {
            (Some(admission), Ok(resource)) => admission.intervention(target.group(), &resource.plural),
            _ => Intervention::Unknown,
        }
    }

    async fn admission(&self) -> Option<&Admission> {
        let list = async || {
            let objects = self.session.list_kinds(Admission::GROUP, &Admission::KINDS).await.ok()?;
            Some(Admission::of(&objects))
        };
        self.admission.get_or_init(list).await.as_ref()
    }
}

/// Responses are not kept between runs.
pub(super) fn question(is_applied: impl FnOnce() -> bool, intervention: Intervention) -> Question {
    plan::question(LastAnswer::Forgotten, is_applied, intervention)
}
