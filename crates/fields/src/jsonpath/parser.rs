//! Reads a template; each rule is client-go's (`parser.go`), the odd ones too.

use super::error::ParseError;
use super::node::{Comparison, Filter, Node, Operator, Part};
use super::quote::unquote;
use super::slice::{End, Slice};

/// How deep filters, unions and quoted keys may be nested; real paths stay below four.
const MAX_DEPTH: usize = 32;

/// Parses text and actions.
pub(super) fn parse(template: &str) -> Result<Vec<Part>, ParseError> {
    parse_at(template, 0)
}

fn parse_at(template: &str, depth: usize) -> Result<Vec<Part>, ParseError> {
    if depth > MAX_DEPTH {
        return Err(ParseError::TooDeep);
    }
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((text, action)) = rest.split_once('{') {
        if !text.is_empty() {
            parts.push(Part::Text(text.to_owned()));
        }
        let mut scanner = Scanner { rest: action, depth, nodes: Vec::new() };
        scanner.action()?;
        parts.push(Part::Action(scanner.nodes));
        rest = scanner.rest;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(parts)
}

/// Parses `inner` as an action of its own, for what stands in brackets. Text behind a closing brace in it is
/// parsed and forgotten, as in client-go.
fn parse_inner(inner: &str, depth: usize) -> Result<Vec<Node>, ParseError> {
    let parts = parse_at(&format!("{{{inner}}}"), depth + 1)?;
    match parts.into_iter().next() {
        Some(Part::Action(nodes)) => Ok(nodes),
        _ => unreachable!("a template that begins with a brace begins with an action"),
    }
}

/// Reads one action, from behind its opening brace.
struct Scanner<'t> {
    rest: &'t str,
    depth: usize,
    nodes: Vec<Node>,
}

impl<'t> Scanner<'t> {
    fn action(&mut self) -> Result<(), ParseError> {
        loop {
            if self.skip("}") {
                return Ok(());
            }
            if self.skip("[?(") {
                self.filter()?;
                continue;
            }
            if self.skip("..") {
                self.recursive()?;
                continue;
            }
            let Some(character) = self.rest.chars().next() else {
                return Err(ParseError::UnclosedAction);
            };
            let behind = &self.rest[character.len_utf8()..];
            match character {
                '\r' | '\n' => return Err(ParseError::UnclosedAction),
                // The current object is what every action starts from, so its names say nothing.
                ' ' | '@' | '$' => self.rest = behind,
                '[' => {
                    self.rest = behind;
                    self.brackets()?;
                }
                '"' | '\'' => self.quoted(character)?,
                '.' => {
                    self.rest = behind;
                    self.field();
                }
                '+' | '-' => self.number()?,
                _ if is_digit(character) => self.number()?,
                _ if is_word(character) => self.identifier(),
                _ => return Err(ParseError::UnrecognizedCharacter(character)),
            }
        }
    }

    /// Passes over `prefix` if the rest begins with it.
    fn skip(&mut self, prefix: &str) -> bool {
        self.rest.strip_prefix(prefix).map(|rest| self.rest = rest).is_some()
    }

    /// Takes the next `length` bytes.
    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn recursive(&mut self) -> Result<(), ParseError> {
        if self.nodes.last() == Some(&Node::Recursive) {
            return Err(ParseError::MultipleRecursiveDescent);
        }
        self.nodes.push(Node::Recursive);
        if self.rest.starts_with(is_word) {
            self.field();
        }
        Ok(())
    }

    /// A name up to the next character that ends one; a backslash takes away what the next character means.
    fn field(&mut self) {
        let mut escaped = false;
        let end = self.rest.find(|character| {
            let ends = !escaped && is_terminator(character);
            escaped = !escaped && character == '\\';
            ends
        });
        let name = self.take(end.unwrap_or(self.rest.len()));
        self.nodes.push(match name {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        });
    }

    fn identifier(&mut self) {
        let end = self.rest.find(is_terminator).unwrap_or(self.rest.len());
        let name = self.take(end);
        self.nodes.push(match name {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            name => Node::Identifier(name.to_owned()),
        });
    }

    fn number(&mut self) -> Result<(), ParseError> {
        let digits = self.rest.strip_prefix(['+', '-']).unwrap_or(self.rest);
        let behind = digits.trim_start_matches(|character| character == '.' || is_digit(character));
        let text = self.take(self.rest.len() - behind.len());
        let node = match text.parse() {
            Ok(int) => Node::Int(int),
            Err(_) => match text.parse() {
                Ok(float) if f64::is_finite(float) => Node::Float(float),
                _ => return Err(ParseError::Number(text.to_owned())),
            },
        };
        self.nodes.push(node);
        Ok(())
    }

