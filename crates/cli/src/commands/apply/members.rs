//! The members of a set that are no longer in the files.

use std::time::Duration;

use cluster::{Delete, Propagation, Session};
use diag::Diagnostic;
use manifest::ObjectRef;
use plan::applyset::Fate;

use crate::support::applyset::Prune;
use crate::support::batch::{Batch, resolve};
use crate::support::concurrency::all;
use crate::support::report::Report;

/// Deletes the members that are no longer applied, namespaces and CRDs last, and forgets where they were. Only after
/// everything else succeeded: until then the parent names all kinds and namespaces, so that nothing is lost.
pub(super) async fn prune(
    report: &Report,
    batch: &Batch,
    session: &Session,
    propagation: Propagation,
) -> Vec<Diagnostic> {
    let Some(plan) = report.set.as_ref().filter(|plan| plan.is_pruned) else { return Vec::new() };
    let (last, first): (Vec<&Prune>, Vec<&Prune>) =
        plan.deletes().partition(|prune| resolve::is_needed_by_others(&prune.target));
    let mut problems = Vec::new();
    for prunes in [first, last] {
        let deleted = prunes.into_iter().map(|prune| async {
            let (uid, timeout) = (prune.uid.clone(), Duration::ZERO);
            let how = Delete { uid, timeout, propagation, ..Delete::of(&prune.target) };
            session.delete(&prune.target, &how).await.err()
        });
        let failed = all(deleted).await;
        problems.extend(failed.into_iter().flatten().map(|error| error.diagnostic("Prune")));
    }
    if problems.is_empty() {
        let kept = plan.prunes.iter().filter(|prune| matches!(prune.fate, Fate::Keep(_)));
        let kept: Vec<&ObjectRef> = kept.map(|prune| &prune.target).collect();
        let settled = plan.set.settle(session, &batch.objects, &kept).await;
        problems.extend(settled.err().map(|error| error.diagnostic("Prune")));
    }
    problems
}
