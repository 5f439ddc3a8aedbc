//! A report as Markdown for a pull request: the summary first, then one collapsed section per object.

use std::fmt::Write as _;

use diag::Diagnostic;
use diag::terminal::Renderer;
use plan::applyset::Fate;
use plan::{FieldChange, Preview};

use super::change_text::{ChangeText, Line};
use super::composites::{CompositeReport, Composites};
use super::findings::findings;
use super::text::{HIDDEN, Tense, holding, how_replaced, managers, said, summary};
use super::{Action, ObjectReport, ObjectState, Report, names};

/// The line width of findings.
const WIDTH: usize = 100;
/// A comment on GitHub may have 65,536 characters.
const MOST_CHARACTERS: usize = 60_000;

pub(super) fn markdown(report: &Report, tense: Tense) -> String {
    let title = ["Plan", "Apply", "Drift"][tense as usize];
    let summary = anstream::adapter::strip_str(&summary(report, tense)).to_string();
    let summary = if summary.is_empty() { "nothing to do".to_owned() } else { summary };
    let mut page = format!("### {title}: {summary}\n");
    if let Some(summary) = report.composites.as_ref().and_then(Composites::summary) {
        let _infallible = writeln!(page, "\n**{}**", escaped(&summary));
    }
    let findings = findings(report);
    let sections = prunes(report).into_iter().chain(findings.iter().map(finding));
    let touched = report.objects.iter().filter(|object| object.action() != Action::Nothing);
    let mut left_out = 0;
    let composites = report.composites.iter().flat_map(|composites| &composites.items);
    let composites = composites.filter(|item| item.is_touched()).map(composite);
    for section in sections.chain(touched.map(object)).chain(composites) {
        if page.len() + section.len() > MOST_CHARACTERS {
            left_out += 1;
        } else {
            page.push_str(&section);
        }
    }
    if left_out > 0 {
        let _infallible = writeln!(page, "\n{left_out} more sections do not fit into a comment.");
    }
    page
}

fn prunes(report: &Report) -> Option<String> {
    let set = report.set.as_ref()?;
    let line = |prune: &crate::support::applyset::Prune| match &prune.fate {
        Fate::Delete { .. } if set.is_pruned => format!("- {}", prune.target),
        Fate::Delete { .. } => format!("  {} is not in the files; --prune deletes it", prune.target),
        Fate::Keep(why) => format!("  {} is kept: {why}", prune.target),
    };
    let lines: Vec<String> = set.prunes.iter().map(line).collect();
    let title = format!("Members of the set that are not in the files: {}", lines.len());
    (!lines.is_empty()).then(|| section(&title, "diff", &lines.join("\n"), true))
}

fn object(report: &ObjectReport) -> String {
    let title = format!("<code>{} {}</code>", report.action().sign(), escaped(&report.target.to_string()));
    section(&title, "diff", &object_lines(report, false).join("\n"), false)
}

/// An XR with what it is composed of.
fn composite(report: &CompositeReport) -> String {
    let lost = report.pruned.iter().map(|field| format!("- {field}\n# its XRD no longer has this field"));
    let mut lines: Vec<String> = lost.collect();
    for object in report.touched() {
        lines.push(format!("{} {}", object.action().sign(), object.target));
        lines.extend(object_lines(object, true));
    }
    section(&format!("<code>{}</code>", escaped(&report.title())), "diff", &lines.join("\n"), false)
}

fn object_lines(report: &ObjectReport, is_composed: bool) -> Vec<String> {
    let mut lines = Vec::new();
    match &report.state {
        ObjectState::Known(preview) => {
            for change in said(preview, is_composed) {
                let held = if preview.created { String::new() } else { holding(change) };
                lines.extend(change_lines(change, &held));
            }
            lines.extend(hands(preview));
        }
        ObjectState::Replaced(replacement) => {
            for change in &replacement.changes {
                lines.extend(change_lines(change, &replacement.remark(change)));
            }
            lines.push(format!("# {}", how_replaced(replacement)));
        }
        ObjectState::Pending(pending) => lines.push(format!("# {}", pending.reason())),
        ObjectState::Refused => lines.push("# refused".to_owned()),
        ObjectState::Deleted { finalizers } if !finalizers.is_empty() => {
            lines.push(format!("# held by finalizers: {}", finalizers.join(", ")));
        }
        ObjectState::Deleted { .. } => {}
        ObjectState::Hidden => lines.push(format!("# {HIDDEN}")),
    }
    for addition in &report.additions {
        let held = format!("not in the files, held by {}", managers(&addition.held_now));
        lines.extend(change_lines(&FieldChange { old: None, ..addition.clone() }, &held));
    }
    lines
}

/// A change as lines of a diff.
fn change_lines(change: &FieldChange, held: &str) -> Vec<String> {
    let text = ChangeText::of(change, false);
    let field = change.path.notation();
    let mut lines = Vec::new();
    if text.lines.is_empty() && !change.is_allocated {
        let plain = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => format!("{text:?}"),
            other => manifest::to_json(other),
        };
        lines.extend(change.old.as_ref().map(|old| format!("- {field}: {}", plain(old))));
        lines.extend(change.new.as_ref().map(|new| format!("+ {field}: {}", plain(new))));
    } else {
        lines.push(format!("# {}", text.head));
        lines.extend(text.lines.iter().map(Line::plain));
    }
    if !held.is_empty() {
        lines.push(format!("# {held}"));
    }
    lines
}

fn hands(preview: &Preview) -> Vec<String> {
    let line = |(verb, fields): (&str, &Vec<fields::FieldPath>)| {
        (!fields.is_empty()).then(|| format!("# {verb} {}", names(fields).join(", ")))
    };
    let takeover = preview.taken_over_from.as_ref();
    let takeover = takeover.map(|former| format!("# takes over what {} applied", managers(former)));
    let hands = [("takes", &preview.takes), ("releases", &preview.releases)].into_iter().filter_map(line);
    takeover.into_iter().chain(hands).collect()
}

fn finding(finding: &Diagnostic) -> String {
    let title = format!("{}: {}", finding.severity.word(), escaped(&finding.summary));
    section(&title, "text", Renderer::plain(WIDTH).render(finding).trim_end(), finding.is_error())
}

/// A collapsible section. The fence is longer than any in the text, which so cannot end it.
fn section(title: &str, language: &str, text: &str, is_open: bool) -> String {
    let open = if is_open { " open" } else { "" };
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!(
        "\n<details{open}><summary>{title}</summary>\n\n{fence}{language}\n{text}\n{fence}\n\n</details>\n"
    )
}

/// Text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_end_its_section() {
        let shown = section("t", "diff", "+ a: ```\n+ ````", false);
        assert!(shown.contains("\n`````diff\n+ a: ```\n+ ````\n`````\n"), "{shown}");
        assert_eq!(escaped("<b>&"), "&lt;b&gt;&amp;");
    }
}
