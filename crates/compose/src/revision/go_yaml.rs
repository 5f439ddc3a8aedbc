//! JSON as Go's `sigs.k8s.io/yaml` prints it, because the reference names revisions by a hash of that text.
//!
//! Covers what a Composition can hold: block style, two spaces, lists not indented below their key, keys in natural
//! order, and a string plain, quoted or literal by the rules of go-yaml v2.

mod resolve;
mod scalar;

use std::cmp::Ordering;

use serde_json::Value;

use crate::run::Object;

/// The document for `value`, with the line feed at its end.
pub(super) fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(object) if !object.is_empty() => mapping(&mut out, object, 0),
        Value::Array(list) if !list.is_empty() => sequence(&mut out, list, 0),
        other => leaf(&mut out, other, 0),
    }
    out
}

/// Writes a mapping from the current column on, which is `indent`, and ends the line.
fn mapping(out: &mut String, object: &Object, indent: usize) {
    for (at, key) in sorted_keys(object).into_iter().enumerate() {
        if at > 0 {
            pad(out, indent);
        }
        let value = &object[key];
        // A key of more than 128 bytes, or of several lines, is a key by its question mark.
        if key.len() > 128 || key.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
            out.push_str("? ");
            scalar::string(out, key, indent);
            pad(out, indent);
            out.push_str(": ");
            node_after_indicator(out, value, indent);
        } else {
            scalar::key(out, key);
            out.push(':');
            match value {
                Value::Object(object) if !object.is_empty() => {
                    out.push('\n');
                    pad(out, indent + 2);
                    mapping(out, object, indent + 2);
                }
                Value::Array(list) if !list.is_empty() => {
                    out.push('\n');
                    pad(out, indent);
                    sequence(out, list, indent);
                }
                other => {
                    out.push(' ');
                    leaf(out, other, indent);
                }
            }
        }
    }
}

/// Writes a list from the current column on, which is `indent`, and ends the line.
fn sequence(out: &mut String, list: &[Value], indent: usize) {
    for (at, value) in list.iter().enumerate() {
        if at > 0 {
            pad(out, indent);
        }
        out.push_str("- ");
        node_after_indicator(out, value, indent);
    }
}

/// A node behind a dash, question mark or colon and a space: collections begin on the same line.
fn node_after_indicator(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(object) if !object.is_empty() => mapping(out, object, indent + 2),
        Value::Array(list) if !list.is_empty() => sequence(out, list, indent + 2),
        other => leaf(out, other, indent),
    }
}

/// A scalar or an empty collection, and the end of its line.
fn leaf(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Null => out.push_str("null\n"),
        Value::Bool(value) => out.push_str(if *value { "true\n" } else { "false\n" }),
        Value::Number(number) => {
            scalar::number(out, number);
            out.push('\n');
        }
        Value::String(text) => scalar::string(out, text, indent),
        Value::Array(_) => out.push_str("[]\n"),
        Value::Object(_) => out.push_str("{}\n"),
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// The keys in natural order.
///
/// The order is Go's, and not transitive where numbers overflow, which is why the sort is one that cannot mind.
fn sorted_keys(object: &Object) -> Vec<&String> {
    let mut sorted: Vec<&String> = Vec::with_capacity(object.len());
    for key in object.keys() {
        let behind = |other: &&String| natural_order(other, key) == Ordering::Greater;
        let at = sorted.len() - sorted.iter().rev().take_while(|other| behind(other)).count();
        sorted.insert(at, key);
    }
    sorted
}

/// Letters after everything else, numbers by value.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (left, right): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = left.iter().zip(&right).position(|(l, r)| l != r) else {
        return left.len().cmp(&right.len());
    };
    let (l, r) = (left[at], right[at]);
    match (l.is_alphabetic(), r.is_alphabetic()) {
        (true, true) => return l.cmp(&r),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // Behind a number that has begun, a zero is a digit like any other instead of a leading one.
    let begun = left[..at].iter().rev().take_while(|c| c.is_ascii_digit()).any(|c| *c != '0');
    let start = i64::from((l == '0' || r == '0') && begun);
    let number = |chars: &[char]| {
        let digits = chars[at..].iter().take_while(|c| c.is_ascii_digit());
        let fold = |(value, count): (i64, usize), c: &char| {
            let digit = i64::from(c.to_digit(10).unwrap_or(0));
            (value.wrapping_mul(10).wrapping_add(digit), count + 1)
        };
        digits.fold((start, 0), fold)
    };
    number(&left).cmp(&number(&right)).then(l.cmp(&r))
}
