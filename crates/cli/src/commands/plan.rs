//! `plimsoll plan`: what an apply would change.

use crate::args::plan::Plan;
use crate::support::batch::Batch;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Outcome};
use crate::support::files;
use crate::support::printer::Printer;
use crate::support::process::until_interrupted;
use crate::support::report::text;

pub(super) fn run(args: &Plan, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let loaded = files::load_bodies(&args.files)?;
        let cluster = Cluster::connect(&args.cluster)?;
        let batch = Batch::prepare(&cluster, loaded).await?;
        let report = batch.preview(&cluster.session, &args.writer, printer).await;
        text::report(printer, &report, text::Tense::Plan)?;
        Ok(match (report.has_errors(), report.has_changes()) {
            (true, _) => Exit::Failure,
            (false, true) => Exit::Changes,
            (false, false) => Exit::Success,
        })
    })
}
