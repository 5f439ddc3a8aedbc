//! `plimsoll apply`: applies everything concurrently, ordered only where one object needs another.

mod members;
mod planned;
mod ready;

use cluster::Session;
use diag::Diagnostic;
use plan::LocalAnswer;
use serde_json::Value;

use self::ready::Waited;
use crate::args::Format;
use crate::args::plan::{Apply, ChangeArgs, DryRun};
use crate::codes;
use crate::support::applyset::{ApplySet, SetPlan};
use crate::support::ask::OpenRequests;
use crate::support::batch::replacement::{Replacing, propagation};
use crate::support::batch::writer::Writer;
use crate::support::batch::{Batch, Keep, resolve};
use crate::support::concurrency::until;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Outcome};
use crate::support::files::{self, Loaded};
use crate::support::in_flight::InFlight;
use crate::support::platform;
use crate::support::printer::Printer;
use crate::support::process::{INTERRUPTED, interrupt, until_interrupted_then};
use crate::support::refusal::refusal;
use crate::support::report::{Action, ObjectReport, Report, text};

pub(super) fn run(args: &Apply, printer: &mut Printer) -> Outcome {
    let open = OpenRequests::default();
    let work = async {
        if let Some(path) = &args.plan {
            return planned::from_file(path, args, &open, printer).await;
        }
        let loaded = files::load_bodies(&args.bodies).await?;
        if args.confirm {
            Box::pin(planned::after_asking(loaded, args, &open, printer)).await
        } else {
            apply_all(loaded, args, &open, printer).await
        }
    };
    until_interrupted_then(work, open.delete())
}

/// Applies objects, whose files are not read again. What a dry run asks of the operator is among `open`.
pub(super) async fn apply_all(
    loaded: Loaded,
    args: &Apply,
    open: &OpenRequests,
    printer: &mut Printer,
) -> Outcome {
    let cluster = Cluster::connect(&args.cluster)?;
    let mut batch = Batch::resolve(loaded, &args.change.set, &cluster, "Apply").await?;
    if batch.problems.is_empty() {
        batch.start_record();
        let writer = Writer::new(&args.change.writer)?;
        batch = batch.read(&cluster.session, &writer, "Apply", Keep::Unsettled).await;
        batch = batch.leaving_other_sets(&cluster.session).await;
    }
    carry_out(batch, &cluster, args, &args.change, open, printer).await
}

/// Applies the objects as `change` says.
async fn carry_out(
    batch: Batch,
    cluster: &Cluster,
    args: &Apply,
    change: &ChangeArgs,
    open: &OpenRequests,
    printer: &mut Printer,
) -> Outcome {
    let writer = Writer::new(&change.writer)?.for_format(printer.format());
    let mut batch = batch.replacing(Replacing::of(&change.replacement));
    if !batch.problems.is_empty() {
        return Ok(refuse(&batch, printer));
    }
    let session = &cluster.session;
    if args.dry_run == DryRun::Server {
        let bar = printer.progress(batch.objects.len(), "planning");
        let mut report = batch.preview(session, &writer, bar).await;
        platform::add(&mut report, &args.composites, cluster, open, printer).await;
        text::report(printer, &report, text::Tense::Plan, args.bodies.full)?;
        return Ok(if report.has_errors() { Exit::Failure } else { Exit::Success });
    }
    let mut parent = None;
    if let Some(plan) = &batch.set {
        parent = Some(announce(&plan.set, &batch, session, &writer).await?);
    }
    let problems = std::mem::take(&mut batch.problems);
    let objects = apply(&batch, session, &writer, printer).await;
    let set = batch.set.take();
    let mut report = Report { objects, problems, set, composites: None };
    let cascade = propagation(change.replacement.cascade);
    // After an interrupt, nothing is awaited: the report would be lost.
    let is_complete = members::prune(&mut report, &batch, session, cascade).await;
    if is_complete && let (Some(plan), Some(parent)) = (&report.set, parent) {
        let kept = match batch.finished_record(plan) {
            Some(record) => plan.set.keep(session, &record, &parent).await,
            None => None,
        };
        if let Some(warning) = kept {
            printer.diagnostic(&warning);
        }
    }
    let show = |report: &Report, printer: &mut Printer| {
        text::report(printer, report, text::Tense::Applied, args.bodies.full)
    };
    // A person sees what was applied before the wait, a program gets both in one document.
    let is_read_now = printer.format() == Format::Text;
    if is_read_now || !is_complete {
        show(&report, printer)?;
    }
    if !is_complete {
        let members = report.set.as_ref().map_or(0, SetPlan::not_deleted);
        printer.diagnostic(&interrupted(batch.objects.len() - report.objects.len(), members));
        return Ok(Exit::Passed(INTERRUPTED));
    }
    let waited =
        if args.wait { ready::wait(&mut report, session, args, printer).await? } else { Waited::Ready };
    if !is_read_now {
        show(&report, printer)?;
    }
    Ok(match waited {
        Waited::Interrupted(left) => {
            printer.diagnostic(&wait_interrupted(left));
            Exit::Passed(INTERRUPTED)
        }
        Waited::Ready if !report.has_errors() => Exit::Success,
        Waited::Ready | Waited::NotReady => Exit::Failure,
    })
}

