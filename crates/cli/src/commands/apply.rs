//! `plimsoll apply`: applies everything concurrently, ordered only where one object needs another.

use std::collections::{HashMap, HashSet};

use cluster::{Readiness, Session, Write};
use diag::Diagnostic;
use futures::future::join_all;
use futures::stream::{self, StreamExt as _};
use manifest::{GroupVersionKind, ObjectRef};
use plan::{LocalAnswer, Question};
use readiness::{Cut, Wait, Written, WrittenWait, is_ready_when_created};

use super::wait::follow;
use crate::args::plan::Apply;
use crate::codes;
use crate::support::batch::{Batch, refusal};
use crate::support::concurrency::until;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::in_flight::InFlight;
use crate::support::printer::{GOOD, Printer};
use crate::support::process::{INTERRUPTED, interrupt, until_interrupted};
use crate::support::report::{Action, ObjectReport, Report, text};

pub(super) fn run(args: &Apply, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let (mut batch, cluster) = Batch::load(&args.files, &args.cluster).await?;
        if !batch.problems.is_empty() {
            return Ok(refuse(&batch, printer));
        }
        let problems = std::mem::take(&mut batch.problems);
        let report = Report { objects: apply(&batch, &cluster.session, args, printer).await, problems };
        text::report(printer, &report, text::Tense::Applied)?;
        let left = batch.objects.len() - report.objects.len();
        if left > 0 {
            printer.diagnostic(&interrupted(left));
            return Ok(Exit::Passed(INTERRUPTED));
        }
        let ready = !args.wait || wait(&report, &cluster.session, args, printer).await?;
        Ok(if ready && !report.has_errors() { Exit::Success } else { Exit::Failure })
    })
}

/// Refuses to begin with invalid files: half of them may be worse than none.
fn refuse(batch: &Batch, printer: &mut Printer) -> Exit {
    for problem in &batch.problems {
        printer.diagnostic(problem);
    }
    let title = format!("nothing was applied: the files have {}", text::problems(batch.problems.len()));
    printer.diagnostic(
        &Diagnostic::error(codes::NOTHING_APPLIED, title).hint("Correct the files and apply again."),
    );
    Exit::Failure
}

fn interrupted(left: usize) -> Diagnostic {
    let objects = if left == 1 { "1 object was" } else { &format!("{left} objects were") };
    Diagnostic::error(codes::INTERRUPTED, format!("interrupted: {objects} not applied"))
        .detail("Requests already sent may still take effect.")
        .hint("Apply again: objects already applied stay as they are.")
}

/// Applies what may change; an object that would stay as it is costs no request. Fewer reports than objects mean an
/// interrupt.
async fn apply(batch: &Batch, session: &Session, args: &Apply, printer: &Printer) -> Vec<ObjectReport> {
    let in_flight = InFlight::new(printer.progress(batch.objects.len(), "applying"));
    let write = Write::by(&args.writer.field_manager);
    let write = if args.writer.force_conflicts { write.force() } else { write };
    let dry_runs = batch.dry_runs(session, &args.writer).await;
    let applied = batch.objects.iter().map(|object| {
        in_flight.track(&object.target, async {
            let (target, body) = (&object.target, &object.body);
            if dry_runs.question(target).await == Question::Needless {
                return ObjectReport::unchanged(target);
            }
            let mut reply = session.apply(target, body, write).await;
            if let Err(error) = &reply
                && let Some(dependency) = error.dependency().filter(|it| batch.may_bring(it, object))
            {
                in_flight.note(target, format_args!("{target}, waiting for {dependency}"));
                reply = session.apply_when_possible(target, body, write).await;
            }
            match reply {
                Ok(reply) => batch.compare(object, reply, &args.writer),
                Err(error)
                    if error.is_unauthorized()
                        && dry_runs.local_answer(target).await == LocalAnswer::Unchanged =>
                {
                    ObjectReport::unchanged(target)
                }
                Err(error) => ObjectReport::refused(target, refusal(&error, "Apply")),
            }
        })
    });
    let reports = until(interrupt(), applied).await;
    in_flight.finish();
    reports
}

/// Waits for all applied objects concurrently; returns whether they are ready.
async fn wait(
    report: &Report,
    session: &Session,
    args: &Apply,
    printer: &mut Printer,
) -> Result<bool, Failure> {
    let written = report.objects.iter().filter(|object| object.action() != Action::Refused);
    let targets: Vec<&ObjectRef> = written
        .map(|object| &object.target)
        .filter(|target| !is_ready_when_created(target.group(), target.kind()))
        .collect();
    let kinds: HashSet<&GroupVersionKind> = targets.iter().map(|target| &target.gvk).collect();
    let asked = kinds.into_iter().map(async |gvk| (gvk, session.publishes_conditions(gvk).await));
    let publishing: HashMap<&GroupVersionKind, bool> = join_all(asked).await.into_iter().collect();
    let ready = ready(args);
    let wait = |target: &ObjectRef| {
        let publishes_conditions = publishing.get(&target.gvk).copied();
        Wait { publishes_conditions, ..ready.clone() }
    };
    let waits: Vec<_> = targets.into_iter().map(|target| (target, wait(target))).collect();
    let bar = printer.progress(waits.len(), "ready");
    let waiting = waits.iter().map(|(target, wait)| async {
        let readiness = follow(session, target, wait, &bar).await;
        bar.inc(1);
        (*target, readiness)
    });
    let mut ended = stream::iter(waiting).buffered(waits.len().max(1));
    let mut ready = true;
    while let Some((target, readiness)) = ended.next().await {
        match readiness? {
            Readiness::Met { .. } => {
                bar.suspend(|| printer.message(format_args!("{GOOD}ready{GOOD:#} {target}")));
            }
            Readiness::Unmet { diagnosis, .. } => {
                bar.suspend(|| printer.diagnostic(&diagnosis));
                ready = false;
            }
        }
    }
    bar.finish_and_clear();
    Ok(ready)
}

/// The wait for an object of any kind to be ready.
fn ready(args: &Apply) -> Wait {
    let timeout = Written::Known(args.timeout.to_string());
    let written = WrittenWait { rollout: Written::Known(true), timeout, ..WrittenWait::default() };
    written.parse(None, Cut::Root).wait.expect("a rollout and a timeout that was checked")
}
