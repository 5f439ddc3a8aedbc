//! The words for what can be wrong with a text, each with the place, the reason and what to do.

use diag::{Diagnostic, Source, Span};
use granit_parser::{ErrorKind, ScanError};

use crate::scalar::ScalarError;
use crate::unindented::next_quote;
use crate::{Limits, codes};

/// The parser had to stop at `at`; the last node before that ended at `last_end`.
pub(crate) fn syntax(
    source: &Source,
    part: Span,
    at: usize,
    error: &ScanError,
    last_end: usize,
) -> Diagnostic {
    let here = character_at(source, at);
    match error.kind() {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => Diagnostic::error(codes::TAB, "a tab is used for indentation")
            .at(source, closest_tab(source, part, at), "this is a tab")
            .detail("YAML allows only spaces here.")
            .hint("Replace the tab with spaces."),
        ErrorKind::BomInsideDocument => Diagnostic::error(
            codes::NOT_TEXT,
            "a byte order mark appears inside the text",
        )
        .at(source, here, "the invisible character U+FEFF")
        .detail(
            "It is allowed only at the very beginning; files that were joined often have one in the middle.",
        )
        .hint("Delete the invisible character."),
        kind => {
            let diagnostic = Diagnostic::error(codes::SYNTAX, "this is not valid YAML")
                .at(source, here, error.info())
                .detail(format!("Reading stopped at {}: {}.", source.position(here), error.info()));
            let diagnostic = match open_quote(source, kind, last_end) {
                Some(quote) if quote != here => diagnostic.related(source, quote, "the quote is opened here"),
                _ => diagnostic,
            };
            match syntax_hint(source, kind, at) {
                Some(hint) => diagnostic.hint(hint),
                None => diagnostic,
            }
        }
    }
}

/// The value of a document is complete, but something that is neither a comment nor a new document follows.
pub(crate) fn trailing_content(source: &Source, end: usize, part: Span) -> Diagnostic {
    let rest = &source.text()[end..part.end];
    let skipped = rest.find(|c: char| !c.is_whitespace()).unwrap_or_default();
    Diagnostic::error(codes::SYNTAX, "unexpected content after the end of the document")
        .at(source, character_at(source, end + skipped), "this does not belong to anything before it")
        .detail("A document is one mapping, one list or one scalar; a line that begins with `---` begins the next.")
        .hint("Check the indentation and the colons of the lines before, or separate the documents by `---`.")
}

/// The parser notices a tab when it has passed it, or stops at the beginning of what the tab is part of.
fn closest_tab(source: &Source, part: Span, at: usize) -> Span {
    let line_start =
        source.text()[part.start..at].rfind('\n').map_or(part.start, |newline| part.start + newline);
    let before = source.text()[line_start..at].rfind('\t').map(|offset| line_start + offset);
    let after = || source.text()[at..part.end].find('\t').map(|offset| at + offset);
    character_at(source, before.or_else(after).unwrap_or(at))
}

/// The quote that was not closed, for errors that are only noticed at the end of the text.
fn open_quote(source: &Source, kind: &ErrorKind, last_end: usize) -> Option<Span> {
    let unclosed = matches!(
        kind,
        ErrorKind::UnclosedQuotedScalar
            | ErrorKind::DocumentIndicatorInQuotedScalar
            | ErrorKind::InvalidQuotedScalarIndent
    );
    unclosed.then(|| next_quote(source.text(), last_end)).flatten().map(|quote| character_at(source, quote))
}

