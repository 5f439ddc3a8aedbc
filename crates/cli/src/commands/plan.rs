//! `plimsoll plan`: what an apply would change.

use crate::args::plan::Plan;
use crate::support::batch::Batch;
use crate::support::batch::writer::Writer;
use crate::support::exit::Outcome;
use crate::support::printer::Printer;
use crate::support::process::until_interrupted;
use crate::support::report::text;

pub(super) fn run(args: &Plan, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let writer = Writer::new(&args.writer)?.for_format(printer.format());
        let (batch, cluster) = Batch::load(&args.bodies, &args.set, &args.cluster, "Plan").await?;
        let bar = printer.progress(batch.objects.len(), "planning");
        let report = batch.preview(&cluster.session, &writer, bar).await;
        text::report(printer, &report, text::Tense::Plan, args.bodies.full)?;
        Ok(report.exit())
    })
}
