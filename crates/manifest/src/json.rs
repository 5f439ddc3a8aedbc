//! JSON as Go's `encoding/json` writes it, byte for byte: state, annotations and messages were written by Go programs.

use std::fmt::Write as _;

use serde_json::Value;

use crate::number::json_number;

/// `value` on one line, keys sorted, with `<`, `>` and `&` escaped.
pub fn to_json(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, None);
    out
}

/// `value` over several lines, indented by two spaces as with `MarshalIndent(value, "", "  ")`.
pub fn to_json_pretty(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, Some(0));
    out
}

/// `indent` is the level of the lines around the value, or none to stay on one line.
fn write_value(out: &mut String, value: &Value, indent: Option<usize>) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&json_number(number)),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => write_items(out, ['[', ']'], items, indent, |out, item, inner| {
            write_value(out, item, inner);
        }),
        Value::Object(fields) => write_items(out, ['{', '}'], fields, indent, |out, (key, value), inner| {
            write_string(out, key);
            out.push_str(if inner.is_some() { ": " } else { ":" });
            write_value(out, value, inner);
        }),
    }
}

fn write_items<I>(
    out: &mut String,
    [open, close]: [char; 2],
    items: I,
    indent: Option<usize>,
    write: impl Fn(&mut String, I::Item, Option<usize>),
) where
    I: IntoIterator<IntoIter: ExactSizeIterator>,
{
    let items = items.into_iter();
    let inner = indent.map(|level| level + 1);
    let is_empty = items.len() == 0;
    out.push(open);
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        break_line(out, inner);
        write(out, item, inner);
    }
    if !is_empty {
        break_line(out, indent);
    }
    out.push(close);
}

fn break_line(out: &mut String, indent: Option<usize>) {
    if let Some(level) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", level));
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    // Everything that is not escaped is copied in one piece.
    let mut rest = text;
    while let Some(at) = rest.find(needs_escape) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let character = special.chars().next().expect("a character was found there");
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            other => write!(out, "\\u{:04x}", u32::from(other)).expect("a String takes all text"),
        }
        rest = &special[character.len_utf8()..];
    }
    out.push_str(rest);
    out.push('"');
}

/// The last two are line breaks to JavaScript.
fn needs_escape(character: char) -> bool {
    matches!(character, '"' | '\\' | '<' | '>' | '&' | '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_go_writes_them() {
        let value = json!({
            "b": [], "a": {}, "html": "<a & b>", "control": "\u{1}\u{8}\u{c}\n\r\t\u{7f}\u{2028}", "quote": "\"\\",
            "floats": [1.0, 0.1, 1e21, 1e-7, 123_456_789.5, -1e20], "ints": [0, -1, u64::MAX],
        });
        insta::assert_snapshot!(
            to_json(&value),
            @r#"{"a":{},"b":[],"control":"\u0001\b\f\n\r\t\u2028","floats":[1,0.1,1e+21,1e-7,123456789.5,-100000000000000000000],"html":"\u003ca \u0026 b\u003e","ints":[0,-1,18446744073709551615],"quote":"\"\\"}"#
        );
    }

    #[test]
    fn pretty_json_keeps_empty_collections_on_one_line() {
        insta::assert_snapshot!(to_json_pretty(&json!({"a": {}, "b": [], "c": [1, {"d": null}]})), @r#"
        {
          "a": {},
          "b": [],
          "c": [
            1,
            {
              "d": null
            }
          ]
        }
        "#);
    }
}
