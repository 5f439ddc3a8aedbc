//! `plimsoll certs`: issues the certificates with which an operator and its functions authenticate each other.

use std::collections::BTreeMap;

use functions::certs::{IssueError, IssueOptions, issue};
use jiff::Timestamp;
use serde_json::json;

use crate::args::certs::Certs;
use crate::codes;
use crate::support::exit::{Exit, Failure, Outcome, diagnose};
use crate::support::printer::{LITERAL, Printer};

pub(super) fn run(args: &Certs, printer: &mut Printer) -> Outcome {
    let options = IssueOptions { name: args.name.clone(), sans: args.san.clone(), days: args.days };
    let issued = issue(&args.out, &options, Timestamp::now()).map_err(|error| issue_failure(&error))?;
    let folders = [("ca", &issued.authority), ("client", &issued.client), ("server", &issued.server)];
    let paths: BTreeMap<_, _> = folders.map(|(role, folder)| (role, folder.display().to_string())).into();
    let data = json!({"folders": paths, "names": issued.names, "keptAuthority": issued.kept_authority});
    printer.output(&data, folders.map(|(_, folder)| folder.display()), |printer| {
        let kept = if issued.kept_authority { ", kept" } else { "" };
        let names = issued.names.join(", ");
        printer.data(format_args!("{:8}{}  the authority{kept}", "ca", issued.authority.display()))?;
        printer.data(format_args!("{:8}{}  for the operator", "client", issued.client.display()))?;
        printer.data(format_args!("{:8}{}  for the function: {names}", "server", issued.server.display()))?;
        let (folder, secret) = (issued.client.display(), "plimsoll-tls-client");
        printer.message(format_args!(
            "\nConfigure the operator with {LITERAL}--function-certs-dir {folder}{LITERAL:#}, or in a cluster with\n  \
             {LITERAL}kubectl create secret generic {secret} --from-file {folder}{LITERAL:#}"
        ));
        Ok(())
    })?;
    Ok(Exit::Success)
}

fn issue_failure(error: &IssueError) -> Failure {
    let diagnostic = diagnose(codes::CERTS_FAILED, error);
    match error {
        IssueError::File { .. } => diagnostic.hint("Choose a writable folder with --out."),
        IssueError::Certificate(_) => {
            diagnostic.hint("Use DNS names, for instance `--name function-web.shop`.")
        }
        // This error already says what to do.
        IssueError::ForeignAuthority { .. } => diagnostic,
    }
    .into()
}
