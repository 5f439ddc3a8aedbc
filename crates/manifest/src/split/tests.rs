//! Where texts are divided and which characters are refused.

use super::*;

#[track_caller]
fn check(text: &str, parts: &[&str]) {
    let spans = split(text);
    let found: Vec<&str> = spans.iter().map(|span| &text[span.start..span.end]).collect();
    assert_eq!(found, parts, "{text:?}");
}

#[test]
fn documents_begin_at_separators_on_lines_of_their_own() {
    check("", &[""]);
    check("a: 1\n", &["a: 1\n"]);
    check("a: 1\n---\nb: 2\n", &["a: 1\n", "---\nb: 2\n"]);
    check("---\na\n---\n---\nb", &["---\na\n", "---\n", "---\nb"]);
    check("--- a\n--- # b\n---", &["--- a\n", "--- # b\n", "---"]);
    check("a\r\n---\r\nb", &["a\r\n", "---\r\nb"]);
    check("a: ---\n---b\n ---\n----\n", &["a: ---\n---b\n ---\n----\n"]);
    // Even inside what looks like an open quote, as YAML has it.
    check("a: 'b\n---\nc: 1", &["a: 'b\n", "---\nc: 1"]);
}

#[test]
fn comments_and_directives_belong_to_the_document_they_precede() {
    check("# about\n\n---\na", &["# about\n\n---\na"]);
    check("%YAML 1.1\n---\na", &["%YAML 1.1\n---\na"]);
    check("a\n...\n# b\n%YAML 1.1\n---\nb", &["a\n...\n", "# b\n%YAML 1.1\n---\nb"]);
    check("a\n# b\n---\nb", &["a\n# b\n", "---\nb"]);
}

#[test]
fn a_byte_order_mark_may_precede_each_separator() {
    check("\u{feff}---\na\n\u{feff}---\nb", &["\u{feff}---\na\n", "\u{feff}---\nb"]);
}

#[test]
fn control_characters_are_found_and_line_breaks_are_not() {
    let check = |text: &str, at: Option<usize>| {
        let found = first_forbidden(text, Span::new(0, text.len()));
        assert_eq!(found.map(|span| span.start), at, "{text:?}");
    };
    check("a\tb\r\nc\u{85}é\u{feff}\u{1f600}", None);
    check("ab\0", Some(2));
    check("é\u{7f}", Some(2));
    check("é\u{9f}", Some(2));
    check("\u{a0}\u{ffff}", Some(2));
    check("\u{fffd}\u{1b}", Some(3));
}
