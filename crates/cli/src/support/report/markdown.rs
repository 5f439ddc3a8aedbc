//! A report as Markdown for a pull request: the summary first, then one collapsed section per object.

use std::fmt::Write as _;

use diag::Diagnostic;
use diag::terminal::Renderer;
use plan::{FieldChange, Preview};

use super::change_text::{ChangeText, Line};
use super::composites::{CompositeReport, Composites};
use super::findings::findings;
use super::text::{HIDDEN, Tense, holding, how_replaced, managers, said, summary};
use super::{Action, ObjectReport, ObjectState, Report, names};
use crate::support::applyset::SetPlan;
use crate::support::applyset::prune::{End, Prune};

/// The line width of findings.
const WIDTH: usize = 100;
/// A comment on GitHub may have 65,536 characters.
const MOST_CHARACTERS: usize = 60_000;

/// How much of it may name sections that were left out.
const MOST_NAMED: usize = 5_000;

/// The whole report; `full` for long values in full, and for a page of any length.
pub(super) fn markdown(report: &Report, tense: Tense, full: bool) -> String {
    let title = ["Plan", "Apply", "Drift"][tense as usize];
    let summary = anstream::adapter::strip_str(&summary(report, tense)).to_string();
    let summary = if summary.is_empty() { "nothing to do".to_owned() } else { summary };
    let mut page = format!("### {title}: {summary}\n");
    if let Some(summary) = report.composites.as_ref().and_then(Composites::summary) {
        let _infallible = writeln!(page, "\n**{}**", escaped(&summary));
    }
    let findings = findings(report);
    let sections = report.set.as_ref().and_then(set).into_iter().chain(findings.iter().map(finding));
    let touched = report.objects.iter().filter(|object| object.action() != Action::Nothing);
    let composites = report.composites.iter().flat_map(|composites| &composites.items);
    let composites = composites.filter(|item| item.is_touched()).map(|item| composite(item, full));
    let sections = sections.chain(touched.map(|it| object(it, full))).chain(composites);
    with_sections(page, sections, if full { usize::MAX } else { MOST_CHARACTERS })
}

/// A collapsible part of the page.
struct Section {
    /// HTML.
    title: String,
    text: String,
}

/// The page with all sections that fit, and the titles of the others.
fn with_sections(mut page: String, sections: impl Iterator<Item = Section>, most: usize) -> String {
    let mut left_out = Vec::new();
    for Section { title, text } in sections {
        if page.len() + text.len() > most {
            left_out.push(title);
        } else {
            page.push_str(&text);
        }
    }
    if left_out.is_empty() {
        return page;
    }
    let (noun, pronoun) = if left_out.len() == 1 { ("section does", "it") } else { ("sections do", "them") };
    let _infallible =
        writeln!(page, "\n{} {noun} not fit into a comment; --full shows {pronoun}:\n", left_out.len());
    let mut room = MOST_NAMED;
    let named = left_out.iter().take_while(|title| {
        let fits = title.len() < room;
        room = room.saturating_sub(title.len());
        fits
    });
    let named: Vec<&String> = named.collect();
    for title in &named {
        let _infallible = writeln!(page, "* {title}");
    }
    if named.len() < left_out.len() {
        let _infallible = writeln!(page, "* and {} more", left_out.len() - named.len());
    }
    page
}

/// What happens to the set itself: its parent, and the members that are not in the files.
fn set(plan: &SetPlan) -> Option<Section> {
    let parent = &plan.set.parent;
    let mut lines = Vec::new();
    if !plan.set.exists() {
        lines.push(format!("+ {parent} is created as the parent of the set"));
    }
    if let Some(tool) = plan.set.adopted_from() {
        lines.push(format!("! {parent}: the set is taken over from {tool}"));
    }
    lines.extend(plan.ends().map(|(Prune { target, .. }, end)| match end {
        End::Kept(why) => format!("  {target} is kept: {why}"),
        End::NotAsked => format!("  {target} is not in the files; --prune deletes it"),
        End::Deleted { .. } => format!("- {target}"),
        End::NotDeleted(why) => format!("! {target} was not deleted: {why}"),
    }));
    let title = match plan.prunes.len() {
        0 => format!("Set of {parent}"),
        count => format!("Set of {parent}, members that are not in the files: {count}"),
    };
    (!lines.is_empty()).then(|| section(escaped(&title), "diff", &lines.join("\n"), true))
}

