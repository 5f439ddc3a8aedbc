//! `plimsoll plan`: what an apply would change.

use std::path::Path;

use diag::Diagnostic;

use crate::args::plan::Plan;
use crate::codes;
use crate::support::ask::OpenRequests;
use crate::support::batch::replacement::Replacing;
use crate::support::batch::writer::Writer;
use crate::support::batch::{Batch, Keep};
use crate::support::exit::{Failure, Outcome};
use crate::support::platform;
use crate::support::printer::Printer;
use crate::support::process::until_interrupted_then;
use crate::support::report::{Report, text};
use crate::support::saved_plan::SavedPlan;

pub(super) fn run(args: &Plan, printer: &mut Printer) -> Outcome {
    let open = OpenRequests::default();
    let work = async {
        let change = &args.change;
        let writer = Writer::new(&change.writer)?.for_format(printer.format());
        let (batch, cluster) = if args.bodies.files.is_empty() && !args.composites.functions.is_empty() {
            Batch::empty(&args.cluster)?
        } else {
            Batch::load(&args.bodies, &change.set, &args.cluster, "Plan").await?
        };
        // A plan that is kept says what every object was like.
        let kept = if args.out.is_some() { Keep::All } else { Keep::Unsettled };
        let batch = batch.read(&cluster.session, &writer, "Plan", kept).await;
        let batch = batch.leaving_other_sets(&cluster.session).await;
        let batch = batch.replacing(Replacing::of(&change.replacement));
        let saved = match &args.out {
            Some(_) => {
                Some(SavedPlan::of(&batch, change, &cluster.session, cluster.namespace.as_str()).await)
            }
            None => None,
        };
        let bar = printer.progress(batch.objects.len(), "planning");
        let mut report = batch.preview(&cluster.session, &writer, bar).await;
        platform::add(&mut report, &args.composites, &cluster, &open, printer).await;
        text::report(printer, &report, text::Tense::Plan, args.bodies.full)?;
        if let (Some(path), Some(saved)) = (&args.out, saved) {
            keep(&saved, path, &report, printer)?;
        }
        Ok(report.exit())
    };
    until_interrupted_then(work, open.delete())
}

/// Writes the plan to a file, unless a part of it is missing.
fn keep(saved: &SavedPlan, path: &Path, report: &Report, printer: &mut Printer) -> Result<(), Failure> {
    if report.has_errors() {
        return Err(Diagnostic::error(
            codes::NOTHING_PLANNED,
            format!("plan file {} was not written", path.display()),
        )
        .detail("The plan has errors, so an apply of it would not be complete.")
        .hint("Correct what the errors name, and plan again.")
        .into());
    }
    saved.write(path)?;
    printer.message(format_args!("To carry out this plan: plimsoll apply {}", path.display()));
    let values = match saved.secrets() {
        0 => return Ok(()),
        1 => "a Secret".to_owned(),
        count => format!("{count} Secrets"),
    };
    printer.message(format_args!("It has the values of {values} in clear. Only you may read the file."));
    Ok(())
}
