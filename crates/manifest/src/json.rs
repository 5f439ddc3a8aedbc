//! JSON as Go's `encoding/json` writes it, byte for byte: state, annotations and messages were written by Go programs.

use std::fmt::Write as _;

use serde_json::{Number, Value};

use crate::number::json_number;

/// `value` on one line, keys sorted, with `<`, `>` and `&` escaped.
pub fn to_json(value: &Value) -> String {
    let mut out = String::new();
    Writer { out: &mut out, dialect: Dialect::EncodingJson }.value(value, None);
    out
}

/// `value` over several lines, indented by two spaces as with `MarshalIndent(value, "", "  ")`.
pub fn to_json_pretty(value: &Value) -> String {
    let mut out = String::new();
    Writer { out: &mut out, dialect: Dialect::EncodingJson }.value(value, Some(0));
    out
}

/// Appends `value` on one line as json-iterator writes it, which structured-merge-diff uses and which is not quite
/// `encoding/json`: control characters always take the long form, and exponents have two digits.
pub fn write_jsoniter(out: &mut String, value: &Value) {
    Writer { out, dialect: Dialect::JsonIterator }.value(value, None);
}

/// Appends the name of an object's field as json-iterator writes it, which does not escape it for HTML.
pub fn write_jsoniter_name(out: &mut String, name: &str) {
    let is_special = |character| matches!(character, '"' | '\\' | '\0'..='\u{1f}');
    Writer { out, dialect: Dialect::JsonIterator }.string(name, is_special);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    EncodingJson,
    JsonIterator,
}

struct Writer<'o> {
    out: &'o mut String,
    dialect: Dialect,
}

impl Writer<'_> {
    /// `indent` is the level of the lines around the value, or none to stay on one line.
    fn value(&mut self, value: &Value, indent: Option<usize>) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(bool) => self.out.push_str(if *bool { "true" } else { "false" }),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.string(text, needs_escape),
            Value::Array(items) => self.items(['[', ']'], items, indent, Self::value),
            Value::Object(fields) => self.items(['{', '}'], fields, indent, |writer, (key, value), inner| {
                writer.string(key, needs_escape);
                writer.out.push_str(if inner.is_some() { ": " } else { ":" });
                writer.value(value, inner);
            }),
        }
    }

    fn number(&mut self, number: &Number) {
        let number = json_number(number);
        match number.split_once("e-").filter(|(_, exponent)| exponent.len() == 1) {
            Some((mantissa, exponent)) if self.dialect == Dialect::JsonIterator => {
                self.out.extend([mantissa, "e-0", exponent]);
            }
            _ => self.out.push_str(&number),
        }
    }

    fn items<I>(
        &mut self,
        [open, close]: [char; 2],
        items: I,
        indent: Option<usize>,
        write: impl Fn(&mut Self, I::Item, Option<usize>),
    ) where
        I: IntoIterator<IntoIter: ExactSizeIterator>,
    {
        let items = items.into_iter();
        let inner = indent.map(|level| level + 1);
        let is_empty = items.len() == 0;
        self.out.push(open);
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.break_line(inner);
            write(self, item, inner);
        }
        if !is_empty {
            self.break_line(indent);
        }
        self.out.push(close);
    }

    fn break_line(&mut self, indent: Option<usize>) {
        if let Some(level) = indent {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", level));
        }
    }

    fn string(&mut self, text: &str, is_special: impl Fn(char) -> bool) {
        self.out.push('"');
        // Everything that is not escaped is copied in one piece.
        let mut rest = text;
        while let Some(at) = rest.find(&is_special) {
            let (plain, special) = rest.split_at(at);
            self.out.push_str(plain);
            let character = special.chars().next().expect("a character was found there");
            match character {
                '"' | '\\' => self.out.extend(['\\', character]),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' if self.dialect == Dialect::EncodingJson => self.out.push_str("\\b"),
                '\u{c}' if self.dialect == Dialect::EncodingJson => self.out.push_str("\\f"),
                other => write!(self.out, "\\u{:04x}", u32::from(other)).expect("a String takes all text"),
            }
            rest = &special[character.len_utf8()..];
        }
        self.out.push_str(rest);
        self.out.push('"');
    }
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
