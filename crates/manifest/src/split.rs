//! Where the documents of a text begin and end, found before YAML's grammar is looked at.
//!
//! A line that begins with `---` begins a document wherever it stands, even in the middle of an open quote or
//! bracket, so a text can be divided without knowing whether its documents are well formed.

use diag::Span;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The documents of `text`, each from its `---` to the next; what stands before the first is a document, too, unless
/// it is only comments and directives, which then belong to the first.
pub(crate) fn split(text: &str) -> Vec<Span> {
    let mut parts = Vec::new();
    let mut start = 0;
    for marker in markers(text) {
        let end = preface(text, start, marker);
        if end > start {
            parts.push(Span::new(start, end));
            start = end;
        }
    }
    parts.push(Span::new(start, text.len()));
    parts
}

/// Where a `---` stands at the beginning of a line and by itself.
fn markers(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices("---").filter_map(move |(at, dashes)| {
        let after = text[at + dashes.len()..].bytes().next();
        if !after.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            return None;
        }
        let line = text[..at].trim_end_matches(BYTE_ORDER_MARK);
        (line.is_empty() || line.ends_with(['\n', '\r'])).then_some(line.len())
    })
}

/// Where the directives and comments begin that belong to the document at `marker`: directly after a `...`, or at the
/// beginning of the text; otherwise `marker` itself.
fn preface(text: &str, start: usize, marker: usize) -> usize {
    let mut at = marker;
    let mut has_directive = false;
    while at > start {
        let line_start = text[start..at - 1].rfind('\n').map_or(start, |newline| start + newline + 1);
        let line = text[line_start..at].trim_start_matches(BYTE_ORDER_MARK);
        if line.starts_with("...") {
            return if has_directive { at } else { marker };
        }
        has_directive |= line.starts_with('%');
        if !(line.starts_with('%') || is_blank_or_comment(line)) {
            return marker;
        }
        at = line_start;
    }
    if start == 0 { 0 } else { marker }
}

fn is_blank_or_comment(line: &str) -> bool {
    let content = line.trim_start();
    content.is_empty() || content.starts_with('#')
}

/// Whether a document is written in JSON's notation, which YAML reads but for which JSON's rules are wider.
pub(crate) fn is_json(document: &str) -> bool {
    document.trim_start_matches(BYTE_ORDER_MARK).trim_start().starts_with(['{', '['])
}

/// The first character that YAML does not allow in a text: control characters other than tab and line breaks, and the
/// two that are no characters in any encoding. JSON would allow some of them, Go's YAML tools do not.
pub(crate) fn first_forbidden(text: &str, part: Span) -> Option<Span> {
    let bytes = &text.as_bytes()[part.start..part.end];
    let at = bytes.iter().enumerate().position(|(at, byte)| match *byte {
        b'\t' | b'\n' | b'\r' => false,
        0..0x20 | 0x7f => true,
        // U+0080 to U+009F except U+0085, and U+FFFE and U+FFFF.
        0xc2 => matches!(bytes[at + 1], 0x80..=0x84 | 0x86..=0x9f),
        0xef => bytes[at + 1] == 0xbf && bytes[at + 2] >= 0xbe,
        _ => false,
    })?;
    let start = part.start + at;
    let length = text[start..].chars().next().map_or(0, char::len_utf8);
    Some(Span::new(start, start + length))
}

#[cfg(test)]
mod tests;
