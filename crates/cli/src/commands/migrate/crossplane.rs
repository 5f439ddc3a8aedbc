//! `plimsoll migrate crossplane`: compositions move from Crossplane to Plimsoll; `back.rs` has the way back.
//!
//! Crossplane has no switch per XRD, so the whole engine is switched. Its providers and functions go on running.

use cluster::{Error, Session};
use composition::protocol::Object;
use diag::Diagnostic;
use operator::release_health;

use super::inventory::Inventory;
use super::{back, obstacles, preview, switch};
use crate::args::migrate::MigrateCrossplane;
use crate::codes;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::{GOOD, Printer};
use crate::support::process::until_interrupted;

/// How many objects a message names.
const NAMED: usize = 5;

pub(super) fn run(args: &MigrateCrossplane, printer: &mut Printer) -> Outcome {
    if args.apply {
        printer.only_text("a migration shows its steps while they are done")?;
    }
    until_interrupted(async {
        let session = Cluster::connect(&args.cluster)?.session;
        let inventory = Inventory::read(&session).await.map_err(|error| failed(&error))?;
        if !args.back && !inventory.has_crossplane() {
            return preview::nothing(&inventory, printer);
        }
        match (args.apply, args.back) {
            (false, back) => preview::show(&inventory, back, printer),
            (true, false) => to_plimsoll(args, &session, &inventory, printer).await,
            (true, true) => back::to_crossplane(args, &session, &inventory, printer).await,
        }
    })
}

/// Stops a migration that something blocks.
pub(super) fn refuse(obstacles: &[String], listing: &str) -> Result<(), Failure> {
    let Some(obstacle) = obstacles.first() else { return Ok(()) };
    Err(Diagnostic::error(codes::MIGRATION_BLOCKED, obstacle.clone())
        .hint(format!("Run `{listing}` to list everything that blocks the migration."))
        .into())
}

pub(super) fn failed(error: &Error) -> Failure {
    error.diagnostic("Migrate").into()
}

async fn to_plimsoll(
    args: &MigrateCrossplane,
    session: &Session,
    inventory: &Inventory,
    printer: &mut Printer,
) -> Outcome {
    refuse(&obstacles::find(inventory), "plimsoll migrate crossplane")?;
    if inventory.crossplane.is_some() || inventory.running.is_empty() {
        // Left over from an earlier stay, it would be taken for a report on this one.
        release_health(session).await.map_err(|error| failed(&error))?;
    }
    for webhooks in &inventory.webhooks {
        switch::ignore_failures(session, webhooks).await.map_err(|error| failed(&error))?;
        done(printer, &format!("{}: failurePolicy Ignore", switch::named(webhooks)))?;
    }
    scale_down(session, &inventory.crossplane_deployments, printer).await?;
    let stopped = switch::until_crossplane(session, false, args.timeout).await;
    if !stopped.map_err(|error| failed(&error))? {
        return Err(stuck(
            "Crossplane still holds its lease",
            "Stop what renews it, and run the command again.",
        ));
    }
    // Without its lease it is as good as stopped only if nothing of it is left that could take the lease again.
    let left = switch::until_no_pods(session, &inventory.crossplane_deployments, args.timeout).await;
    if let Some(pod) = left.map_err(|error| failed(&error))? {
        return Err(stuck(
            &format!("{pod} of Crossplane is still there"),
            "Find out what keeps it, such as a node that does not answer, and run the command again.",
        ));
    }
    done(printer, "Crossplane has stopped")?;
    scale_up(session, inventory.operators.iter().map(|operator| &operator.0), printer).await?;
    let running = switch::until_plimsoll(session, args.timeout).await;
    if !running.map_err(|error| failed(&error))? {
        return Err(stuck(
            "Plimsoll's operator is not running",
            "Start it and run the command again, or move back with --back.",
        ));
    }
    done(printer, "Plimsoll's operator is running")?;
    let served = switch::until_served(session, args.timeout).await;
    let (missing, unhealthy) = served.map_err(|error| failed(&error))?;
    if !missing.is_empty() {
        let what = format!("{} objects have not been reconciled yet: {}", missing.len(), first(&missing));
        return Err(stuck(
            &what,
            "Read the operator's log, and run the command again, or move back with --back.",
        ));
    }
    let (xrs, claims) = (inventory.xrs(), inventory.claims());
    done(printer, &format!("XRs ({xrs}) and claims ({claims}) are served by Plimsoll"))?;
    if !unhealthy.is_empty() {
        printer.message(format_args!(
            "Unhealthy: {}. Run plimsoll why TYPE/NAME for the cause.",
            first(&unhealthy)
        ));
    }
    Ok(Exit::Success)
}

/// Scales Deployments to zero, and says so of each that was not.
pub(super) async fn scale_down<'d>(
    session: &Session,
    deployments: impl IntoIterator<Item = &'d Object>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    for deployment in deployments {
        if switch::scale_down(session, deployment).await.map_err(|error| failed(&error))? {
            done(printer, &format!("{}: scaled to zero", switch::named(deployment)))?;
        }
    }
    Ok(())
}

/// Scales Deployments to what they were, and says so of each that was at zero.
pub(super) async fn scale_up<'d>(
    session: &Session,
    deployments: impl IntoIterator<Item = &'d Object>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    for deployment in deployments {
        if switch::scale_up(session, deployment).await.map_err(|error| failed(&error))? {
            done(printer, &format!("{}: scaled up", switch::named(deployment)))?;
        }
    }
    Ok(())
}

pub(super) fn done(printer: &mut Printer, what: &str) -> Result<(), Failure> {
    Ok(printer.data(format_args!("{GOOD}done{GOOD:#} {what}"))?)
}

pub(super) fn stuck(what: &str, hint: &str) -> Failure {
    Diagnostic::error(codes::MIGRATION_STUCK, what).hint(hint).into()
}

/// The first of many names.
pub(super) fn first(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
