//! `plimsoll drift`: whether the cluster matches the files, for CI.

use std::fs;

use diag::Diagnostic;

use crate::args::plan::{Drift, WriterArgs};
use crate::codes;
use crate::support::batch::Batch;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Outcome};
use crate::support::files;
use crate::support::printer::Printer;
use crate::support::process::until_interrupted;
use crate::support::report::{junit, text};

pub(super) fn run(args: &Drift, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let loaded = files::load_bodies(&args.files)?;
        let cluster = Cluster::connect(&args.cluster)?;
        let batch = Batch::prepare(&cluster, loaded).await?;
        // Nothing is written: with force, a dry run shows the values even if other managers hold fields.
        let writer = WriterArgs { field_manager: args.field_manager.clone(), force_conflicts: true };
        let mut report = batch.preview(&cluster.session, &writer, printer).await;
        for object in &mut report.objects {
            object.values_only();
        }
        if let Some(path) = &args.junit {
            fs::write(path, junit(&report)).map_err(|error| {
                Diagnostic::error(codes::REPORT_UNWRITABLE, format!("cannot write {}", path.display()))
                    .detail(format!("The system says: {error}."))
            })?;
        }
        text::report(printer, &report, text::Tense::Drift)?;
        Ok(match (report.has_errors(), report.has_changes()) {
            (true, _) => Exit::Failure,
            (false, true) => Exit::Changes,
            (false, false) => Exit::Success,
        })
    })
}
