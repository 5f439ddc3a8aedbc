//! Carries out a plan that was looked at before: one in a file, or one that the user confirms on the terminal.

use std::path::Path;

use diag::Diagnostic;
use manifest::Namespace;

use super::{carry_out, refuse};
use crate::args::Format;
use crate::args::plan::{Apply, ChangeArgs, DryRun};
use crate::codes;
use crate::support::ask::OpenRequests;
use crate::support::batch::replacement::Replacing;
use crate::support::batch::writer::Writer;
use crate::support::batch::{Batch, Keep};
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::files::Loaded;
use crate::support::platform;
use crate::support::printer::Printer;
use crate::support::report::text::{self, Tense};
use crate::support::saved_plan::{SavedPlan, exposed};
use crate::support::tty::Tty;

/// What to do without a terminal.
const OTHERWISE: &str =
    "Keep the plan with `plimsoll plan --out FILE`, and carry it out with `plimsoll apply FILE`.";

/// Carries out a plan in a file.
pub(super) async fn from_file(
    path: &Path,
    args: &Apply,
    open: &OpenRequests,
    printer: &mut Printer,
) -> Outcome {
    let terminal = args.confirm.then(|| Tty::open("--confirm", OTHERWISE)).transpose()?;
    if let Some(namespace) = &args.cluster.namespace {
        let title = format!("--namespace {namespace} cannot be used with a saved plan");
        return Err(Diagnostic::error(codes::OPTION_UNUSABLE, title)
            .hint("Omit it: the objects of the plan have their namespaces.")
            .into());
    }
    let saved = SavedPlan::read(path)?;
    if let Some(warning) = exposed(path, &saved) {
        printer.diagnostic(&warning);
    }
    let mut cluster = Cluster::connect(&args.cluster)?;
    if let Some(terminal) = terminal {
        let batch = check(&saved, &mut cluster).await?;
        if let Some(end) = ask(batch, &saved, &cluster, terminal, args, open, printer).await? {
            return Ok(end);
        }
    }
    go(&saved, &mut cluster, args, open, printer).await
}

/// Shows the plan, asks, and carries it out.
pub(super) async fn after_asking(
    loaded: Loaded,
    args: &Apply,
    open: &OpenRequests,
    printer: &mut Printer,
) -> Outcome {
    let terminal = Tty::open("--confirm", OTHERWISE)?;
    let mut cluster = Cluster::connect(&args.cluster)?;
    let batch = Batch::resolve(loaded, &args.change.set, &cluster, "Apply").await?;
    if !batch.problems.is_empty() {
        return Ok(refuse(&batch, printer));
    }
    let batch = all_of(batch, &args.change, &cluster).await?.leaving_other_sets(&cluster.session).await;
    let saved = SavedPlan::of(&batch, &args.change, &cluster.session, cluster.namespace.as_str()).await;
    if let Some(end) = ask(batch, &saved, &cluster, terminal, args, open, printer).await? {
        return Ok(end);
    }
    go(&saved, &mut cluster, args, open, printer).await
}

/// Shows what `batch` would do, and asks whether to go on; if not, with the exit status.
async fn ask(
    batch: Batch,
    saved: &SavedPlan,
    cluster: &Cluster,
    terminal: Tty,
    args: &Apply,
    open: &OpenRequests,
    printer: &mut Printer,
) -> Result<Option<Exit>, Failure> {
    if printer.format() != Format::Text {
        return Err(Diagnostic::error(codes::FORMAT_UNSUPPORTED, "--confirm shows a plan to a person")
            .hint(format!("Omit --output. {OTHERWISE}"))
            .into());
    }
    let writer = Writer::new(&saved.change.writer)?;
    let batch = batch.replacing(Replacing::of(&saved.change.replacement));
    let bar = printer.progress(batch.objects.len(), "planning");
    let mut report = batch.preview(&cluster.session, &writer, bar).await;
    platform::add(&mut report, &args.composites, cluster, open, printer).await;
    text::report(printer, &report, Tense::Plan, args.bodies.full)?;
    if report.has_errors() {
        return Ok(Some(Exit::Failure));
    }
    if !report.has_changes() {
        return Ok(Some(Exit::Success));
    }
    if terminal.confirms("Apply this?").await? {
        return Ok(None);
    }
    printer.message("nothing was applied");
    Ok(Some(Exit::Failure))
}

/// The objects of the plan as they are now, which is as they were.
async fn check(saved: &SavedPlan, cluster: &mut Cluster) -> Result<Batch, Failure> {
    cluster.namespace = Namespace::new(&*saved.namespace).unwrap_or_else(|| cluster.namespace.clone());
    cluster.namespace_typed = false;
    let batch = Batch::resolve(saved.loaded(), &saved.change.set, cluster, "Apply").await?;
    let batch = all_of(batch, &saved.change, cluster).await?;
    saved.check(&batch, &cluster.session).await?;
    Ok(batch)
}

/// A plan says of every object what it was like.
async fn all_of(batch: Batch, change: &ChangeArgs, cluster: &Cluster) -> Result<Batch, Failure> {
    let writer = Writer::new(&change.writer)?;
    Ok(batch.read(&cluster.session, &writer, "Apply", Keep::All).await)
}

async fn go(
    saved: &SavedPlan,
    cluster: &mut Cluster,
    args: &Apply,
    open: &OpenRequests,
    printer: &mut Printer,
) -> Outcome {
    let mut batch = check(saved, cluster).await?;
    batch.start_record();
    batch.is_guarded = args.dry_run == DryRun::None;
    carry_out(batch, cluster, args, &saved.change, open, printer).await
}
