//! `plimsoll explain`: what a diagnostic code means and what to do about it, from the text of the book's reference.

use diag::terminal::Renderer;
use diag::{Code, Diagnostic};
use serde_json::{Value, json};

use crate::args::explain::Explain;
use crate::codes;
use crate::support::exit::{Exit, Outcome};
use crate::support::kinds::SIMILARITY;
use crate::support::printer::{LITERAL, Printer, width};

/// Every code by the part of Plimsoll that reports it, in the order users meet them.
pub(crate) const AREAS: &[(&str, &[Code])] = &[
    ("The command line", codes::CODES),
    ("Manifests", manifest::CODES),
    ("Fields", fields::CODES),
    ("Ownership", ownership::CODES),
    ("Plans", plan::CODES),
    ("Waits", readiness::CODES),
    ("Clusters", cluster::CODES),
    #[cfg(has_sandbox)]
    ("The sandbox", sandbox::CODES),
    ("The Terraform provider", provider::CODES),
    ("Terraform's protocol", tfplugin::codes::CODES),
    ("Compositions", composition::CODES),
    ("Operations", operations::codes::CODES),
    ("The operator", operator::codes::CODES),
];

pub(super) fn run(args: &Explain, printer: &mut Printer) -> Outcome {
    match &args.code {
        Some(name) => explain(name, printer),
        None => list(printer),
    }
}

/// The codes of an area, sorted by name.
pub(super) fn sorted(codes: &[Code]) -> Vec<Code> {
    let mut codes = codes.to_vec();
    codes.sort();
    codes
}

fn explain(name: &str, printer: &mut Printer) -> Outcome {
    let Some((area, code)) = all().find(|(_, code)| code.name() == name) else {
        return Err(unknown(name).into());
    };
    printer.output(&structured(area, code), [code], |printer| {
        printer.data(format_args!("{LITERAL}{code}{LITERAL:#}\n"))?;
        printer.raw(Renderer::styled(width()).entry(code).as_bytes())
    })?;
    Ok(Exit::Success)
}

fn list(printer: &mut Printer) -> Outcome {
    let data: Vec<Value> = all().map(|(area, code)| structured(area, code)).collect();
    printer.output(&data, all().map(|(_, code)| code), |printer| {
        let longest = all().map(|(_, code)| code.name().len()).max().unwrap_or_default();
        for (number, (area, codes)) in AREAS.iter().enumerate() {
            let gap = if number == 0 { "" } else { "\n" };
            printer.data(format_args!("{gap}{area}"))?;
            for code in sorted(codes) {
                let name = code.name();
                printer.data(format_args!("  {LITERAL}{name:longest$}{LITERAL:#}  {}", gist(code)))?;
            }
        }
        Ok(())
    })?;
    Ok(Exit::Success)
}

fn all() -> impl Iterator<Item = (&'static str, Code)> {
    AREAS.iter().flat_map(|(area, codes)| sorted(codes).into_iter().map(|code| (*area, code)))
}

fn structured(area: &str, code: Code) -> Value {
    json!({"code": code.name(), "area": area, "entry": code.entry()})
}

/// The first clause of an entry.
fn gist(code: Code) -> String {
    let paragraph = code.entry().split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let end = [". ", ": "].iter().filter_map(|end| paragraph.find(end)).min();
    paragraph[..end.unwrap_or(paragraph.len())].trim_end_matches('.').to_owned()
}

fn unknown(name: &str) -> Diagnostic {
    let similarity = |code: &Code| strsim::jaro(&name.to_lowercase(), code.name());
    let closest =
        all().map(|(_, code)| code).max_by(|left, right| similarity(left).total_cmp(&similarity(right)));
    let hint = match closest.filter(|code| similarity(code) > SIMILARITY) {
        Some(code) => format!("Did you mean {code}?"),
        None => "List all codes with `plimsoll explain`.".to_owned(),
    };
    Diagnostic::error(codes::CODE_UNKNOWN, format!("no diagnostic has the code {name:?}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_code_means_one_thing() {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for (area, codes) in AREAS {
            assert!(!codes.is_empty(), "{area}");
            for code in *codes {
                let other = seen.insert(code.name(), area);
                assert_eq!(other, None, "{code} is a code of {area} as well");
            }
        }
    }

    #[test]
    fn every_entry_is_a_text_of_sentences() {
        for (_, code) in all() {
            let prose = code.entry().split("\n\n").filter(|paragraph| !paragraph.starts_with("    "));
            for paragraph in prose {
                assert!(paragraph.ends_with(['.', ':']), "{code}: {paragraph}");
            }
        }
    }

    #[test]
    fn a_typo_gets_a_suggestion() {
        let hint = |name| unknown(name).hint.unwrap_or_default();
        assert_eq!(hint("ownership-drfit"), "Did you mean ownership-drift?");
        assert_eq!(hint("Wait-Timeout"), "Did you mean wait-timed-out?");
        assert_eq!(hint("E0308"), "List all codes with `plimsoll explain`.");
    }
}
