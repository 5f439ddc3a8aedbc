//! `plimsoll wait`: until an object is as it should be, with the value that was waited for as its data.

use cluster::{Check, Readiness, Session, Waited};
use diag::Diagnostic;
use indicatif::ProgressBar;
use manifest::ObjectRef;
use readiness::{Cut, Wait, Written, WrittenWait};
use serde_json::{Value, json};

use super::connect::Cluster;
use super::health::{Health, health};
use crate::args::Format;
use crate::args::wait::{Wait as Args, Wanted};
use crate::codes;
use crate::exit::{Exit, Failure, Outcome};
use crate::printer::{GOOD, Printer};
use crate::process::until_interrupted;

/// Waits, and prints what that yields.
pub(super) fn run(args: &Args, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let cluster = Cluster::connect(&args.target.cluster)?;
        let target = cluster.target(&args.target).await?;
        let wait = match &args.wanted {
            Wanted::As(written) => understand(written, args, &target)?,
            Wanted::There => return presence(&cluster.session, args, &target, true, printer).await,
            Wanted::Gone => return presence(&cluster.session, args, &target, false, printer).await,
        };
        let bar = printer.spinner();
        let readiness = follow(&cluster.session, &target, &wait, &bar).await;
        bar.finish_and_clear();
        match readiness? {
            Readiness::Unmet { diagnosis, .. } => Err(Failure::Diagnostic(diagnosis)),
            Readiness::Met { value, .. } => {
                printer.message(format_args!("{GOOD}met{GOOD:#} {target} {}", wait.mode));
                match (printer.format(), value) {
                    (Format::Name, _) => printer.name(&target)?,
                    (Format::Json | Format::Yaml, value) => printer.structured(&json!(value))?,
                    (Format::Text, Some(value)) => printer.raw(manifest::to_yaml(&value).as_bytes())?,
                    (Format::Text, None) => {}
                }
                Ok(Exit::Success)
            }
        }
    })
}

/// Waits until the object is there, or is not.
async fn presence(
    session: &Session,
    args: &Args,
    target: &ObjectRef,
    wanted: bool,
    printer: &mut Printer,
) -> Outcome {
    let bar = printer.spinner();
    bar.set_message(format!("waiting for {target} to {}", if wanted { "come" } else { "go" }));
    let check = |object: Option<&Value>| match object {
        _ if object.is_some() == wanted => Check::Met(()),
        Some(object) => Check::NotYet(match health(object) {
            Health::Going(why) => why,
            _ => "nobody has asked it to go".to_owned(),
        }),
        None => Check::NotYet("it does not exist".to_owned()),
    };
    let timeout = args.timeout.to_std().unwrap_or_default();
    let waited = session.wait_until(target, timeout, check).await;
    bar.finish_and_clear();
    match waited.map_err(|error| error.diagnostic("Wait"))? {
        Waited::Met { .. } => {
            let word = if wanted { "there" } else { "gone" };
            printer.message(format_args!("{GOOD}met{GOOD:#} {target} is {word}"));
            match printer.format() {
                Format::Name => printer.name(target)?,
                Format::Json | Format::Yaml => printer.structured(&json!(null))?,
                Format::Text => {}
            }
            Ok(Exit::Success)
        }
        Waited::Never { why, .. } | Waited::TimedOut { why, .. } => {
            let word = if wanted { "not there" } else { "still there" };
            let title = format!("{target} is {word} after {}", args.timeout);
            let code = if wanted { codes::OBJECT_MISSING } else { cluster::codes::DELETION_TIMEOUT };
            Err(Diagnostic::error(code, title)
                .detail(format!("What is known: {why}."))
                .hint("If it only needs more time, wait longer with --timeout.")
                .into())
        }
    }
}

/// What is to be waited for, if it makes sense for the object.
fn understand(written: &WrittenWait, args: &Args, target: &ObjectRef) -> Result<Wait, Failure> {
    let timeout = Written::Known(args.timeout.to_string());
    let written = WrittenWait { timeout, ..written.clone() };
    let parsed = written.parse(Some(target.kind()), Cut::Root);
    match (parsed.wait, parsed.diagnostics.into_iter().find(Diagnostic::is_error)) {
        (Some(wait), None) => Ok(wait),
        (_, Some(mut wrong)) => {
            // On a command line there is no attribute that could be named.
            wrong.field = Some("--for".to_owned());
            Err(wrong.into())
        }
        (None, None) => unreachable!("what was typed names a mode and a timeout"),
    }
}

/// Waits, and lets the bar say why it is not over yet.
pub(super) async fn follow(
    session: &Session,
    target: &ObjectRef,
    wait: &Wait,
    bar: &ProgressBar,
) -> Result<Readiness, Failure> {
    bar.set_message(format!("waiting for {target}"));
    let say = |why: &str| bar.set_message(format!("waiting for {target}: {why}"));
    Ok(session.wait_for(target, wait, say).await.map_err(|error| error.diagnostic("Wait"))?)
}
