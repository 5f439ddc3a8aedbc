//! `plimsoll drift`: whether the cluster matches the files, for CI.

use std::fs;

use diag::Diagnostic;

use crate::args::applyset::SetArgs;
use crate::args::plan::Drift;
use crate::codes;
use crate::support::batch::replacement::Replacing;
use crate::support::batch::writer::Writer;
use crate::support::batch::{Batch, Keep};
use crate::support::exit::Outcome;
use crate::support::printer::Printer;
use crate::support::process::until_interrupted;
use crate::support::report::{junit, text};

pub(super) fn run(args: &Drift, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        // Nothing is written: with force, a dry run shows the values even if other managers hold fields, and a replacement
        // shows those that cannot be changed.
        let writer = Writer::by(&args.field_manager, &args.leave)?.forced().for_format(printer.format());
        // Members that are not in the files count, as if they were to be pruned.
        let set = SetArgs { applyset: args.applyset.clone(), prune: true, adopt_applyset: false };
        let (batch, cluster) = Batch::load(&args.bodies, &set, &args.cluster, "Drift").await?;
        let keep = if args.additions { Keep::All } else { Keep::Unsettled };
        let batch = batch.read(&cluster.session, &writer, "Drift", keep).await;
        let batch = batch.replacing(Replacing::Shown);
        let additions = if args.additions { batch.additions(&writer) } else { Vec::new() };
        let bar = printer.progress(batch.objects.len(), "planning");
        let mut report = batch.preview(&cluster.session, &writer, bar).await;
        for object in &mut report.objects {
            object.values_only();
        }
        for (object, additions) in report.objects.iter_mut().zip(additions) {
            object.additions = additions;
        }
        if let Some(path) = &args.junit {
            fs::write(path, junit(&report)).map_err(|error| {
                Diagnostic::error(codes::REPORT_UNWRITABLE, format!("cannot write {}", path.display()))
                    .detail(format!("Cause: {error}."))
            })?;
        }
        text::report(printer, &report, text::Tense::Drift, args.bodies.full)?;
        Ok(report.exit())
    })
}