fn syntax_hint(source: &Source, kind: &ErrorKind, at: usize) -> Option<&'static str> {
    let line_start = source.text()[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = source.text()[line_start..].lines().next().unwrap_or_default();
    if line.contains("{{") && line.contains("}}") {
        return Some("Render the template first: `{{ … }}` is not YAML.");
    }
    match kind {
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping => Some("Close the bracket."),
        ErrorKind::UnclosedQuotedScalar
        | ErrorKind::DocumentIndicatorInQuotedScalar
        | ErrorKind::InvalidQuotedScalarIndent => {
            Some("Close the quote, or indent the lines that belong to the text.")
        }
        ErrorKind::MappingValueNotAllowed => {
            Some("Put a text that contains `: ` in quotes, or begin the inner mapping on a line of its own.")
        }
        ErrorKind::UnexpectedCharacter { .. } => {
            Some("Put a text that begins with this character in quotes.")
        }
        ErrorKind::UnknownQuotedScalarEscape | ErrorKind::InvalidQuotedScalarHexEscape => {
            Some("Write a backslash as `\\\\`, or use single quotes, in which it means itself.")
        }
        ErrorKind::InvalidIndentation
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::InvalidBlockScalarIndent => Some("Align the line with the one it belongs to."),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            Some("Write `key: value`; a colon, or the space after it, is missing.")
        }
        _ => None,
    }
}

pub(crate) fn too_deep(source: &Source, span: Span, limits: &Limits) -> Diagnostic {
    Diagnostic::error(codes::LIMIT, format!("the document is nested more than {} levels deep", limits.depth))
        .at(source, span, "one level too many")
        .detail("Every mapping and every list inside another is a level; Kubernetes objects have a few dozen at most.")
        .hint("Check the file that was given; brackets may be unbalanced.")
}

pub(crate) fn too_many_nodes(source: &Source, span: Span, limits: &Limits) -> Diagnostic {
    Diagnostic::error(codes::LIMIT, format!("the document has more than {} keys and values", limits.nodes))
        .at(source, span, "one too many")
        .hint("Divide the document.")
}

pub(crate) fn too_many_aliases(source: &Source, span: Span, limits: &Limits) -> Diagnostic {
    Diagnostic::error(
        codes::LIMIT,
        format!("the aliases of the document stand for more than {} keys and values", limits.alias_nodes),
    )
    .at(source, span, "this alias exceeds the limit")
    .detail(
        "Aliases of nodes that contain aliases multiply; a few lines can ask for more than any memory holds.",
    )
    .hint("Expand the aliases, or use fewer of them.")
}

pub(crate) fn too_many_bytes(source: &Source, limits: &Limits) -> Diagnostic {
    Diagnostic::error(codes::LIMIT, format!("{} is larger than {} bytes", source.name(), limits.bytes))
        .detail(format!(
            "It has {} bytes. An API server takes objects of up to 1.5 MiB.",
            source.text().len()
        ))
        .hint("Check the file that was given, or divide it.")
}

pub(crate) fn too_many_documents(source: &Source, span: Span, limits: &Limits) -> Diagnostic {
    Diagnostic::error(codes::LIMIT, format!("{} has more than {} documents", source.name(), limits.documents))
        .at(source, span, "one too many")
        .hint("Divide the file.")
}

pub(crate) fn unknown_anchor(source: &Source, span: Span, name: &str) -> Diagnostic {
    Diagnostic::error(codes::ALIAS, format!("there is no anchor for the alias `*{name}`"))
        .at(source, span, "no anchor of this name before this place")
        .detail("Anchors are known from where they stand to the end of their document, not in the documents after it.")
        .hint(format!("Define `&{name}` earlier in the same document, or put a text that begins with `*` in quotes."))
}

pub(crate) fn recursive_alias(source: &Source, alias: Span, anchored: Span) -> Diagnostic {
    Diagnostic::error(codes::ALIAS, "an alias appears inside what it refers to")
        .at(source, alias, "refers to the node it is part of")
        .related(source, anchored, "the anchored node")
        .detail("The value would contain itself without end.")
        .hint("Write out the part that is meant.")
}

pub(crate) fn bad_merge(source: &Source, span: Span) -> Diagnostic {
    Diagnostic::error(codes::MERGE_KEY, "the value of a merge key is not a mapping")
        .at(source, span, "expected a mapping, an alias of one, or a list of these")
        .hint("Give `<<` a mapping, or put it in quotes if it is meant as an ordinary key.")
}

