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

    /// Writes a plain or single-quoted text. A line break, which is only in the latter, is written twice, because
    /// folding takes one away.
    fn write_folded(&self, writer: &mut Writer, quoted: bool) {
        let mut after_space = false;
        let mut after_break = false;
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
                after_space = true;
            } else if is_break(character) {
                if !after_break && character == '\n' {
                    writer.line_break();
                }
                write_break(writer, character);
                writer.indention = true;
                after_break = true;
            } else {
                if after_break {
                    writer.indent_line();
                }
                if quoted && character == '\'' {
                    writer.put('\'');
                }
                writer.put(character);
                writer.indention = false;
                after_space = false;
                after_break = false;
            }
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
        if self.value.starts_with(|first| first == ' ' || is_break(first)) {
            writer.adjacent("2");
        }
        let mut from_the_end = self.value.chars().rev();
        match (from_the_end.next(), from_the_end.next()) {
            (Some(last), before) if is_break(last) => {
                if before.is_none_or(is_break) {
                    writer.adjacent("+");
                }
            }
            _ => writer.adjacent("-"),
        }
        writer.line_break();
        writer.indention = true;
        writer.whitespace = true;
        let mut after_break = true;
        for character in self.value.chars() {
            if is_break(character) {
                write_break(writer, character);
                writer.indention = true;
                after_break = true;
            } else {
                if after_break {
                    writer.indent_line();
                }
                writer.put(character);
                writer.indention = false;
                after_break = false;
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
        let (Some(first), Some(last)) = (text.chars().next(), text.chars().next_back()) else {
            return Self { plain: true, single_quoted: true, block: false };
        };
        let adjacent = |before: fn(char) -> bool, after: fn(char) -> bool| {
            text.chars().zip(text.chars().skip(1)).any(|(a, b)| before(a) && after(b))
        };
        let is_space = |character| character == ' ';
        let unprintable = !text.chars().all(is_printable);
        let break_space = adjacent(is_break, is_space);
        let space_break = adjacent(is_space, is_break);
        let at_an_end = [first, last].into_iter().any(|end| is_space(end) || is_break(end));
        Self {
            plain: !(at_an_end
                || break_space
                || space_break
                || unprintable
                || text.contains(is_break)
                || has_indicators(text)),
            single_quoted: !(break_space || space_break || unprintable),
            block: !(is_space(last) || space_break || unprintable),
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
        let before_blank = characters.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
        let found = match character {
            ':' => before_blank,
            '#' => before.is_none_or(|before| matches!(before, ' ' | '\t' | '\0') || is_break(before)),
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                before.is_none()
            }
            '?' | '-' => before.is_none() && before_blank,
            _ => false,
        };
        if found {
            return true;
        }
        before = Some(character);
    }
    false
}

/// YAML 1.1 has two more line breaks than Unicode's usual ones in texts, and keeps them.
fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Characters above U+FFFF are escaped, too: go-yaml's table ends there.
fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{fffd}') && character != '\u{feff}'
}

fn write_break(writer: &mut Writer, character: char) {
    if character == '\n' {
        writer.line_break();
    } else {
        writer.out.push(character);
        writer.column = 0;
    }
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
