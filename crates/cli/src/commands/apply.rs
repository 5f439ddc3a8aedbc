//! `plimsoll apply`: applies everything concurrently, ordered only where one object needs another.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use cluster::{Delete, Readiness, Session};
use diag::Diagnostic;
use futures::future::join_all;
use futures::stream::{self, StreamExt as _};
use manifest::{GroupVersionKind, ObjectRef};
use plan::LocalAnswer;
use plan::applyset::Fate;
use readiness::{Cut, Wait, Written, WrittenWait, is_ready_when_created};

use super::wait::follow;
use crate::args::Format;
use crate::args::plan::{Apply, DryRun};
use crate::codes;
use crate::support::applyset::Prune;
use crate::support::batch::writer::Writer;
use crate::support::batch::{Batch, located, refusal, resolve};
use crate::support::concurrency::{all, until};
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::files::{self, Loaded};
use crate::support::in_flight::InFlight;
use crate::support::printer::{GOOD, Printer};
use crate::support::process::{INTERRUPTED, interrupt, until_interrupted};
use crate::support::report::{Action, ObjectReport, Report, WaitResult, text};

pub(super) fn run(args: &Apply, printer: &mut Printer) -> Outcome {
    until_interrupted(async { apply_all(files::load_bodies(&args.bodies).await?, args, printer).await })
}

