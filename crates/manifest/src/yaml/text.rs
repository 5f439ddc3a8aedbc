//! How one text is written: plain, quoted or as a block, and where it is folded.

use super::Writer;
use crate::scalar::needs_quotes;

/// Lines are folded at the first space after this column.
const WIDTH: usize = 80;

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    Root,
    Item,
    /// A key before its colon, on one line.
    Key,
    /// The value of a key, or a key after a question mark.
    Value,
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

impl Style {
    /// The style a string gets if nothing in it stands against that.
    pub(super) fn preferred(text: &str) -> Self {
        if text.contains('\n') {
            Self::Literal
        } else if needs_quotes(text) || is_base_60(text) {
            Self::DoubleQuoted
        } else {
            Self::Plain
        }
    }
}

/// Whether `key` can stand before a colon; others need a question mark.
pub(super) fn is_simple_key(key: &str) -> bool {
    key.len() <= 128 && !key.contains(is_break)
}

/// A text and the style it can have where it stands.
pub(super) struct Text<'a> {
    value: &'a str,
    style: Style,
    may_fold: bool,
}

impl<'a> Text<'a> {
    pub(super) fn new(value: &'a str, preferred: Style, context: Context) -> Self {
        let allowed = Allowed::of(value);
        let mut style = preferred;
        if style == Style::Plain && (!allowed.plain || value.is_empty() && context == Context::Key) {
            style = Style::SingleQuoted;
        }
        if style == Style::SingleQuoted && !allowed.single_quoted
            || style == Style::Literal && (!allowed.block || context == Context::Key)
        {
            style = Style::DoubleQuoted;
        }
        Self { value, style, may_fold: context != Context::Key }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        match self.style {
            Style::Plain => {
                if !writer.whitespace {
                    writer.put(' ');
                }
                self.write_folded(writer, false);
            }
            Style::SingleQuoted => {
                writer.indicator("'", false);
                self.write_folded(writer, true);
                writer.adjacent("'");
            }
            Style::DoubleQuoted => self.write_double_quoted(writer),
            Style::Literal => return self.write_literal(writer),
        }
        writer.whitespace = false;
        writer.indention = false;
    }

    /// Writes a plain or single-quoted text, which has no line breaks.
    fn write_folded(&self, writer: &mut Writer, quoted: bool) {
        let mut after_space = false;
        let mut characters = self.value.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if character == ' ' {
                // At either end of a quoted text a folded space would be lost.
                let inside = !quoted || at > 0 && next.is_some();
                if self.may_fold && inside && !after_space && writer.column > WIDTH && next != Some(' ') {
                    writer.indent_line();
                } else {
                    writer.put(' ');
                }
            } else {
                if quoted && character == '\'' {
                    writer.put('\'');
                }
                writer.put(character);
                writer.indention = false;
            }
            after_space = character == ' ';
        }
    }

    fn write_double_quoted(&self, writer: &mut Writer) {
        // go-yaml means to escape a byte order mark, but escapes everything in a text that begins with one.
        let escape_all = self.value.starts_with('\u{feff}');
        let mut after_space = false;
        writer.indicator("\"", false);
        let mut characters = self.value.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if escape_all
                || !is_printable(character)
                || is_break(character)
                || matches!(character, '"' | '\\')
            {
                write_escape(writer, character);
                after_space = false;
            } else if character == ' ' {
                if self.may_fold && !after_space && writer.column > WIDTH && at > 0 && next.is_some() {
                    writer.indent_line();
                    if next == Some(' ') {
                        writer.put('\\');
                    }
                } else {
                    writer.put(' ');
                }
                after_space = true;
            } else {
                writer.put(character);
                after_space = false;
            }
        }
        writer.adjacent("\"");
    }

    fn write_literal(&self, writer: &mut Writer) {
        writer.indicator("|", false);
        if self.value.starts_with([' ', '\n']) {
            writer.adjacent("2");
        }
        if !self.value.ends_with('\n') {
            writer.adjacent("-");
        } else if self.value == "\n" || self.value.ends_with("\n\n") {
            writer.adjacent("+");
        }
        writer.line_break();
        writer.whitespace = true;
        for line in self.value.split_inclusive('\n') {
            let content = line.trim_end_matches('\n');
            if !content.is_empty() {
                writer.indention = true;
                writer.indent_line();
                writer.out.push_str(content);
                writer.column += content.chars().count();
                writer.indention = false;
            }
            if line.ends_with('\n') {
                writer.line_break();
                writer.indention = true;
            }
        }
    }
}

/// The styles in which a text reads back as itself.
struct Allowed {
    plain: bool,
    single_quoted: bool,
    block: bool,
}

impl Allowed {
    fn of(text: &str) -> Self {
        let printable = text.chars().all(is_printable);
        Self {
            plain: printable && !text.starts_with(' ') && !text.ends_with(' ') && !has_indicators(text),
            single_quoted: printable,
            block: printable && !text.ends_with(' ') && !text.contains(" \n"),
        }
    }
}

/// Whether a text has what would be punctuation if it were not in quotes.
fn has_indicators(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let mut characters = text.chars().peekable();
    let mut before = None;
    while let Some(character) = characters.next() {
        let before_space = characters.peek().is_none_or(|next| *next == ' ');
        let found = match character {
            ':' => before_space,
            '#' => before.is_none_or(|before| before == ' '),
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                before.is_none()
            }
            '?' | '-' => before.is_none() && before_space,
            _ => false,
        };
        if found {
            return true;
        }
        before = Some(character);
    }
    false
}

/// The line breaks of YAML 1.1.
fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Characters above U+FFFF are escaped, too: go-yaml's table ends there.
///
/// U+2028 and U+2029 are not: go-yaml would write them as line breaks, with an indentation after them that parsers of
/// YAML 1.2, such as ours, take for a part of the text.
fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn write_escape(writer: &mut Writer, character: char) {
    let code = u32::from(character);
    let escape = match character {
        '\0' => "\\0".to_owned(),
        '\u{7}' => "\\a".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\t' => "\\t".to_owned(),
        '\n' => "\\n".to_owned(),
        '\u{b}' => "\\v".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\r' => "\\r".to_owned(),
        '\u{1b}' => "\\e".to_owned(),
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\u{85}' => "\\N".to_owned(),
        '\u{a0}' => "\\_".to_owned(),
        '\u{2028}' => "\\L".to_owned(),
        '\u{2029}' => "\\P".to_owned(),
        _ if code <= 0xff => format!("\\x{code:02X}"),
        _ if code <= 0xffff => format!("\\u{code:04X}"),
        _ => format!("\\U{code:08X}"),
    };
    writer.adjacent(&escape);
}

/// Whether other parsers of YAML 1.1 would take a text for a number in base 60, such as `12:30:45`.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let leads =
        parts.next().is_some_and(|first| first.starts_with(|c: char| c.is_ascii_digit()) && digits(first));
    let mut rest = parts.peekable();
    leads
        && rest.peek().is_some()
        && rest.all(|part| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']))
        && digits(fraction)
}
