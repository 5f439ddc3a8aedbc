//! Renders the change of a field so that no difference is hidden: short values on one line, long ones line by line.
//!
//! Only what stays the same is folded, and the rest of a long text that is all new or all gone; both say how much.

use plan::FieldChange;
use serde_json::Value;
use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices, group_diff_ops};

/// Longer values are shown line by line.
const LONGEST_VALUE: usize = 60;
/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;
/// How much of a text that is all new or all gone is shown.
const MOST_LINES: usize = 10;
const MOST_CHARACTERS: usize = 200;

/// A change in words: one line, and for long values the lines below it.
pub(crate) struct ChangeText {
    /// `spec.replicas: 5 → 3`, or `rules:` with lines below it.
    pub(crate) head: String,
    pub(crate) lines: Vec<Line>,
}

pub(crate) enum Line {
    Same(String),
    Removed(String),
    Added(String),
    /// How much is left out.
    Folded(String),
}

impl ChangeText {
    /// `full` folds nothing.
    pub(crate) fn of(change: &FieldChange, full: bool) -> Self {
        let FieldChange { path, old, new, .. } = change;
        let field = path.notation();
        let short = |head: String| Self { head, lines: Vec::new() };
        match (old, new) {
            (Some(old), _) if change.is_allocated && is_short(old) => {
                short(format!("{field}: {} → (allocated by the API server)", plain(old)))
            }
            _ if change.is_allocated => short(format!("{field} = (allocated by the API server)")),
            (None, None) => short(field.to_string()),
            (None, Some(new)) if is_short(new) => short(format!("{field} = {}", plain(new))),
            (Some(old), None) if is_short(old) => short(format!("{field}: {} → (none)", plain(old))),
            (Some(old), Some(new)) if is_short(old) && is_short(new) => {
                short(format!("{field}: {} → {}", plain(old), plain(new)))
            }
            (None, Some(new)) => {
                Self { head: format!("{field} ="), lines: one_sided(new, Line::Added, full) }
            }
            (Some(old), None) => {
                Self { head: format!("{field}: → (none)"), lines: one_sided(old, Line::Removed, full) }
            }
            (Some(old), Some(new)) => Self { head: format!("{field}:"), lines: differences(old, new, full) },
        }
    }

    /// The change without colour, its lines indented.
    pub(crate) fn plain(&self) -> String {
        let below = self.lines.iter().map(|line| format!("\n  {}", line.plain()));
        self.head.chars().chain(below.collect::<String>().chars()).collect()
    }
}

impl Line {
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Same(text) => format!("  {text}"),
            Self::Removed(text) => format!("- {text}"),
            Self::Added(text) => format!("+ {text}"),
            Self::Folded(text) => format!("… {text}"),
        }
    }
}

fn is_short(value: &Value) -> bool {
    plain(value).chars().count() <= LONGEST_VALUE && value.as_str().is_none_or(|text| !text.contains('\n'))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => manifest::to_json(other),
    }
}

/// The lines of a value: a text as it is, everything else as YAML. Control characters, which could hide what follows,
/// are escaped.
fn lines_of(value: &Value) -> Vec<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => manifest::to_yaml(other).trim_end_matches('\n').to_owned(),
    };
    let visible = |character: char| match character {
        '\t' => character.to_string(),
        control if control.is_control() => control.escape_debug().to_string(),
        other => other.to_string(),
    };
    // A newline at the end is a difference, too; splitting keeps it as an empty line.
    text.split('\n').map(|line| line.chars().map(visible).collect()).collect()
}

fn one_sided(value: &Value, side: fn(String) -> Line, full: bool) -> Vec<Line> {
    let mut lines = lines_of(value);
    let mut folded = None;
    if !full && value.is_string() {
        let characters = lines[0].chars().count();
        if lines.len() > MOST_LINES {
            folded = Some(format!("{} more lines, --full", lines.len() - MOST_LINES));
            lines.truncate(MOST_LINES);
        } else if lines.len() == 1 && characters > MOST_CHARACTERS {
            folded = Some(format!("{} more characters, --full", characters - MOST_CHARACTERS));
            lines[0] = lines[0].chars().take(MOST_CHARACTERS).collect();
        }
    }
    lines.into_iter().map(side).chain(folded.map(Line::Folded)).collect()
}

fn differences(old: &Value, new: &Value, full: bool) -> Vec<Line> {
    let (old, new) = (lines_of(old), lines_of(new));
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let groups: Vec<Vec<DiffOp>> = if full { vec![ops] } else { group_diff_ops(ops, CONTEXT) };
    let mut lines = Vec::new();
    let mut shown = 0;
    for group in &groups {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        lines.extend(fold(first.old_range().start - shown));
        shown = last.old_range().end;
        for change in group.iter().flat_map(|op| op.iter_changes(&old, &new)) {
            let text = change.value();
            lines.push(match change.tag() {
                ChangeTag::Equal => Line::Same(text),
                ChangeTag::Delete => Line::Removed(text),
                ChangeTag::Insert => Line::Added(text),
            });
        }
    }
    lines.extend(fold(old.len() - shown));
    lines
}

fn fold(count: usize) -> Option<Line> {
    match count {
        0 => None,
        1 => Some(Line::Folded("1 unchanged line".to_owned())),
        _ => Some(Line::Folded(format!("{count} unchanged lines"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(old: Option<Value>, new: Option<Value>) -> String {
        let change =
            FieldChange { path: fields::FieldPath::of_fields(["f"]), old, new, ..FieldChange::default() };
        ChangeText::of(&change, false).plain()
    }

    #[test]
    fn short_values_are_on_one_line() {
        assert_eq!(shown(Some(json!("a")), Some(json!("b"))), r#"f: "a" → "b""#);
        assert_eq!(shown(None, Some(json!([1]))), "f = [1]");
        assert_eq!(shown(Some(json!(5)), None), "f: 5 → (none)");
    }

    #[test]
    fn long_values_are_compared_line_by_line() {
        let long = "x".repeat(70);
        assert_eq!(
            shown(Some(json!(format!("{long}1"))), Some(json!(format!("{long}2")))),
            format!("f:\n  - {long}1\n  + {long}2")
        );
        let list =
            |last: &str| json!((0..30).map(|n| n.to_string()).chain([last.to_owned()]).collect::<Vec<_>>());
        insta::assert_snapshot!(shown(Some(list("a")), Some(list("b"))), @r#"
        f:
          … 27 unchanged lines
            - "27"
            - "28"
            - "29"
          - - a
          + - b
        "#);
    }

    #[test]
    fn what_the_eye_does_not_see_is_a_difference_too() {
        assert_eq!(shown(Some(json!("a\nb")), Some(json!("a\nb\n"))), "f:\n    a\n    b\n  + ");
        assert_eq!(shown(Some(json!("a\nb")), Some(json!("a\r\nb"))), "f:\n  - a\n  + a\\r\n    b");
        assert_eq!(shown(None, Some(json!("a\n\u{1b}[2Kb"))), "f =\n  + a\n  + \\u{1b}[2Kb");
    }
}