/// Applies objects, whose files are not read again.
pub(super) async fn apply_all(loaded: Loaded, args: &Apply, printer: &mut Printer) -> Outcome {
    let writer = Writer::new(&args.writer)?.for_format(printer.format());
    let cluster = Cluster::connect(&args.cluster)?;
    let mut batch = Batch::resolve(loaded, &args.set, &cluster, "Apply").await?;
    if !batch.problems.is_empty() {
        return Ok(refuse(&batch, printer));
    }
    let session = &cluster.session;
    if args.dry_run == DryRun::Server {
        let bar = printer.progress(batch.objects.len(), "planning");
        let report = batch.preview(session, &writer, bar).await;
        text::report(printer, &report, text::Tense::Plan, args.bodies.full)?;
        return Ok(if report.has_errors() { Exit::Failure } else { Exit::Success });
    }
    let set = batch.set.take();
    if let Some(plan) = &set {
        let announced = plan.set.announce(session, &batch.objects).await;
        announced.map_err(|error| refusal(&error, "Apply"))?;
    }
    let problems = std::mem::take(&mut batch.problems);
    let objects = apply(&batch, session, &writer, printer).await;
    let mut report = Report { objects, problems, set, composites: None };
    if report.objects.len() == batch.objects.len() && !report.has_errors() {
        let problems = prune(&report, &batch, session).await;
        report.problems.extend(problems);
    }
    let is_complete = report.objects.len() == batch.objects.len();
    let show = |report: &Report, printer: &mut Printer| {
        text::report(printer, report, text::Tense::Applied, args.bodies.full)
    };
    // A person sees what was applied before the wait, a program gets both in one document.
    let is_read_now = printer.format() == Format::Text;
    if is_read_now || !is_complete {
        show(&report, printer)?;
    }
    if !is_complete {
        printer.diagnostic(&interrupted(batch.objects.len() - report.objects.len()));
        return Ok(Exit::Passed(INTERRUPTED));
    }
    let ready = !args.wait || wait(&mut report, &cluster.session, args, printer).await?;
    if !is_read_now {
        show(&report, printer)?;
    }
    Ok(if ready && !report.has_errors() { Exit::Success } else { Exit::Failure })
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
async fn apply(batch: &Batch, session: &Session, writer: &Writer, printer: &Printer) -> Vec<ObjectReport> {
    let in_flight = InFlight::new(printer.progress(batch.objects.len(), "applying"));
    let dry_runs = batch.dry_runs(session, writer).await;
    let applied = batch.objects.iter().map(|object| {
        in_flight.track(&object.target, async {
            let target = &object.target;
            if let Some(report) = batch.settled(object, &dry_runs).await {
                return report;
            }
            let mut reply = batch.apply(session, object, writer).await;
            if let Err(error) = &reply
                && let Some(dependency) =
                    error.dependency().filter(|it| resolve::may_bring(&batch.objects, it, object))
            {
                in_flight.note(target, format_args!("{target}, waiting for {dependency}"));
                let attempt = || batch.apply(session, object, writer);
                reply = session.when_possible(target, attempt).await;
            }
            match reply {
                Ok(reply) => batch.compare(object, reply, writer),
                Err(error)
                    if error.is_unauthorized()
                        && dry_runs.local_answer(target).await == LocalAnswer::Unchanged =>
                {
                    ObjectReport::unchanged(target)
                }
                Err(error) => ObjectReport::refused(target, located(refusal(&error, "Apply"), object)),
            }
        })
    });
    let reports = until(interrupt(), applied).await;
    in_flight.finish();
    reports
}

/// Deletes the members that are no longer applied, namespaces and CRDs last, and forgets where they were. Only after
/// everything else succeeded: until then the parent names all kinds and namespaces, so that nothing is lost.
async fn prune(report: &Report, batch: &Batch, session: &Session) -> Vec<Diagnostic> {
    let Some(plan) = report.set.as_ref().filter(|plan| plan.is_pruned) else { return Vec::new() };
    let (last, first): (Vec<&Prune>, Vec<&Prune>) =
        plan.deletes().partition(|prune| resolve::is_needed_by_others(&prune.target));
    let mut problems = Vec::new();
    for prunes in [first, last] {
        let deleted = prunes.into_iter().map(|prune| async {
            let how = Delete { uid: prune.uid.clone(), timeout: Duration::ZERO, ..Delete::of(&prune.target) };
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

/// Waits for all applied objects concurrently, records how each wait ended, and returns whether all are ready.
async fn wait(
    report: &mut Report,
    session: &Session,
    args: &Apply,
    printer: &mut Printer,
) -> Result<bool, Failure> {
    for object in report.objects.iter_mut().filter(|object| object.action() != Action::Refused) {
        let is_ready = is_ready_when_created(object.target.group(), object.target.kind());
        object.wait = is_ready.then_some(WaitResult::Ready);
    }
    let written = report.objects.iter().filter(|object| object.action() != Action::Refused);
    let targets: Vec<ObjectRef> =
        written.filter(|object| object.wait.is_none()).map(|object| object.target.clone()).collect();
    let kinds: HashSet<&GroupVersionKind> = targets.iter().map(|target| &target.gvk).collect();
    let asked = kinds.into_iter().map(async |gvk| (gvk, session.publishes_conditions(gvk).await));
    let publishing: HashMap<&GroupVersionKind, bool> = join_all(asked).await.into_iter().collect();
    let ready = ready(args);
    let wait = |target: &ObjectRef| {
        let publishes_conditions = publishing.get(&target.gvk).copied();
        Wait { publishes_conditions, ..ready.clone() }
    };
    let waits: Vec<_> = targets.iter().map(|target| (target, wait(target))).collect();
    let bar = printer.progress(waits.len(), "ready");
    let waiting = waits.iter().map(|(target, wait)| async {
        let readiness = follow(session, target, wait, &bar).await;
        bar.inc(1);
        (*target, readiness)
    });
    let mut ended = stream::iter(waiting).buffered(waits.len().max(1));
    let (mut ready, mut results) = (true, HashMap::new());
    while let Some((target, readiness)) = ended.next().await {
        match readiness? {
            Readiness::Met { .. } => {
                bar.suspend(|| printer.message(format_args!("{GOOD}ready{GOOD:#} {target}")));
                results.insert(target, WaitResult::Ready);
            }
            Readiness::Unmet { diagnosis, .. } => {
                bar.suspend(|| printer.diagnostic(&diagnosis));
                results.insert(target, WaitResult::NotReady(diagnosis));
                ready = false;
            }
        }
    }
    for object in &mut report.objects {
        object.wait = object.wait.take().or_else(|| results.remove(&object.target));
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
