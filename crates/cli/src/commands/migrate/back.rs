//! `plimsoll migrate crossplane --back`: compositions move from Plimsoll to Crossplane.
//!
//! An operator that also works for Oracle Cloud runs on: it leaves compositions to Crossplane by itself, as soon as that holds its
//! lease.

use std::collections::BTreeSet;

use cluster::Session;
use operator::release_health;

use super::crossplane::{done, failed, refuse, scale_down, scale_up, stuck};
use super::installed::Operator;
use super::inventory::Inventory;
use super::{obstacles, switch};
use crate::args::migrate::MigrateCrossplane;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::Printer;

pub(super) async fn to_crossplane(
    args: &MigrateCrossplane,
    session: &Session,
    inventory: &Inventory,
    printer: &mut Printer,
) -> Outcome {
    refuse(&obstacles::find_back(inventory), "plimsoll migrate crossplane --back")?;
    let (run_on, stop): (Vec<&Operator>, Vec<&Operator>) =
        inventory.operators.iter().partition(|operator| operator.runs_on());
    scale_down(session, stop.iter().map(|operator| &operator.0), printer).await?;
    let elsewhere: BTreeSet<&str> = run_on.iter().map(|operator| operator.namespace()).collect();
    let stopped = switch::until_plimsoll_stopped(session, &elsewhere, args.timeout).await;
    let left = switch::until_no_pods(session, stop.iter().map(|operator| &operator.0), args.timeout).await;
    if !stopped.map_err(|error| failed(&error))? || left.map_err(|error| failed(&error))?.is_some() {
        return Err(stuck("Plimsoll's operator is still running", "Stop it, and run the command again."));
    }
    if run_on.is_empty() {
        done(printer, "Plimsoll's operator has stopped")?;
        release(session, printer).await?;
    }
    scale_up(session, &inventory.crossplane_deployments, printer).await?;
    let running = switch::until_crossplane(session, true, args.timeout).await;
    if !running.map_err(|error| failed(&error))? {
        return Err(stuck(
            "Crossplane does not hold its lease yet",
            "Read the log of its Deployment, and run the command again.",
        ));
    }
    done(printer, "Crossplane is running")?;
    if !run_on.is_empty() {
        let aside = switch::until_aside(session, args.timeout).await;
        if let Some(xrd) = aside.map_err(|error| failed(&error))? {
            return Err(stuck(
                &format!("Plimsoll's operator still serves {xrd}"),
                "Read the operator's log, and run the command again.",
            ));
        }
        done(printer, "Plimsoll's operator leaves compositions to Crossplane")?;
        // It has done so itself, unless a copy of it was faster than Crossplane.
        release(session, printer).await?;
    }
    // Last, since they refuse requests that Crossplane does not answer.
    for webhooks in switch::changed_webhooks(session).await.map_err(|error| failed(&error))? {
        switch::restore_failures(session, &webhooks).await.map_err(|error| failed(&error))?;
        done(printer, &format!("{}: failurePolicy Fail", switch::named(&webhooks)))?;
    }
    Ok(Exit::Success)
}

async fn release(session: &Session, printer: &mut Printer) -> Result<(), Failure> {
    let released = release_health(session).await.map_err(|error| failed(&error))?;
    done(printer, &format!("removed the condition Healthy from {released} objects"))
}
