//! `plimsoll wait`: until an object is as it should be, with the value that was waited for as its data.

use std::time::Duration;

use cluster::{Readiness, Session};
use diag::Diagnostic;
use indicatif::ProgressBar;
use manifest::ObjectRef;
use serde_json::json;
use wait::{Cut, Wait, Written, WrittenWait};

use super::connect::Cluster;
use crate::args::Format;
use crate::args::wait::Wait as Args;
use crate::exit::{Exit, Failure, Outcome};
use crate::printer::{GOOD, Printer};
use crate::process::until_interrupted;

/// Waits, and prints what that yields.
pub(super) fn run(args: &Args, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let cluster = Cluster::connect(&args.target.cluster)?;
        let target = cluster.target(&args.target).await?;
        let wait = understand(args, &target)?;
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

/// What is to be waited for, if it makes sense for the object.
fn understand(args: &Args, target: &ObjectRef) -> Result<Wait, Failure> {
    let timeout = Written::Known(args.timeout.to_string());
    let written = WrittenWait { timeout, ..args.wanted.clone() };
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
    bar.enable_steady_tick(Duration::from_millis(100));
    bar.set_message(format!("waiting for {target}"));
    let say = |why: &str| bar.set_message(format!("waiting for {target}: {why}"));
    Ok(session.wait_for(target, wait, say).await.map_err(|error| error.diagnostic("Wait"))?)
}