/// Announces what is about to be part of the set. If its parent is in a namespace that the files create, the namespace comes first:
/// it carries the label of the set already, so that a later apply finds it if this one is interrupted.
async fn announce(
    set: &ApplySet,
    batch: &Batch,
    session: &Session,
    writer: &Writer,
) -> Result<Value, Diagnostic> {
    let error = match set.announce(session, &batch.objects).await {
        Ok(parent) => return Ok(parent),
        Err(error) => error,
    };
    let Some(namespace) = batch.missing_namespace(&error) else { return Err(refusal(&error, "Apply")) };
    let created = batch.apply(session, namespace, writer).await;
    created.map_err(|error| batch.refusal(&error, "Apply", namespace, writer))?;
    set.announce(session, &batch.objects).await.map_err(|error| refusal(&error, "Apply"))
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

/// Says how many objects were not applied, or if all were, how many members were not deleted.
fn interrupted(objects: usize, members: usize) -> Diagnostic {
    let left = match (objects, members) {
        (0, 1) => "1 member of the set was not deleted".to_owned(),
        (0, members) => format!("{members} members of the set were not deleted"),
        (1, _) => "1 object was not applied".to_owned(),
        (objects, _) => format!("{objects} objects were not applied"),
    };
    Diagnostic::error(codes::INTERRUPTED, format!("interrupted: {left}"))
        .detail("Requests already sent may still take effect.")
        .hint("Apply again: objects already applied stay as they are.")
}

fn wait_interrupted(left: usize) -> Diagnostic {
    let objects = if left == 1 { "1 object was" } else { &format!("{left} objects were") };
    Diagnostic::error(codes::INTERRUPTED, format!("interrupted: {objects} not ready yet"))
        .detail("Everything was applied.")
        .hint("Wait for the rest with `plimsoll wait -f FILE --for rollout`; `plimsoll why` says what keeps an object from being ready.")
}

/// Applies what may change; an object that would stay as it is costs no request. Fewer reports than objects mean an
/// interrupt.
async fn apply(batch: &Batch, session: &Session, writer: &Writer, printer: &Printer) -> Vec<ObjectReport> {
    let in_flight = InFlight::new(printer.progress(batch.objects.len(), "applying"));
    let applied = (0..batch.objects.len()).map(|place| {
        let target = &batch.objects[place].target;
        in_flight.track(target, apply_one(batch, place, session, writer, &in_flight))
    });
    let reports = until(interrupt(), applied).await;
    in_flight.finish();
    reports
}

async fn apply_one(
    batch: &Batch,
    place: usize,
    session: &Session,
    writer: &Writer,
    in_flight: &InFlight,
) -> ObjectReport {
    let object = &batch.objects[place];
    let target = &object.target;
    if let Some(report) = batch.settled(session, place).await {
        if report.action() == Action::Nothing {
            batch.remember_unchanged(object, writer);
        }
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
    let error = match reply {
        Ok(reply) => {
            batch.remember_answer(object, writer, &reply.object);
            return batch.compare(object, reply, writer);
        }
        Err(error) => error,
    };
    if error.is_unauthorized() && batch.local_answer(session, object).await == LocalAnswer::Unchanged {
        return ObjectReport::unchanged(target);
    }
    let refused = || ObjectReport::refused(target, batch.refusal(&error, "Apply", object, writer));
    batch.replace(session, object, writer, &error).await.unwrap_or_else(refused)
}
