//! `plimsoll drift`: whether the cluster matches the files, for CI.

use std::fs;

use diag::Diagnostic;

use super::connect::Cluster;
use super::files;
use super::plan::report::junit;
use super::plan::{Work, view};
use crate::args::plan::{Drift, WriterArgs};
use crate::codes;
use crate::exit::{Exit, Outcome};
use crate::printer::Printer;
use crate::process::until_interrupted;

pub(super) fn run(args: &Drift, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let loaded = files::load_bodies(&args.files)?;
        let cluster = Cluster::connect(&args.cluster)?;
        let work = Work::prepare(&cluster, loaded).await?;
        // Nothing is written: with force, a dry run shows the values even if other managers hold fields.
        let writer = WriterArgs { field_manager: args.field_manager.clone(), force_conflicts: true };
        let mut report = work.preview(&cluster.session, &writer, printer).await;
        for object in &mut report.objects {
            object.values_only();
        }
        if let Some(path) = &args.junit {
            fs::write(path, junit(&report)).map_err(|error| {
                Diagnostic::error(codes::REPORT_UNWRITABLE, format!("cannot write {}", path.display()))
                    .detail(format!("The system says: {error}."))
            })?;
        }
        view::report(printer, &report, view::Tense::Drift)?;
        Ok(match (report.has_errors(), report.has_changes()) {
            (true, _) => Exit::Failure,
            (false, true) => Exit::Changes,
            (false, false) => Exit::Success,
        })
    })
}
