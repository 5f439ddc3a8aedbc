//! `plimsoll certs`: issues the certificates with which an operator and its functions authenticate each other.

use std::error::Error as _;

use diag::Diagnostic;
use functions::certs::{IssueError, IssueOptions, issue};
use jiff::Timestamp;
use serde_json::json;

use crate::args::Format;
use crate::args::certs::Certs;
use crate::codes;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::{LITERAL, Printer};

pub(super) fn run(args: &Certs, printer: &mut Printer) -> Outcome {
    let order = IssueOptions { name: args.name.clone(), sans: args.san.clone(), days: args.days };
    let made = issue(&args.out, &order, Timestamp::now()).map_err(|error| told(&error))?;
    let folders = [("ca", &made.authority), ("client", &made.client), ("server", &made.server)];
    match printer.format() {
        Format::Json | Format::Yaml => {
            let folders = folders.map(|(role, folder)| (role, folder.display().to_string()));
            let folders: std::collections::BTreeMap<_, _> = folders.into_iter().collect();
            printer.structured(
                &json!({"folders": folders, "names": made.names, "keptAuthority": made.kept_authority}),
            )?;
        }
        Format::Name => {
            for (_, folder) in folders {
                printer.data(folder.display())?;
            }
        }
        Format::Text => {
            let kept = if made.kept_authority { ", kept" } else { "" };
            printer.data(format_args!("{:8}{}  the authority{kept}", "ca", made.authority.display()))?;
            printer.data(format_args!("{:8}{}  for the operator", "client", made.client.display()))?;
            let names = made.names.join(", ");
            printer.data(format_args!(
                "{:8}{}  for the function: {names}",
                "server",
                made.server.display()
            ))?;
            let (folder, secret) = (made.client.display(), "plimsoll-tls-client");
            printer.message(format_args!(
                "\nGive the operator its own: {LITERAL}--function-certs-dir {folder}{LITERAL:#}, or in a cluster\n  \
                 {LITERAL}kubectl create secret generic {secret} --from-file {folder}{LITERAL:#}"
            ));
        }
    }
    Ok(Exit::Success)
}

fn told(error: &IssueError) -> Failure {
    let mut diagnostic = Diagnostic::error(codes::CERTS_FAILED, error.to_string());
    if let Some(cause) = error.source() {
        diagnostic = diagnostic.detail(format!("The cause: {cause}."));
    }
    match error {
        IssueError::File { .. } => diagnostic.hint("Name a folder that can be written to with `--out`."),
        IssueError::Certificate(_) => {
            diagnostic.hint("Write names as DNS does, for instance `--name function-web.shop`.")
        }
        // This error already says what to do.
        IssueError::ForeignAuthority { .. } => diagnostic,
    }
    .into()
}
