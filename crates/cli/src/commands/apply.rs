//! `plimsoll apply`: applies everything concurrently, ordered only where one object needs another.

mod members;
mod planned;
mod ready;

use cluster::Session;
use diag::Diagnostic;
use plan::LocalAnswer;

use crate::args::Format;
use crate::args::plan::{Apply, ChangeArgs, DryRun};
use crate::codes;
use crate::support::batch::replacement::{Replacing, propagation};
use crate::support::batch::writer::Writer;
use crate::support::batch::{Batch, Keep, resolve};
use crate::support::concurrency::until;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Outcome};
use crate::support::files::{self, Loaded};
use crate::support::in_flight::InFlight;
use crate::support::printer::Printer;
use crate::support::process::{INTERRUPTED, interrupt, until_interrupted};
use crate::support::refusal::refusal;
use crate::support::report::{Action, ObjectReport, Report, text};

pub(super) fn run(args: &Apply, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        if let Some(path) = &args.plan {
            return planned::from_file(path, args, printer).await;
        }
        let loaded = files::load_bodies(&args.bodies).await?;
        if args.confirm {
            planned::after_asking(loaded, args, printer).await
        } else {
            apply_all(loaded, args, printer).await
        }
    })
}

/// Applies objects, whose files are not read again.
pub(super) async fn apply_all(loaded: Loaded, args: &Apply, printer: &mut Printer) -> Outcome {
    let cluster = Cluster::connect(&args.cluster)?;
    let mut batch = Batch::resolve(loaded, &args.change.set, &cluster, "Apply").await?;
    if batch.problems.is_empty() {
        batch.start_record();
        let writer = Writer::new(&args.change.writer)?;
        batch = batch.read(&cluster.session, &writer, "Apply", Keep::Unsettled).await;
    }
    carry_out(batch, &cluster, args, &args.change, printer).await
}

/// Applies the objects as `change` says.
async fn carry_out(
    batch: Batch,
    cluster: &Cluster,
    args: &Apply,
    change: &ChangeArgs,
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
        let report = batch.preview(session, &writer, bar).await;
        text::report(printer, &report, text::Tense::Plan, args.bodies.full)?;
        return Ok(if report.has_errors() { Exit::Failure } else { Exit::Success });
    }
    let mut parent = None;
    if let Some(plan) = &batch.set {
        let announced = plan.set.announce(session, &batch.objects).await;
        parent = Some(announced.map_err(|error| refusal(&error, "Apply"))?);
    }
    let problems = std::mem::take(&mut batch.problems);
    let objects = apply(&batch, session, &writer, printer).await;
    let record = batch.finished_record();
    let set = batch.set.take();
    let mut report = Report { objects, problems, set, composites: None };
    let is_complete = report.objects.len() == batch.objects.len();
    if is_complete && !report.has_errors() {
        let cascade = propagation(change.replacement.cascade);
        let problems = members::prune(&report, &batch, session, cascade).await;
        report.problems.extend(problems);
    }
    let kept = match (&report.set, record, parent) {
        (Some(plan), Some(record), Some(parent)) if is_complete => {
            plan.set.keep(session, &record, &parent).await
        }
        _ => None,
    };
    if let Some(warning) = kept {
        printer.diagnostic(&warning);
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
        printer.diagnostic(&interrupted(batch.objects.len() - report.objects.len()));
        return Ok(Exit::Passed(INTERRUPTED));
    }
    let ready = !args.wait || ready::wait(&mut report, session, args, printer).await?;
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
