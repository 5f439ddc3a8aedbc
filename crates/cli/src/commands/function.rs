//! `plimsoll function`: serves a composition function until it is stopped.

mod demo;

use diag::Diagnostic;
use functions::{Certificates, FunctionError, RunRequest, ServeError, ServeOptions, Server, Transport};
use serde_json::json;

use crate::args::function::{Function, Serve};
use crate::codes;
use crate::support::exit::{Exit, Outcome, diagnose};
use crate::support::printer::Printer;
use crate::support::process::{self, ShutdownSignals};

pub(super) fn run(function: &Function, printer: &mut Printer) -> Outcome {
    match function {
        Function::Demo(args) => serve(args, printer),
    }
}

fn serve(args: &Serve, printer: &mut Printer) -> Outcome {
    let transport =
        args.certs_dir.clone().map_or(Transport::Insecure, |dir| Transport::Tls(Certificates::Folder(dir)));
    let options = ServeOptions::new(&args.listen, transport);
    process::runtime()?.block_on(async {
        let mut signals = ShutdownSignals::listen()?;
        let server = Server::bind(options).await.map_err(|error| refused(&error))?;
        let address = server.address().map_or_else(|| args.listen.clone(), |address| address.to_string());
        printer.data(json!({ "address": address }))?;
        let respond = async |request: RunRequest| Ok::<_, FunctionError>(demo::respond(&request));
        let respond = move |request| respond(request);
        server.run(respond, async { signals.recv().await }).await.map_err(|error| refused(&error))?;
        Ok(Exit::Success)
    })
}

fn refused(error: &ServeError) -> Diagnostic {
    diagnose(codes::FUNCTION_NOT_SERVED, error)
        .hint("Choose another address with --listen, or a folder from `plimsoll certs` with --certs-dir.")
}
