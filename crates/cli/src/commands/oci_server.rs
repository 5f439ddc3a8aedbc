//! `plimsoll oci-server`: an Oracle Cloud emulator for development, until it is stopped.

use std::fs;

use diag::Diagnostic;
use oraclecloud::Catalogue;
use oraclecloud_emulator::{Options, Script};

use crate::args::oci_server::OciServer;
use crate::codes;
use crate::support::catalogue::described;
use crate::support::exit::{Exit, Failure, Outcome, diagnose};
use crate::support::printer::Printer;
use crate::support::process::{self, ShutdownSignals};

pub(super) fn run(args: &OciServer, printer: &mut Printer) -> Outcome {
    let options = Options {
        listen: args.listen,
        key_dir: args.key_dir.clone(),
        journal: args.journal.clone(),
        retry_after: args.retry_after,
        script: script(args)?,
        kinds: Catalogue::standard().and(&described(&args.kinds)?),
        seed: None,
    };
    process::runtime()?.block_on(async {
        let mut signals = ShutdownSignals::listen()?;
        let server = oraclecloud_emulator::serve(options).await.map_err(|error| refused(&error))?;
        printer.data(server.announcement())?;
        printer.message("Oracle Cloud emulator is running; press Ctrl-C to stop it.");
        signals.recv().await;
        Ok(Exit::Success)
    })
}

fn script(args: &OciServer) -> Result<Script, Failure> {
    let Some(path) = &args.script else { return Ok(Script::default()) };
    let unusable = |summary: String| Diagnostic::error(codes::OPTION_UNUSABLE, summary);
    let text = fs::read_to_string(path).map_err(|error| {
        unusable(format!("cannot read {}: {error}", path.display()))
            .hint("Pass a readable file with --script.")
    })?;
    Ok(Script::read(&text).map_err(|error| {
        unusable(format!("{}: {error}", path.display()))
            .hint("Write the script as JSON; `{}` scripts no faults.")
    })?)
}

fn refused(error: &oraclecloud_emulator::ServeError) -> Diagnostic {
    diagnose(codes::SERVER_NOT_STARTED, error)
        .hint("Choose another address with --listen, or another path with --journal or --key-dir.")
}
