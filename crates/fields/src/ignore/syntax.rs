//! The text of an `ignore_fields` entry, cut into segments.

use super::pattern::Segment;
use crate::jsonpath::JsonPath;

/// The segments of `text`; nothing if it is something else, which JSONPath may still understand.
pub(super) fn segments(text: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut rest = text;
    loop {
        if let Some(bracket) = rest.strip_prefix('[') {
            let (segment, behind) = in_brackets(bracket)?;
            segments.push(segment);
            rest = behind;
        } else {
            let (segment, behind) = name(rest)?;
            segments.push(segment);
            rest = behind;
        }
        if rest.is_empty() {
            return Some(segments);
        }
        if !rest.starts_with('[') {
            rest = rest.strip_prefix('.')?;
        }
    }
}

/// A name up to the next dot or bracket; a backslash takes the meaning from what follows it.
fn name(text: &str) -> Option<(Segment, &str)> {
    let mut name = String::new();
    let mut characters = text.char_indices();
    let end = loop {
        match characters.next() {
            None => break text.len(),
            Some((position, '.' | '[')) => break position,
            Some((_, '\\')) => name.push(characters.next()?.1),
            // These mean something in JSONPath.
            Some((
                _,
                ' ' | '\t' | '\r' | '\n' | '{' | '}' | ']' | '(' | ')' | '\'' | '"' | '|' | ',' | '@' | '$',
            )) => {
                return None;
            }
            Some((_, character)) => name.push(character),
        }
    };
    let segment = match (name.as_str(), &text[..end]) {
        ("", _) => return None,
        ("*", "*") => Segment::Any,
        _ => Segment::Name(name),
    };
    Some((segment, &text[end..]))
}

/// What stands in brackets, and what follows them.
fn in_brackets(text: &str) -> Option<(Segment, &str)> {
    if let Some(quote) = text.chars().next().filter(|first| matches!(first, '\'' | '"')) {
        let (name, behind) = text[1..].split_once(quote)?;
        return Some((Segment::Quoted(name.to_owned()), behind.strip_prefix(']')?));
    }
    let end = closing_bracket(text)?;
    let (content, behind) = (&text[..end], &text[end + 1..]);
    let segment = if content == "*" {
        Segment::Any
    } else if content.starts_with("?(") {
        Segment::Filter(JsonPath::parse(&format!("{{[{content}]}}")).ok()?)
    } else if let Ok(index) = content.parse() {
        Segment::Index(index)
    } else if let Some(value) = content.strip_prefix('=') {
        Segment::Value(without_quotes(value).to_owned())
    } else {
        Segment::Fields(fields(content)?)
    };
    Some((segment, behind))
}

/// `name=value`, several of them with commas in between.
fn fields(text: &str) -> Option<Vec<(String, String)>> {
    let field = |text: &str| {
        let (name, value) = text.split_once('=')?;
        let name = name.trim();
        let is_name = !name.is_empty()
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
        is_name.then(|| (name.to_owned(), without_quotes(value.trim()).to_owned()))
    };
    at_commas(text).into_iter().map(field).collect()
}

/// The parts of `text` between commas; one in quotes does not separate.
fn at_commas(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    for (position, character) in text.char_indices() {
        match (quote, character) {
            (None, ',') => {
                parts.push(&text[start..position]);
                start = position + 1;
            }
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn without_quotes(text: &str) -> &str {
    let quoted = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    quoted('\'').or_else(|| quoted('"')).unwrap_or(text)
}

/// Where the bracket ends that `text` stands in; one in quotes does not end it.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut quote = None;
    for (position, character) in text.char_indices() {
        match (quote, character) {
            (None, ']') => return Some(position),
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    None
}
