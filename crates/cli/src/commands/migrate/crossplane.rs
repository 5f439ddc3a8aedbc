//! `plimsoll migrate crossplane`: compositions move from Crossplane to Plimsoll, or back.
//!
//! Crossplane has no switch per XRD, so the whole engine is switched. Its providers and functions go on running.

use cluster::{Error, Session};
use diag::Diagnostic;
use operator::{Engine, Half, release_health};

use super::survey::Survey;
use super::switch;
use crate::args::Format;
use crate::args::migrate::MigrateCrossplane;
use crate::codes;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer};
use crate::support::process::until_interrupted;

/// How many objects a message names.
const NAMED: usize = 5;

pub(super) fn run(args: &MigrateCrossplane, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let session = Cluster::connect(&args.cluster)?.session;
        let survey = Survey::take(&session).await.map_err(|error| failed(&error))?;
        if !args.back && survey.crossplane.is_none() && survey.crossplane_deployments.is_empty() {
            printer.message("Crossplane is not installed in this cluster: there is nothing to migrate");
            return Ok(Exit::Success);
        }
        if !args.apply {
            return preview(args, &survey, printer);
        }
        if args.back {
            back(args, &session, &survey, printer).await
        } else {
            forth(args, &session, &survey, printer).await
        }
    })
}

fn failed(error: &Error) -> Failure {
    error.diagnostic("Migrate").into()
}

/// Shows what would happen.
fn preview(args: &MigrateCrossplane, survey: &Survey, printer: &mut Printer) -> Outcome {
    let obstacles = if args.back { Vec::new() } else { survey.obstacles.clone() };
    if printer.format() == Format::Text {
        let (takes, changes, stays) = if args.back { back_lines(survey) } else { forth_lines(survey) };
        let blocked = format!("{BAD}stands in the way{BAD:#}");
        for (title, lines) in [
            (format!("{GOOD}is taken over{GOOD:#}"), takes),
            (format!("{PENDING}changes{PENDING:#}"), changes),
            (format!("{DIM}stays as it is{DIM:#}"), stays),
            (blocked, obstacles.clone()),
        ] {
            if !lines.is_empty() {
                printer.data(title)?;
                lines.iter().try_for_each(|line| printer.data(format_args!("  {line}")))?;
            }
        }
        if obstacles.is_empty() {
            let back = if args.back { " --back" } else { "" };
            printer.message(format_args!(
                "Nothing was changed. To do it: plimsoll migrate crossplane{back} --apply"
            ));
        }
    } else {
        printer.structured(&survey.to_json())?;
    }
    Ok(if obstacles.is_empty() { Exit::Success } else { Exit::Failure })
}

type Lines = (Vec<String>, Vec<String>, Vec<String>);

fn forth_lines(survey: &Survey) -> Lines {
    let mut takes: Vec<String> = Vec::new();
    for (name, xrs, claims) in &survey.xrds {
        takes.push(format!("CompositeResourceDefinition {name}: XRs: {xrs}, claims: {claims}"));
    }
    for (name, endpoint) in &survey.functions {
        match endpoint {
            Some(endpoint) => takes.push(format!("Function {name}, called at {endpoint} as before")),
            None => takes.push(format!("Function {name}, which the operator will run from its package")),
        }
    }
    let mut changes = vec![format!(
        "status and managedFields of XRs ({}) and claims ({}); nothing they are composed of",
        survey.xrs(),
        survey.claims()
    )];
    changes.extend(
        survey.crossplane_deployments.iter().map(|it| format!("{}: scaled to zero", switch::named(it))),
    );
    for webhooks in &survey.webhooks {
        changes.push(format!(
            "{}: failurePolicy Fail becomes Ignore, since Crossplane no longer answers",
            switch::named(webhooks)
        ));
    }
    let mut stays: Vec<String> = survey
        .packages
        .iter()
        .map(|name| format!("{name}, which nothing upgrades without Crossplane"))
        .collect();
    if survey.usages > 0 {
        stays.push(format!("Usages ({}), which protect nothing without Crossplane", survey.usages));
    }
    (takes, changes, stays)
}

fn back_lines(survey: &Survey) -> Lines {
    let mut changes: Vec<String> = survey
        .plimsoll_deployments
        .iter()
        .map(|it| format!("{}: scaled to zero", switch::named(it)))
        .collect();
    changes.push(format!(
        "the condition Healthy is removed from XRs ({}) and claims ({})",
        survey.xrs(),
        survey.claims()
    ));
    changes.extend(
        survey.crossplane_deployments.iter().map(|it| format!("{}: scaled up again", switch::named(it))),
    );
    let takes = survey
        .xrds
        .iter()
        .map(|(name, ..)| format!("CompositeResourceDefinition {name}, by Crossplane"))
        .collect();
    (takes, changes, Vec::new())
}