pub(crate) fn duplicate_key(source: &Source, key: &str, again: Span, first: Span) -> Diagnostic {
    Diagnostic::error(codes::DUPLICATE_KEY, format!("the key `{key}` is given twice"))
        .at(source, again, "given again here")
        .related(source, first, "first given here")
        .detail(format!(
            "It is on line {} and again on line {}. One of the two values would be lost.",
            source.position(first).line,
            source.position(again).line
        ))
        .hint("Remove or rename one of the two.")
}

pub(crate) fn collection_key(source: &Source, span: Span) -> Diagnostic {
    Diagnostic::error(codes::INVALID_KEY, "a list or a mapping is used as a key")
        .at(source, span, "expected a text")
        .detail("The keys of a Kubernetes object are texts. An unquoted `{{ … }}` of a template is read as mappings, too.")
        .hint("Put the key in quotes, or render the template first.")
}

pub(crate) fn scalar(source: &Source, span: Span, error: ScalarError) -> Diagnostic {
    match error {
        ScalarError::TagMismatch => Diagnostic::error(codes::SCALAR, "a value is not what its tag says")
            .at(source, span, "does not fit the tag in front of it")
            .hint("Correct the value, or remove the tag (`!!…`)."),
        ScalarError::NotBase64 => Diagnostic::error(codes::SCALAR, "a `!!binary` value is not base64")
            .at(source, span, "not base64")
            .hint("Correct the value; a Secret's data needs no tag, only base64."),
        ScalarError::NotFinite => {
            Diagnostic::error(codes::SCALAR, "a value is infinite or not a number, which JSON cannot hold")
                .at(source, span, "read as a number")
                .hint("Put it in quotes if it is meant as text.")
        }
        ScalarError::NullKey => Diagnostic::error(codes::INVALID_KEY, "a key is null")
            .at(source, span, "read as null")
            .hint("Put it in quotes if it is meant as text, or write the missing key."),
        ScalarError::HugeKey => Diagnostic::error(codes::INVALID_KEY, "a key is a number above 2⁶³")
            .at(source, span, "read as a number")
            .hint("Put it in quotes if it is meant as text."),
    }
}

/// The one character at `at`, or nothing at the end of the text.
pub(crate) fn character_at(source: &Source, at: usize) -> Span {
    let length = source.text()[at..].chars().next().map_or(0, char::len_utf8);
    Span::new(at, at + length)
}

pub(crate) fn forbidden_character(source: &Source, span: Span) -> Diagnostic {
    let character = source.text()[span.start..].chars().next().unwrap_or_default();
    Diagnostic::error(codes::NOT_TEXT, "the text has a character that YAML does not allow")
        .at(source, span, format!("the character U+{:04X}", u32::from(character)))
        .detail(format!(
            "U+{:04X} at {} is a control character; usually a binary file was given.",
            u32::from(character),
            source.position(span)
        ))
        .hint("Check that the right file was given; inside double quotes such a character is written `\\x…`.")
}

pub(crate) fn empty(source: &Source) -> Diagnostic {
    Diagnostic::error(codes::EMPTY, format!("{} holds no object", source.name()))
        .at(source, Span::new(0, 0), "nothing but comments and separators from here on")
        .hint("Write an object; it begins with `apiVersion` and `kind`.")
}

pub(crate) fn several_documents(source: &Source, documents: &[Span]) -> Diagnostic {
    let count = documents.len();
    let mut diagnostic = Diagnostic::error(
        codes::SEVERAL_DOCUMENTS,
        format!("{} holds {count} documents, but one is wanted", source.name()),
    )
    .detail("Documents are separated by lines that begin with `---`.")
    .hint("Leave one document, or divide the text first.");
    if let [first, second, ..] = documents {
        diagnostic = diagnostic
            .at(source, first_line(source, *second), "the second document begins here")
            .related(source, first_line(source, *first), "the first document begins here");
    }
    diagnostic
}

/// The first line of a span that is longer.
fn first_line(source: &Source, span: Span) -> Span {
    let length = source.text()[span.start..span.end].lines().next().map_or(0, str::len);
    Span::new(span.start, span.start + length)
}
