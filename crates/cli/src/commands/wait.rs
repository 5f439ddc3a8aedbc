//! `plimsoll wait`: waits until an object meets a condition, and prints the value it waited for.

use std::io;

use cluster::{Readiness, Session, WaitOutcome};
use diag::Diagnostic;
use indicatif::ProgressBar;
use manifest::{ObjectRef, secret};
use readiness::{Check, Cut, Health, Mode, Wait, Written, WrittenWait};
use serde_json::Value;

use crate::args::wait::{Wait as Args, WaitFor};
use crate::codes;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::mask_key::MASK_KEY;
use crate::support::printer::{GOOD, Printer, object_name};
use crate::support::process::until_interrupted;

pub(super) fn run(args: &Args, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let (cluster, target) = Cluster::with_target(&args.target).await?;
        let wait = match &args.goal {
            WaitFor::State(written) => parse(written, args, &target, printer)?,
            WaitFor::Creation => return presence(&cluster.session, args, &target, true, printer).await,
            WaitFor::Deletion => return presence(&cluster.session, args, &target, false, printer).await,
        };
        if let Mode::Condition { kind, .. } = &wait.mode {
            warn_of_unreported(&cluster.session, &target, kind, printer).await;
        }
        let bar = printer.spinner();
        let readiness = follow(&cluster.session, &target, &wait, &bar).await;
        bar.finish_and_clear();
        match readiness? {
            Readiness::Unmet { diagnosis, .. } => Err(Failure::Diagnostic(diagnosis)),
            Readiness::Met { value, .. } => {
                printer.message(format_args!("{GOOD}met{GOOD:#} {target} {}", wait.mode));
                let value = value.map(|value| if args.show_secrets { value } else { masked(&target, value) });
                show(printer, &target, value.as_ref())?;
                Ok(Exit::Success)
            }
        }
    })
}

/// The value of a Secret's field, masked as everywhere.
fn masked(target: &ObjectRef, mut value: Value) -> Value {
    const IDENTITY: [&str; 2] = ["apiVersion", "kind"];
    let Some(fields) = value.as_object_mut().filter(|_| (target.group(), target.kind()) == ("", "Secret"))
    else {
        return value;
    };
    let had: Vec<bool> = IDENTITY.iter().map(|name| fields.contains_key(*name)).collect();
    fields.insert("apiVersion".to_owned(), "v1".into());
    fields.insert("kind".to_owned(), "Secret".into());
    let mut masked = secret::masked(&value, &MASK_KEY);
    for (name, _) in IDENTITY.iter().zip(had).filter(|(_, had)| !had) {
        masked.as_object_mut().and_then(|fields| fields.remove(*name));
    }
    masked
}

fn show(printer: &mut Printer, target: &ObjectRef, value: Option<&Value>) -> io::Result<()> {
    printer.output(&value, [object_name(target)], |printer| match value {
        Some(value) => printer.raw(manifest::to_yaml(value).as_bytes()),
        None => Ok(()),
    })
}

/// Waits until the object exists, or until it does not.
async fn presence(
    session: &Session,
    args: &Args,
    target: &ObjectRef,
    wanted: bool,
    printer: &mut Printer,
) -> Outcome {
    let bar = printer.spinner();
    bar.set_message(format!("waiting for {target} to {}", if wanted { "appear" } else { "be deleted" }));
    let check = |object: Option<&Value>| match object {
        _ if object.is_some() == wanted => Check::Met(()),
        Some(object) => Check::NotYet(match Health::of(object, false) {
            Health::Terminating(why) => why,
            _ => "its deletion has not been requested".to_owned(),
        }),
        None => Check::NotYet("it does not exist".to_owned()),
    };
    let timeout = args.timeout.to_std().unwrap_or_default();
    let waited = session.wait_until(target, timeout, check).await;
    bar.finish_and_clear();
    match waited.map_err(|error| error.diagnostic("Wait"))? {
        WaitOutcome::Met { .. } => {
            let word = if wanted { "exists" } else { "is gone" };
            printer.message(format_args!("{GOOD}met{GOOD:#} {target} {word}"));
            show(printer, target, None)?;
            Ok(Exit::Success)
        }
        WaitOutcome::Never { why, .. } | WaitOutcome::TimedOut { why, .. } => {
            let word = if wanted { "does not exist" } else { "still exists" };
            let title = format!("{target} {word} after {}", args.timeout);
            let code = if wanted { codes::OBJECT_MISSING } else { cluster::codes::DELETION_TIMEOUT };
            Err(Diagnostic::error(code, title)
                .detail(format!("Last state: {why}."))
                .hint("Raise --timeout if it only needs more time.")
                .into())
        }
    }
}

/// The wait, if it is valid for the object; prints warnings.
fn parse(
    written: &WrittenWait,
    args: &Args,
    target: &ObjectRef,
    printer: &mut Printer,
) -> Result<Wait, Failure> {
    let timeout = Written::Known(args.timeout.to_string());
    let written = WrittenWait { timeout, ..written.clone() };
    let parsed = written.parse(Some(&target.gvk), Cut::Root);
    for mut problem in parsed.diagnostics {
        // A command line has no attributes to name.
        problem.field = Some("--for".to_owned());
        if problem.is_error() {
            return Err(problem.into());
        }
        printer.diagnostic(&problem);
    }
    Ok(parsed.wait.expect("the arguments have a mode and a timeout"))
}

/// Warns of a condition that the object, which reports others, does not have: its name may be wrong.
async fn warn_of_unreported(session: &Session, target: &ObjectRef, wanted: &str, printer: &mut Printer) {
    let Ok(Some(live)) = session.read(target).await else { return };
    let conditions = live.object["status"]["conditions"].as_array().into_iter().flatten();
    let reported: Vec<&str> = conditions.filter_map(|condition| condition["type"].as_str()).collect();
    let is_wanted = |kind: &&str| kind.eq_ignore_ascii_case(wanted);
    // A kind whose conditions are known has been warned about already.
    if reported.is_empty() || reported.iter().any(is_wanted) || readiness::knows_conditions(&target.gvk) {
        return;
    }
    let warning = Diagnostic::warning(readiness::codes::UNKNOWN_CONDITION, "Unknown Condition")
        .object(target.to_string())
        .detail(format!(
            "{target} reports no condition {wanted:?}. Conditions it reports: {}.",
            reported.join(", ")
        ))
        .hint("Check the name, unless the condition is still to come.");
    printer.diagnostic(&warning);
}

/// Waits, and shows the reason in the progress bar.
pub(super) async fn follow(
    session: &Session,
    target: &ObjectRef,
    wait: &Wait,
    bar: &ProgressBar,
) -> Result<Readiness, Failure> {
    bar.set_message(format!("waiting for {target}"));
    let say = |why: &str| {
        let why = why.lines().next().unwrap_or_default();
        bar.set_message(format!("waiting for {target}: {why}"));
    };
    Ok(session.wait_for(target, wait, say).await.map_err(|error| error.diagnostic("Wait"))?)
}
