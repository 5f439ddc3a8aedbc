//! Removes values from a server's message: they may come from a Secret, and the sender knows them anyway.

/// Precedes the whole object that a patch would have produced.
const OBJECT: &str = "Invalid value: \"{";
/// Precedes a value that the schema check of server-side apply found in the wrong place.
const FOUND: &str = "&value.valueUnstructured{Value:";

/// `text` without the objects that a rejected patch would have produced, and with types in place of misplaced values.
pub(super) fn redact_values(text: &str) -> String {
    replaced(&replaced(text, OBJECT, object), FOUND, found)
}

/// Replaces every passage of `text` that starts with `mark`: `replace` receives what follows the mark, and returns the
/// replacement and the rest.
fn replaced<'t>(text: &'t str, mark: &str, replace: fn(&'t str) -> (&'static str, &'t str)) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once(mark) {
        let (put, after) = replace(after);
        shown.push_str(before);
        shown.push_str(put);
        rest = after;
    }
    shown.push_str(rest);
    shown
}

fn object(after: &str) -> (&'static str, &str) {
    ("Invalid value", after_quote(after))
}

fn found(after: &str) -> (&'static str, &str) {
    let word = match after.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'm') => "a mapping",
        Some(b'[') => "a list",
        Some(b'0'..=b'9' | b'-' | b'+') => "a number",
        _ => "something else",
    };
    let (mut depth, mut rest) = (0_usize, after);
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        match letter {
            '"' => rest = after_quote(rest),
            '{' => depth += 1,
            '}' if depth == 0 => return (word, rest),
            '}' => depth -= 1,
            _ => {}
        }
    }
    // The message was cut off, possibly inside the value.
    (word, "")
}

/// The text after the end of a Go-quoted string, given the text after its opening quote; empty if there is no closing
/// quote.
fn after_quote(text: &str) -> &str {
    let mut escaped = false;
    let end = text.char_indices().find(|(_, letter)| {
        let plain = !std::mem::take(&mut escaped);
        escaped = plain && *letter == '\\';
        plain && *letter == '"'
    });
    end.map_or("", |(at, _)| &text[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_removed_and_the_rest_is_kept() {
        let check = |text: &str, expected: &str| assert_eq!(redact_values(text), expected);
        check("pods \"a\" not found", "pods \"a\" not found");
        check(
            "Invalid value: \"Sometimes\": supported values: \"Always\"",
            "Invalid value: \"Sometimes\": supported values: \"Always\"",
        );
        check(
            r#"patch: Invalid value: "{\"data\":{\"a\":\"aHVudGVyMg==\",\"b\":\"\\\"}\"}}": json: cannot unmarshal number"#,
            "patch: Invalid value: json: cannot unmarshal number",
        );
        check(r#"Invalid value: "{\"data\":{\"a\":\"aHVud"#, "Invalid value");
        for (value, word) in [
            ("1234", "a number"),
            ("true", "a boolean"),
            ("\"a}b\\\"\"", "a string"),
            ("map[string]interface {}{\"a\":map[string]interface {}{\"b\":\"}\"}}", "a mapping"),
            ("[]interface {}{1}", "a list"),
            ("interface {}(nil)", "something else"),
        ] {
            let text =
                format!(".data.pin: expected string, got &value.valueUnstructured{{Value:{value}}}\n.x: y");
            check(&text, &format!(".data.pin: expected string, got {word}\n.x: y"));
        }
    }
}
