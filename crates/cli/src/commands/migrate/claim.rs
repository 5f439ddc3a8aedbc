//! `plimsoll migrate claim`: an XR in the namespace of a claim takes its place, and takes over what it is composed of.
//!
//! A namespaced XR is what Crossplane 2 has instead of claims. Nothing composed is deleted or created anew: it changes its owner while
//! the engine leaves all of it alone.

mod plan;
mod steps;

use composition::object;
use serde_json::{Value, json};

use self::plan::{Finished, Plan, Task};
use super::switch::named;
use crate::args::Format;
use crate::args::migrate::MigrateClaim;
use crate::codes;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Outcome};
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer};
use crate::support::process::until_interrupted;

pub(super) fn run(args: &MigrateClaim, printer: &mut Printer) -> Outcome {
    if args.apply {
        printer.only_text("a migration shows its steps while they are done")?;
    }
    until_interrupted(async {
        let cluster = Cluster::connect(&args.cluster)?;
        let plan = match Task::read(args, &cluster).await? {
            Task::HandOver(plan) => plan,
            Task::DeleteClaim(finished) if args.apply => {
                return steps::finish(&cluster.session, &finished, args.timeout, printer).await;
            }
            Task::DeleteClaim(finished) => return show_last(&finished, printer),
        };
        if !args.apply {
            return show(&plan, args, printer);
        }
        if let Some(obstacle) = plan.obstacles.first() {
            return Err(diag::Diagnostic::error(codes::MIGRATION_BLOCKED, obstacle.clone())
                .hint("Run the command without --apply to list everything that blocks the migration.")
                .into());
        }
        steps::hand_over(&cluster.session, &plan, args.timeout, printer).await
    })
}

fn show(plan: &Plan, args: &MigrateClaim, printer: &mut Printer) -> Outcome {
    let (claim, xr, successor) = (named(&plan.claim), named(&plan.xr), plan.target.to_string());
    if printer.format() == Format::Text {
        let children: Vec<String> = plan.composed.keys().map(ToString::to_string).collect();
        let mut changes = vec![
            "owner, labels and managedFields of what is handed over; no other field".to_owned(),
            format!("{successor}: created, with Composition {}", plan.composition),
        ];
        changes.extend(plan.secret.as_ref().map(|secret| {
            format!(
                "{secret}: kept with its last values; a namespaced XR has no connection details of its own"
            )
        }));
        let goes = [claim.clone(), xr].into_iter().chain(plan.xr_secret.as_ref().map(ToString::to_string));
        for (title, lines) in [
            (format!("{GOOD}{claim} hands over to {successor}{GOOD:#}"), children),
            (format!("{PENDING}will change{PENDING:#}"), changes),
            (format!("{DIM}is deleted at the end{DIM:#}"), goes.collect()),
            (format!("{BAD}blocks the migration{BAD:#}"), plan.obstacles.clone()),
        ] {
            if !lines.is_empty() {
                printer.data(title)?;
                lines.iter().try_for_each(|line| printer.data(format_args!("  {line}")))?;
            }
        }
        if plan.obstacles.is_empty() {
            let (name, old) = (&plan.target.name, object::name(&plan.xr).unwrap_or_default());
            printer.message(format_args!("Functions will see {name} as the name of the XR, not {old}."));
            let namespace = plan.target.namespace.as_ref().map(ToString::to_string).unwrap_or_default();
            printer.message(format_args!(
                "Nothing was changed. To do it: plimsoll migrate claim {}/{} --namespace {namespace} --to {}.{} --name {name} --composition {} --apply",
                args.claim.kind, args.claim.name, plan.target.kind().to_lowercase(), plan.target.group(), plan.composition
            ));
        }
    } else {
        printer.structured(&to_json(plan))?;
    }
    Ok(if plan.obstacles.is_empty() { Exit::Success } else { Exit::Failure })
}

/// What an earlier run has left to do.
fn show_last(finished: &Finished, printer: &mut Printer) -> Outcome {
    let (claim, successor) = (finished.claim.to_string(), finished.target.to_string());
    if printer.format() == Format::Text {
        printer.data(format_args!("{GOOD}{claim} has handed over to {successor}{GOOD:#}"))?;
        printer.data(format_args!("{DIM}is deleted at the end{DIM:#}"))?;
        printer.data(format_args!("  {claim}"))?;
        printer.message("Nothing was changed. To finish, pass --apply.");
    } else {
        printer.structured(&json!({
            "claim": claim, "composite": null, "successor": finished.successor, "composed": [], "keptSecret": null,
            "deletedSecret": null, "obstacles": [],
        }))?;
    }
    Ok(Exit::Success)
}

fn to_json(plan: &Plan) -> Value {
    json!({
        "claim": named(&plan.claim),
        "composite": named(&plan.xr),
        "successor": plan.successor,
        "composed": plan.composed.keys().map(ToString::to_string).collect::<Vec<_>>(),
        "keptSecret": plan.secret.as_ref().map(ToString::to_string),
        "deletedSecret": plan.xr_secret.as_ref().map(ToString::to_string),
        "obstacles": plan.obstacles,
    })
}
