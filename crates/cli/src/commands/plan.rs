//! `plimsoll plan`: what an apply would change.

use crate::args::Format;
use crate::args::plan::Plan;
use crate::support::ask::OpenRequests;
use crate::support::batch::Batch;
use crate::support::batch::writer::Writer;
use crate::support::exit::Outcome;
use crate::support::platform;
use crate::support::printer::Printer;
use crate::support::process::until_interrupted_then;
use crate::support::report::text;

pub(super) fn run(args: &Plan, printer: &mut Printer) -> Outcome {
    let open = OpenRequests::default();
    let work = async {
        let writer = Writer::new(&args.writer)?.for_format(printer.format());
        let (batch, cluster) = if args.bodies.files.is_empty() && !args.composites.functions.is_empty() {
            Batch::empty(&args.cluster)?
        } else {
            Batch::load(&args.bodies, &args.set, &args.cluster, "Plan").await?
        };
        let bar = printer.progress(batch.objects.len(), "planning");
        let mut report = batch.preview(&cluster.session, &writer, bar).await;
        let spinner = printer.spinner();
        let keeps_whole = printer.format() == Format::Diff;
        report.composites =
            platform::review(&report, &args.composites, &cluster, &open, keeps_whole, &spinner).await;
        spinner.finish_and_clear();
        text::report(printer, &report, text::Tense::Plan, args.bodies.full)?;
        Ok(report.exit())
    };
    until_interrupted_then(work, open.delete())
}