fn object(report: &ObjectReport, full: bool) -> Section {
    let title = format!("<code>{} {}</code>", report.action().sign(), escaped(&report.target.to_string()));
    section(title, "diff", &object_lines(report, false, full).join("\n"), false)
}

/// An XR with what it is composed of.
fn composite(report: &CompositeReport, full: bool) -> Section {
    let lost = report.pruned.iter().map(|field| format!("- {field}\n# its XRD no longer has this field"));
    let mut lines: Vec<String> = lost.collect();
    for object in report.touched() {
        lines.push(format!("{} {}", object.action().sign(), object.target));
        lines.extend(object_lines(object, true, full));
    }
    section(format!("<code>{}</code>", escaped(&report.title())), "diff", &lines.join("\n"), false)
}

fn object_lines(report: &ObjectReport, is_composed: bool, full: bool) -> Vec<String> {
    let mut lines = Vec::new();
    match &report.state {
        ObjectState::Known(preview) => {
            for change in said(preview, is_composed) {
                let held = if preview.created { String::new() } else { holding(change) };
                lines.extend(change_lines(change, &held, full));
            }
            lines.extend(hands(preview));
        }
        ObjectState::Replaced(replacement) => {
            for change in &replacement.changes {
                lines.extend(change_lines(change, &replacement.remark(change), full));
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
        lines.extend(change_lines(&FieldChange { old: None, ..addition.clone() }, &held, full));
    }
    lines
}

/// A change as lines of a diff.
fn change_lines(change: &FieldChange, held: &str, full: bool) -> Vec<String> {
    let text = ChangeText::of(change, full);
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

fn finding(finding: &Diagnostic) -> Section {
    let title = format!("{}: {}", finding.severity.word(), escaped(&finding.summary));
    section(title, "text", Renderer::plain(WIDTH).render(finding).trim_end(), finding.is_error())
}

/// A collapsible section. The fence is longer than any in the text, which so cannot end it.
fn section(title: String, language: &str, text: &str, is_open: bool) -> Section {
    let open = if is_open { " open" } else { "" };
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let text = format!(
        "\n<details{open}><summary>{title}</summary>\n\n{fence}{language}\n{text}\n{fence}\n\n</details>\n"
    );
    Section { title, text }
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
        let shown = section("t".to_owned(), "diff", "+ a: ```\n+ ````", false).text;
        assert!(shown.contains("\n`````diff\n+ a: ```\n+ ````\n`````\n"), "{shown}");
        assert_eq!(escaped("<b>&"), "&lt;b&gt;&amp;");
    }

    #[test]
    fn sections_that_do_not_fit_are_named() {
        let check = |count: usize, most: usize, expected: &str| {
            let sections = (0..count).map(|number| section(format!("s{number}"), "text", "x", false));
            let page = with_sections(String::new(), sections, most);
            let rest = page.rsplit("</details>\n").next().unwrap_or_default();
            assert_eq!(rest.trim_start(), expected, "{page}");
        };
        check(3, usize::MAX, "");
        check(1, 10, "1 section does not fit into a comment; --full shows it:\n\n* s0\n");
        check(3, 130, "1 section does not fit into a comment; --full shows it:\n\n* s2\n");
        check(2, 10, "2 sections do not fit into a comment; --full shows them:\n\n* s0\n* s1\n");
        let many = (0..2_000).map(|number| section(format!("s{number}"), "text", "x", false));
        let page = with_sections(String::new(), many, 10);
        assert!(page.len() < MOST_NAMED * 2 && page.contains(" more\n"), "{}", page.len());
    }
}
