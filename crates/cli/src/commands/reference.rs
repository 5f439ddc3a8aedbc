//! `plimsoll reference`: the pages of the book that are generated from the code, as Markdown, and the man pages.

mod catalogue;
mod commands;
mod diagnostics;
mod kinds;
mod man;

use std::path::Path;

use crate::args::reference::{Page, Reference};
use crate::support::exit::{Exit, Outcome};
use crate::support::printer::Printer;

pub(super) fn run(args: &Reference, printer: &mut Printer) -> Outcome {
    printer.only_text("a page is Markdown")?;
    let page = match args.page {
        Page::Cli => commands::page(),
        Page::Kinds => kinds::page(),
        Page::CloudKinds => catalogue::page(),
        Page::Diagnostics => diagnostics::page(),
        Page::Man => return man::write(args.out.as_deref().unwrap_or(Path::new("."))),
    };
    printer.raw(page.as_bytes())?;
    Ok(Exit::Success)
}