async fn forth(
    args: &MigrateCrossplane,
    session: &Session,
    survey: &Survey,
    printer: &mut Printer,
) -> Outcome {
    if let Some(obstacle) = survey.obstacles.first() {
        let diagnostic = Diagnostic::error(codes::MIGRATION_BLOCKED, obstacle.clone());
        return Err(diagnostic
            .hint("List everything that stands in the way with `plimsoll migrate crossplane`.")
            .into());
    }
    for webhooks in &survey.webhooks {
        switch::ignore_failures(session, webhooks).await.map_err(|error| failed(&error))?;
        done(printer, &format!("{}: failurePolicy Ignore", switch::named(webhooks)))?;
    }
    for deployment in &survey.crossplane_deployments {
        switch::scale_down(session, deployment).await.map_err(|error| failed(&error))?;
        done(printer, &format!("{}: scaled to zero", switch::named(deployment)))?;
    }
    let crossplane = Engine::rival_of(Half::Composition);
    if !switch::until_running(session, crossplane, false, args.timeout)
        .await
        .map_err(|error| failed(&error))?
    {
        return Err(stuck(
            "Crossplane still holds its lease",
            "Stop whatever renews it, and run the command again.",
        ));
    }
    done(printer, "Crossplane has stopped")?;
    for deployment in &survey.plimsoll_deployments {
        if switch::scale_up(session, deployment).await.map_err(|error| failed(&error))? {
            done(printer, &format!("{}: scaled up", switch::named(deployment)))?;
        }
    }
    if survey.plimsoll.is_none() && survey.plimsoll_deployments.is_empty() {
        printer.message("Waiting for the operator. Install it now: kubectl apply --server-side -k deploy");
    }
    if !switch::until_running(session, Engine::OURS, true, args.timeout)
        .await
        .map_err(|error| failed(&error))?
    {
        return Err(stuck(
            "Plimsoll's operator is not running",
            "Start it and run the command again, or move back with --back.",
        ));
    }
    done(printer, "Plimsoll's operator is running")?;
    let (missing, unhealthy) =
        switch::until_served(session, args.timeout).await.map_err(|error| failed(&error))?;
    if !missing.is_empty() {
        let what = format!("{} objects have not been reconciled yet: {}", missing.len(), first(&missing));
        return Err(stuck(
            &what,
            "Read the operator's log, and run the command again, or move back with --back.",
        ));
    }
    done(
        printer,
        &format!("XRs ({}) and claims ({}) are served by Plimsoll", survey.xrs(), survey.claims()),
    )?;
    if !unhealthy.is_empty() {
        printer.message(format_args!("Not healthy: {}. Ask why: plimsoll why TYPE/NAME", first(&unhealthy)));
    }
    Ok(Exit::Success)
}

async fn back(
    args: &MigrateCrossplane,
    session: &Session,
    survey: &Survey,
    printer: &mut Printer,
) -> Outcome {
    for deployment in &survey.plimsoll_deployments {
        switch::scale_down(session, deployment).await.map_err(|error| failed(&error))?;
        done(printer, &format!("{}: scaled to zero", switch::named(deployment)))?;
    }
    if !switch::until_running(session, Engine::OURS, false, args.timeout)
        .await
        .map_err(|error| failed(&error))?
    {
        return Err(stuck("Plimsoll's operator is still running", "Stop it, and run the command again."));
    }
    done(printer, "Plimsoll's operator has stopped")?;
    let released = release_health(session).await.map_err(|error| failed(&error))?;
    done(printer, &format!("removed the condition Healthy from {released} objects"))?;
    for webhooks in switch::changed_webhooks(session).await.map_err(|error| failed(&error))? {
        switch::restore_failures(session, &webhooks).await.map_err(|error| failed(&error))?;
        done(printer, &format!("{}: failurePolicy Fail", switch::named(&webhooks)))?;
    }
    for deployment in &survey.crossplane_deployments {
        switch::scale_up(session, deployment).await.map_err(|error| failed(&error))?;
        done(printer, &format!("{}: scaled up", switch::named(deployment)))?;
    }
    let crossplane = Engine::rival_of(Half::Composition);
    if !switch::until_running(session, crossplane, true, args.timeout)
        .await
        .map_err(|error| failed(&error))?
    {
        return Err(stuck("Crossplane does not hold its lease yet", "Read the log of its Deployment."));
    }
    done(printer, "Crossplane is running")?;
    Ok(Exit::Success)
}

fn done(printer: &mut Printer, what: &str) -> Result<(), Failure> {
    Ok(printer.data(format_args!("{GOOD}done{GOOD:#} {what}"))?)
}

fn stuck(what: &str, hint: &str) -> Failure {
    Diagnostic::error(codes::MIGRATION_STUCK, what).hint(hint).into()
}

fn first(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
