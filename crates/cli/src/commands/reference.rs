//! `plimsoll reference`: the pages of the book that are generated from the code, as Markdown.

mod catalogue;
mod commands;
mod diagnostics;
mod kinds;

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
    };
    printer.raw(page.as_bytes())?;
    Ok(Exit::Success)
}
