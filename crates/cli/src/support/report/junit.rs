//! A report as JUnit XML, for CI: one test case per object.

use std::fmt::Write as _;

use diag::terminal::Renderer;
use plan::FieldChange;

use super::change_text::ChangeText;
use super::{Action, ObjectReport, ObjectState, Report};

/// The line width of a failure's text.
const WIDTH: usize = 100;

/// The report as XML.
pub(crate) fn junit(report: &Report) -> String {
    let is_failure = |object: &&ObjectReport| !object.has_errors() && object.action() != Action::Nothing;
    let failures = report.objects.iter().filter(is_failure).count();
    let errors = report.objects.iter().filter(|object| object.has_errors()).count() + report.problems.len();
    let tests = report.objects.len() + report.problems.len();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"");
    let _infallible = writeln!(xml, "  <testsuite name=\"plimsoll drift\" {counts}>");
    for object in &report.objects {
        case(&mut xml, object);
    }
    for problem in &report.problems {
        let place = problem.location.as_ref().map_or_else(String::new, ToString::to_string);
        let body = element("error", &problem.summary, &Renderer::plain(WIDTH).render(problem));
        let _infallible =
            writeln!(xml, "    <testcase classname=\"file\" name=\"{}\">{body}</testcase>", escaped(&place));
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn case(xml: &mut String, object: &ObjectReport) {
    let target = &object.target;
    let name = match &target.namespace {
        Some(namespace) => format!("{namespace}/{}", target.name),
        None => target.name.clone(),
    };
    let body = match (&object.state, object.findings.iter().find(|finding| finding.is_error())) {
        (_, Some(error)) => element("error", &error.summary, &Renderer::plain(WIDTH).render(error)),
        (ObjectState::Pending(pending), None) => element("failure", "it does not exist", pending.reason()),
        (ObjectState::Known(preview), None) if preview.created => element("failure", "it does not exist", ""),
        (ObjectState::Known(preview), None) if preview.changes_values() => {
            let text = |change| ChangeText::of(change, false).plain();
            let lines: Vec<String> = preview.changes.iter().map(text).collect();
            let noun = if lines.len() == 1 { "field differs" } else { "fields differ" };
            element("failure", &format!("{} {noun}", lines.len()), &lines.join("\n"))
        }
        _ if object.action() == Action::Addition => {
            let text = |change: &FieldChange| {
                ChangeText::of(&FieldChange { old: None, ..change.clone() }, false).plain()
            };
            let lines: Vec<String> = object.additions.iter().map(text).collect();
            let noun = if lines.len() == 1 { "field is" } else { "fields are" };
            element("failure", &format!("{} {noun} not in the files", lines.len()), &lines.join("\n"))
        }
        _ if object.action() == Action::Going => element("failure", "it is being deleted", ""),
        _ => String::new(),
    };
    let (kind, name) = (escaped(target.kind()), escaped(&name));
    let _infallible = writeln!(xml, "    <testcase classname=\"{kind}\" name=\"{name}\">{body}</testcase>");
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
