//! How go-yaml v2 prints a string or a number.

use std::fmt::Write;

use serde_json::Number;

use super::resolve::resolves_to_another_type;

/// Beyond this column a line is broken at the next single space.
const WIDTH: usize = 80;

/// Writes a string that is no simple key, below a parent at `indent`, and ends the line.
pub(super) fn string(out: &mut String, text: &str, indent: usize) {
    if is_literal(text) {
        literal(out, text, indent + 2);
    } else {
        inline(out, text, Some(indent + 2));
        out.push('\n');
    }
}

/// Writes a string as a simple key, which stands on one line.
pub(super) fn key(out: &mut String, text: &str) {
    inline(out, text, None);
}

/// Whether a string is printed line by line behind a bar.
fn is_literal(text: &str) -> bool {
    let special = text.chars().any(|c| !is_printable(c));
    text.contains('\n') && !text.ends_with(' ') && !text.contains(" \n") && !special
}

/// Writes a string plain or in quotes; `wrap` is the indent of further lines if there may be any.
fn inline(out: &mut String, text: &str, wrap: Option<usize>) {
    let special = text.chars().any(|c| !is_printable(c)) || text.contains('\n');
    if special || resolves_to_another_type(text) {
        double_quoted(out, text, wrap);
    } else if is_plain(text) {
        wrapped(out, text, wrap, String::push);
    } else {
        out.push('\'');
        wrapped(out, text, wrap, |out, c| {
            out.push(c);
            if c == '\'' {
                out.push(c);
            }
        });
        out.push('\'');
    }
}

/// Writes `text` character by character, broken where a line has become too long.
fn wrapped(out: &mut String, text: &str, wrap: Option<usize>, put: impl Fn(&mut String, char)) {
    let chars: Vec<char> = text.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        match wrap {
            Some(indent) if *c == ' ' && is_single_space(&chars, at) && column(out) > WIDTH => {
                out.push('\n');
                super::pad(out, indent);
            }
            _ => put(out, *c),
        }
    }
}

/// Whether the space at `at` stands between two other characters.
fn is_single_space(chars: &[char], at: usize) -> bool {
    at > 0 && at + 1 < chars.len() && chars[at - 1] != ' ' && chars[at + 1] != ' '
}

fn column(out: &str) -> usize {
    out.rsplit('\n').next().unwrap_or_default().chars().count()
}

fn literal(out: &mut String, text: &str, indent: usize) {
    out.push('|');
    if text.starts_with([' ', '\n']) {
        out.push('2');
    }
    if !text.ends_with('\n') {
        out.push('-');
    } else if text == "\n" || text.ends_with("\n\n") {
        out.push('+');
    }
    out.push('\n');
    for line in text.split_inclusive('\n') {
        if line != "\n" {
            super::pad(out, indent);
        }
        out.push_str(line);
    }
    if !text.ends_with('\n') {
        out.push('\n');
    }
}

fn double_quoted(out: &mut String, text: &str, wrap: Option<usize>) {
    out.push('"');
    let chars: Vec<char> = text.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        match wrap {
            // In double quotes a line may be broken within several spaces: a backslash keeps those that follow.
            Some(indent)
                if *c == ' '
                    && at > 0
                    && at + 1 < chars.len()
                    && chars[at - 1] != ' '
                    && column(out) > WIDTH =>
            {
                out.push('\n');
                super::pad(out, indent);
                if chars[at + 1] == ' ' {
                    out.push('\\');
                }
            }
            _ => escaped(out, *c),
        }
    }
    out.push('"');
}

fn escaped(out: &mut String, c: char) {
    let short = match c {
        '\0' => '0',
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0b' => 'v',
        '\x0c' => 'f',
        '\r' => 'r',
        '\x1b' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        c if is_printable(c) => {
            out.push(c);
            return;
        }
        c => {
            let code = u32::from(c);
            let written = match code {
                0..=0xff => write!(out, "\\x{code:02X}"),
                0x100..=0xffff => write!(out, "\\u{code:04X}"),
                _ => write!(out, "\\U{code:08X}"),
            };
            return written.expect("writing to a String does not fail");
        }
    };
    out.push('\\');
    out.push(short);
}

/// What may stand in a document as it is: of the characters beyond 16 bits, none.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// Whether a string without quotes would be read as the same string, given that it resolves to one.
fn is_plain(text: &str) -> bool {
    let blank = |c: Option<char>| c.is_none_or(|c| c == ' ' || c == '\t');
    let mut rest = text.chars();
    let Some(first) = rest.next() else { return false };
    let second = rest.next();
    let starts_badly = match first {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
            true
        }
        '?' | ':' | '-' => blank(second),
        _ => false,
    };
    let is_marker = text.starts_with("---") || text.starts_with("...");
    !starts_badly
        && !is_marker
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && !text.ends_with(':')
        && !text.contains(": ")
        && !text.contains(" #")
}

/// Writes a number as Go's `%g` does with the fewest digits: with an exponent below 10^-4 and from 10^6 on.
pub(super) fn number(out: &mut String, number: &Number) {
    let double = match number.as_f64() {
        Some(double) if number.is_f64() => double,
        _ => {
            out.push_str(&number.to_string());
            return;
        }
    };
    let scientific = format!("{double:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        out.push_str(&double.to_string());
        return;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "{mantissa}e{sign}{:02}", exponent.abs()).expect("writing to a String does not fail");
}