    fn quoted(&mut self, quote: char) -> Result<(), ParseError> {
        let mut previous = quote;
        let mut closing = None;
        for (at, character) in self.rest.char_indices().skip(1) {
            match character {
                '\n' => break,
                // A backslash before it keeps a quote open, even one that is escaped itself.
                _ if character == quote && previous != '\\' => {
                    closing = Some(at);
                    break;
                }
                _ => previous = character,
            }
        }
        let Some(closing) = closing else {
            return Err(ParseError::UnterminatedQuote);
        };
        let text = self.take(closing + 1);
        let inner = &text[1..closing];
        self.nodes
            .push(Node::Text(unquote(inner, quote).ok_or_else(|| ParseError::Unquote(text.to_owned()))?));
        Ok(())
    }

    /// What stands between `[` and `]`: a union, a quoted key, an index or a slice.
    fn brackets(&mut self) -> Result<(), ParseError> {
        let end = self.rest.find([']', '\n']).filter(|end| self.rest[*end..].starts_with(']'));
        let Some(end) = end else {
            return Err(ParseError::UnterminatedArray);
        };
        let text = self.take(end);
        self.skip("]");
        if text.contains(',') {
            let members = text.split(',').map(|member| {
                let member = member.trim_matches(' ');
                parse_inner(&format!("[{member}]"), self.depth)
            });
            let members = members.collect::<Result<_, _>>()?;
            self.nodes.push(Node::Union(members));
        } else if let Some(key) = quoted_key(text) {
            // Dots in a quoted key separate names like everywhere else, unless they are escaped.
            self.nodes.extend(parse_inner(&format!(".{key}"), self.depth)?);
        } else {
            self.nodes.push(Node::Slice(slice(text)?));
        }
        Ok(())
    }

    fn filter(&mut self) -> Result<(), ParseError> {
        let text = self.filter_text()?;
        let node = match split_comparison(text) {
            None => Filter { left: parse_inner(text, self.depth)?, comparison: None },
            Some((left, operator, right)) => Filter {
                left: parse_inner(left, self.depth)?,
                comparison: Some(Comparison {
                    operator: Operator::named(operator),
                    right: parse_inner(right, self.depth)?,
                }),
            },
        };
        self.nodes.push(Node::Filter(node));
        Ok(())
    }

    /// The text of a filter up to the `)]` that ends it. One quoted string in it may contain a `)`.
    fn filter_text(&mut self) -> Result<&'t str, ParseError> {
        let mut quote = None;
        let mut quote_closed = false;
        let mut previous = '(';
        for (at, character) in self.rest.char_indices() {
            match (character, quote) {
                ('\n', _) => break,
                ('"' | '\'', None) => quote = Some(character),
                ('"' | '\'', Some(open)) if character == open && previous != '\\' => quote_closed = true,
                (')', _) if quote.is_some() == quote_closed => {
                    let text = self.take(at);
                    self.skip(")");
                    return if self.skip("]") { Ok(text) } else { Err(ParseError::UnclosedFilter) };
                }
                _ => {}
            }
            previous = character;
        }
        Err(ParseError::UnterminatedFilter)
    }
}

/// The key in `'key'`.
fn quoted_key(text: &str) -> Option<&str> {
    let key = text.strip_prefix('\'')?.strip_suffix('\'')?;
    (!key.contains('\'')).then_some(key)
}

fn slice(text: &str) -> Result<Slice, ParseError> {
    let text = if text == "*" { ":" } else { text };
    let is_index =
        |part: &str| part.strip_prefix('-').unwrap_or(part).bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.splitn(4, ':').collect();
    if parts.len() > 3 || !parts.iter().all(|part| is_index(part)) {
        return Err(ParseError::ArrayIndex(text.to_owned()));
    }
    let number = |part: usize| match parts.get(part) {
        None | Some(&"") => Ok(None),
        Some(digits) => {
            let parsed = digits.parse().map_err(|_| ParseError::ArrayIndexNumber((*digits).to_owned()));
            parsed.map(Some)
        }
    };
    let start = number(0)?;
    let end = if parts.len() == 1 { End::AfterStart } else { number(1)?.map_or(End::OfList, End::At) };
    Ok(Slice { start, end, step: number(2)? })
}

/// Splits a filter at its first run of operator characters; both sides must have something in them, for which a run
/// at the very end gives up its last character.
fn split_comparison(text: &str) -> Option<(&str, &str, &str)> {
    let operator_characters = ['!', '<', '>', '='];
    let start = text.find(operator_characters).filter(|start| *start > 0)?;
    let (left, rest) = text.split_at(start);
    let right = rest.trim_start_matches(operator_characters);
    let length = rest.len() - right.len().max(1);
    (length > 0).then(|| (left, &rest[..length], &rest[length..]))
}

/// Whether the character ends a name.
fn is_terminator(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

/// Whether a word may begin with the character. Go counts letters and decimal digits only; the few marks and numerals
/// that count here besides make an unknown word instead of an unknown character.
fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn is_digit(character: char) -> bool {
    character.is_numeric()
}
