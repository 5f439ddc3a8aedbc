//! `plimsoll oci-server`: an Oracle Cloud emulator for development, until it is stopped.

use std::fs;

use diag::Diagnostic;
use oraclecloud_emulator::{Options, Script};

use crate::args::oci_server::OciServer;
use crate::codes;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::Printer;
use crate::support::process::{self, Ending};

/// Runs the server, and prints its address in one line.
pub(super) fn run(args: &OciServer, printer: &mut Printer) -> Outcome {
    let options = Options {
        listen: args.listen,
        key_dir: args.key_dir.clone(),
        journal: args.journal.clone(),
        retry_after: args.retry_after,
        script: script(args)?,
        seed: None,
    };
    process::runtime()?.block_on(async {
        let mut ending = Ending::listen()?;
        let server = oraclecloud_emulator::serve(options).await.map_err(|error| refused(&error))?;
        printer.data(server.announcement())?;
        printer.message("Serving Oracle Cloud's API for development; Ctrl-C ends it.");
        ending.asked().await;
        Ok(Exit::Success)
    })
}

fn script(args: &OciServer) -> Result<Script, Failure> {
    let Some(path) = &args.script else { return Ok(Script::default()) };
    let unusable = |summary: String| Diagnostic::error(codes::OPTION_UNUSABLE, summary);
    let text = fs::read_to_string(path).map_err(|error| {
        unusable(format!("cannot read {}: {error}", path.display())).hint("Name a script with --script.")
    })?;
    Ok(Script::read(&text).map_err(|error| {
        unusable(format!("{}: {error}", path.display()))
            .hint("A script is JSON; `{}` is the shortest, and lets everything go well.")
    })?)
}

fn refused(error: &oraclecloud_emulator::ServeError) -> Diagnostic {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    Diagnostic::error(codes::SERVER_NOT_STARTED, error.to_string())
        .detail(cause)
        .hint("Name another address with --listen, or another file or folder with --journal or --key-dir.")
}
