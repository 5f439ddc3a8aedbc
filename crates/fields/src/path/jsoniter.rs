//! JSON as json-iterator writes it, which structured-merge-diff uses and which is not quite `encoding/json`:
//! control characters always take the long form, exponents have two digits, and names are not escaped for HTML.

use std::fmt::Write as _;

use serde_json::Value;

/// Appends `content` as the name of an object's field.
pub(crate) fn write_name(text: &mut String, content: &str) {
    write_escaped(text, content, |character| matches!(character, '"' | '\\') || character < ' ');
}

/// Appends `value` on one line, with `<`, `>` and `&` escaped in it.
pub(super) fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Number(number) => {
            let number = manifest::json_number(number);
            match number.split_once("e-").filter(|(_, exponent)| exponent.len() == 1) {
                Some((mantissa, exponent)) => {
                    write!(text, "{mantissa}e-0{exponent}").expect("a String takes everything");
                }
                None => text.push_str(&number),
            }
        }
        Value::String(content) => write_string(text, content),
        Value::Array(items) => write_all(text, ['[', ']'], items, write_value),
        Value::Object(fields) => write_all(text, ['{', '}'], fields, |text, (name, field)| {
            write_string(text, name);
            text.push(':');
            write_value(text, field);
        }),
        Value::Null | Value::Bool(_) => write!(text, "{value}").expect("a String takes everything"),
    }
}

fn write_all<T>(
    text: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    text.push(open);
    for (position, item) in items.into_iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        write(text, item);
    }
    text.push(close);
}

fn write_string(text: &mut String, content: &str) {
    write_escaped(text, content, |character| {
        matches!(character, '"' | '\\' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}') || character < ' '
    });
}

fn write_escaped(text: &mut String, content: &str, is_special: impl Fn(char) -> bool) {
    text.push('"');
    let mut rest = content;
    while let Some(position) = rest.find(&is_special) {
        let (plain, special) = rest.split_at(position);
        text.push_str(plain);
        let character = special.chars().next().expect("a special character was found");
        match character {
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '"' | '\\' => text.extend(['\\', character]),
            other => write!(text, "\\u{:04x}", u32::from(other)).expect("a String takes everything"),
        }
        rest = &special[character.len_utf8()..];
    }
    text.push_str(rest);
    text.push('"');
}
