//! A report as JUnit XML, for CI: one test case per object, and per member of a set that is not in the files.

use std::fmt::Write as _;

use diag::Diagnostic;
use diag::terminal::Renderer;
use manifest::ObjectRef;
use plan::FieldChange;

use super::change_text::ChangeText;
use super::{Action, ObjectReport, ObjectState, Report};
use crate::support::applyset::SetPlan;
use crate::support::applyset::prune::End;

/// The line width of a failure's text.
const WIDTH: usize = 100;

/// The report as XML.
pub(crate) fn junit(report: &Report) -> String {
    let objects = report.objects.iter().map(of_object);
    let cases: Vec<Case> = report
        .set
        .iter()
        .flat_map(of_set)
        .chain(objects)
        .chain(report.problems.iter().map(|problem| {
            let place = problem.location.as_ref().map_or_else(String::new, ToString::to_string);
            Case { class: "file".to_owned(), name: place, verdict: Verdict::of_error(problem) }
        }))
        .collect();
    let count = |of: fn(&Verdict) -> bool| cases.iter().filter(|case| of(&case.verdict)).count();
    let failures = count(|verdict| matches!(verdict, Verdict::Fails { .. }));
    let errors = count(|verdict| matches!(verdict, Verdict::Error { .. }));
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let counts = format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", cases.len());
    let _infallible = writeln!(xml, "  <testsuite name=\"plimsoll drift\" {counts}>");
    for Case { class, name, verdict } in &cases {
        let body = match verdict {
            Verdict::Passes => String::new(),
            Verdict::Fails { message, text } => element("failure", message, text),
            Verdict::Error { message, text } => element("error", message, text),
        };
        let (class, name) = (escaped(class), escaped(name));
        let _infallible =
            writeln!(xml, "    <testcase classname=\"{class}\" name=\"{name}\">{body}</testcase>");
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

struct Case {
    class: String,
    name: String,
    verdict: Verdict,
}

enum Verdict {
    Passes,
    Fails { message: String, text: String },
    Error { message: String, text: String },
}

impl Verdict {
    fn fails(message: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Fails { message: message.into(), text: text.into() }
    }

    fn of_error(error: &Diagnostic) -> Self {
        Self::Error { message: error.summary.clone(), text: Renderer::plain(WIDTH).render(error) }
    }
}

impl Case {
    fn of(target: &ObjectRef, verdict: Verdict) -> Self {
        let name = match &target.namespace {
            Some(namespace) => format!("{namespace}/{}", target.name),
            None => target.name.clone(),
        };
        Self { class: target.kind().to_owned(), name, verdict }
    }
}

/// The parent of a set, its members that are not in the files, and those that cannot be listed.
fn of_set(plan: &SetPlan) -> Vec<Case> {
    let verdict = if plan.set.exists() {
        Verdict::Passes
    } else {
        Verdict::fails("the parent of the set does not exist", "")
    };
    let mut cases = vec![Case::of(&plan.set.parent, verdict)];
    cases.extend(plan.ends().map(|(prune, end)| {
        let verdict = match end {
            End::Kept(_) | End::NotAsked => Verdict::Passes,
            End::Deleted { .. } => Verdict::fails("it is not in the files", ""),
            End::NotDeleted(why) => Verdict::fails("it was not deleted", why),
        };
        Case::of(&prune.target, verdict)
    }));
    cases.extend(plan.set.unlisted.iter().map(|error| {
        let name = plan.set.parent.to_string();
        Case { class: "set".to_owned(), name, verdict: Verdict::of_error(error) }
    }));
    cases
}

fn of_object(object: &ObjectReport) -> Case {
    let lines = |changes: Vec<ChangeText>, one: &str, many: &str| {
        let lines: Vec<String> = changes.iter().map(ChangeText::plain).collect();
        let noun = if lines.len() == 1 { one } else { many };
        Verdict::fails(format!("{} {noun}", lines.len()), lines.join("\n"))
    };
    let verdict = match (&object.state, object.findings.iter().find(|finding| finding.is_error())) {
        (_, Some(error)) => Verdict::of_error(error),
        (ObjectState::Pending(pending), None) => Verdict::fails("it does not exist", pending.reason()),
        (ObjectState::Known(preview), None) if preview.created => Verdict::fails("it does not exist", ""),
        (ObjectState::Known(preview), None) if preview.changes_values() => {
            let changes = preview.changes.iter().map(|change| ChangeText::of(change, false));
            lines(changes.collect(), "field differs", "fields differ")
        }
        _ => match object.action() {
            Action::Addition => {
                let text = |change: &FieldChange| {
                    ChangeText::of(&FieldChange { old: None, ..change.clone() }, false)
                };
                let added = object.additions.iter().map(text);
                lines(added.collect(), "field is not in the files", "fields are not in the files")
            }
            Action::Going => Verdict::fails("it is being deleted", ""),
            Action::Nothing => Verdict::Passes,
            _ => Verdict::fails("it differs from the files", ""),
        },
    };
    Case::of(&object.target, verdict)
}

fn element(name: &str, message: &str, text: &str) -> String {
    format!("<{name} message=\"{}\">{}</{name}>", escaped(message), escaped(text))
}

/// Text escaped for XML, which cannot represent control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("a<b>&\"c\"\u{1b}\n"), "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}\n");
    }
}
