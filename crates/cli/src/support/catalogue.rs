//! The kinds at Oracle Cloud that a command line names, by pattern or by a file of descriptions.

use std::fs;
use std::path::Path;

use diag::Diagnostic;
use oraclecloud::kind::Pattern;
use oraclecloud::{Catalogue, Service};

use crate::codes;
use crate::support::exit::Failure;

/// The kinds that are named, or those that are served without being asked for.
pub(crate) fn catalogue(names: &[String]) -> Result<Catalogue, Failure> {
    if names.is_empty() { Ok(Catalogue::standard()) } else { described(names) }
}

/// The kinds that are named.
pub(crate) fn described(names: &[String]) -> Result<Catalogue, Failure> {
    let mut kinds = Catalogue::default();
    for name in names {
        let path = Path::new(name);
        let named = if path.extension().is_some_and(|extension| extension == "json") {
            read_service(path)?.into()
        } else {
            Catalogue::matching(&[name.parse::<Pattern>().map_err(|why| {
                Diagnostic::error(codes::OPTION_UNUSABLE, format!("--kinds {name} cannot be used: {why}"))
                    .hint("Run `plimsoll reference cloud-kinds` for the kinds that are described, or pass a JSON file.")
            })?])
        };
        kinds = kinds.and(&named);
    }
    Ok(kinds)
}

/// Reads a file of descriptions.
pub(crate) fn read_service(path: &Path) -> Result<&'static Service, Failure> {
    let unusable =
        |why: String| Diagnostic::error(codes::OPTION_UNUSABLE, format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path)
        .map_err(|error| unusable(error.to_string()).hint("Pass a readable file of descriptions."))?;
    Ok(Service::read(&text).map_err(|error| {
        unusable(error.to_string())
            .hint("Write the file as the book's chapter on adding a cloud kind describes it.")
    })?)
}
