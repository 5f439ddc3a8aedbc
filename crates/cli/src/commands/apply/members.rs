//! The members of a set that are no longer in the files: deleted after everything else succeeded.

use std::time::Duration;

use cluster::{Delete, Deletion, Error, Propagation, Session};

use crate::support::applyset::prune::{End, Outcome, Prune};
use crate::support::batch::{Batch, resolve};
use crate::support::concurrency::until;
use crate::support::process::interrupt;
use crate::support::report::{ObjectReport, Report};

/// Deletes the members that are no longer applied, namespaces and CRDs last, notes how each deletion ended, and forgets where the
/// deleted ones were. Only after everything else succeeded: until then the parent names all kinds and namespaces, so that nothing
/// is lost. False after an interrupt.
pub(super) async fn prune(
    report: &mut Report,
    batch: &Batch,
    session: &Session,
    propagation: Propagation,
) -> bool {
    let is_complete = report.objects.len() == batch.objects.len();
    let obstacle = obstacle(report, is_complete);
    let Some(plan) = report.set.as_mut().filter(|plan| plan.is_pruned) else { return is_complete };
    if let Some(why) = obstacle {
        plan.leave_rest(why);
        return is_complete;
    }
    for last in [false, true] {
        let due = plan.prunes.iter().enumerate().filter(|(_, prune)| is_due(prune, last));
        let due: Vec<usize> = due.map(|(place, _)| place).collect();
        let deletions = due.iter().map(|&place| {
            let prune = &plan.prunes[place];
            async move { (place, delete(session, prune, propagation).await) }
        });
        let ended = until(interrupt(), deletions).await;
        let is_interrupted = ended.len() < due.len();
        let mut problems = Vec::new();
        for (place, result) in ended {
            plan.prunes[place].outcome = Some(outcome(&result));
            problems.extend(result.err().map(|error| error.diagnostic("Prune")));
        }
        let has_failed = !problems.is_empty();
        report.problems.extend(problems);
        if is_interrupted {
            plan.leave_rest(INTERRUPTED);
            return false;
        }
        if has_failed {
            // A namespace may still contain the member.
            plan.leave_rest("another member could not be deleted");
        }
    }
    let settled = plan.set.settle(session, &batch.objects, &plan.remaining()).await;
    report.problems.extend(settled.err().map(|error| error.diagnostic("Prune")));
    true
}

const INTERRUPTED: &str = "the apply was interrupted";

/// Why no member may be deleted.
fn obstacle(report: &Report, is_complete: bool) -> Option<&'static str> {
    let is_listed = report.set.as_ref().is_none_or(|plan| plan.set.unlisted.is_empty());
    if !is_complete {
        Some(INTERRUPTED)
    } else if report.objects.iter().any(ObjectReport::has_errors) {
        Some("not every object was applied")
    } else if !is_listed {
        Some("not all members of the set could be listed")
    } else {
        report.has_errors().then_some("the apply had errors")
    }
}

/// Whether a member is to be deleted with others of its kind, or with namespaces and CRDs at last.
fn is_due(prune: &Prune, last: bool) -> bool {
    let is_wanted = prune.outcome.is_none() && matches!(prune.end(true), End::Deleted { .. });
    is_wanted && resolve::is_needed_by_others(&prune.target) == last
}

async fn delete(session: &Session, prune: &Prune, propagation: Propagation) -> Result<Deletion, Error> {
    let (uid, timeout) = (prune.uid.clone(), Duration::ZERO);
    let how = Delete { uid, timeout, propagation, ..Delete::of(&prune.target) };
    session.delete(&prune.target, &how).await
}

fn outcome(result: &Result<Deletion, Error>) -> Outcome {
    match result {
        Ok(Deletion::Gone { .. } | Deletion::Requested) => Outcome::Deleted,
        Ok(Deletion::Recreated) => Outcome::NotDeleted("a new object has its name".to_owned()),
        Ok(Deletion::Stuck(_)) => Outcome::NotDeleted("it still exists".to_owned()),
        Err(error) => Outcome::NotDeleted(diag::error_chain(error.kind())),
    }
}

#[cfg(test)]
mod tests {
    use diag::Diagnostic;
    use manifest::{Namespace, ObjectRef};

    use super::*;
    use crate::codes;
    use crate::support::applyset::SetPlan;

    #[test]
    fn nothing_is_deleted_after_a_failure() {
        let target = ObjectRef::new("v1/ConfigMap".parse().unwrap(), Namespace::new("shop"), "a");
        let why = || Diagnostic::error(codes::APPLYSET_LABEL, "x");
        let check = |is_complete: bool, refused: bool, unlisted: bool, expected: Option<&str>| {
            let mut set = SetPlan::sample(Vec::new());
            set.set.unlisted.extend(unlisted.then(why));
            let object = if refused {
                ObjectReport::refused(&target, why())
            } else {
                ObjectReport::unchanged(&target)
            };
            let report =
                Report { objects: vec![object], problems: Vec::new(), set: Some(set), composites: None };
            assert_eq!(obstacle(&report, is_complete), expected);
        };
        check(true, false, false, None);
        check(false, false, false, Some("the apply was interrupted"));
        check(true, true, false, Some("not every object was applied"));
        check(true, false, true, Some("not all members of the set could be listed"));
    }
}
