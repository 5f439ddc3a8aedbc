//! `plimsoll certs`: what an engine and its functions need to know each other.

use std::error::Error as _;

use diag::Diagnostic;
use functions::certs::{MakeError, Order, make};
use jiff::Timestamp;
use serde_json::json;

use crate::args::Format;
use crate::args::certs::Certs;
use crate::codes;
use crate::exit::{Exit, Outcome};
use crate::printer::Printer;

/// Makes them.
pub(super) fn run(args: &Certs, printer: &mut Printer) -> Outcome {
    let order = Order { name: args.name.clone(), sans: args.sans.clone(), days: args.days };
    let made = make(&args.out, &order, Timestamp::now()).map_err(|error| refused(&error))?;
    if printer.format() == Format::Json || printer.format() == Format::Yaml {
        printer.structured(&json!({
            "authority": made.authority, "client": made.client, "server": made.server, "names": made.names,
            "keptAuthority": made.kept_authority,
        }))?;
        return Ok(Exit::Success);
    }
    let authority = if made.kept_authority { "kept, as it was there already" } else { "new" };
    printer.table(&[
        vec![made.authority.display().to_string(), format!("the authority: {authority}")],
        vec![made.client.display().to_string(), "for the engine: --function-certs-dir".to_owned()],
        vec![made.server.display().to_string(), format!("for the function: {}", made.names.join(", "))],
    ])?;
    Ok(Exit::Success)
}

fn refused(error: &MakeError) -> Diagnostic {
    let hint = match error {
        MakeError::File { .. } => "Name a folder you can write to with --out.",
        MakeError::Certificate(_) => "Names are those of DNS, or addresses; check --name and --san.",
        MakeError::ForeignAuthority { .. } => "Name another folder with --out, or move the authority away.",
    };
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    Diagnostic::error(codes::CERTIFICATES_NOT_MADE, error.to_string()).detail(cause).hint(hint)
}
