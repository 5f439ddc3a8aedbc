//! The man pages: `plimsoll(1)`, and one for each command.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;
use diag::Diagnostic;

use crate::args::Cli;
use crate::codes;
use crate::support::exit::{Exit, Outcome};

pub(super) fn write(folder: &Path) -> Outcome {
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.map_err(|error| {
        Diagnostic::error(codes::REPORT_UNWRITABLE, format!("cannot write to {}", folder.display()))
            .detail(format!("Cause: {error}."))
    })?;
    Ok(Exit::Success)
}
