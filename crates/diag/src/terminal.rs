//! Diagnostics for a person at a terminal: rustc's look where there is a source, wrapped prose where there is none.

use std::fmt::Write as _;
use std::ops::Range;

use annotate_snippets::renderer::{AnsiColor, Effects, Style};
use annotate_snippets::{AnnotationKind, Group, Level, Snippet};

use crate::{Code, Diagnostic, Location, Severity, Source};

const HINT: Style = AnsiColor::Cyan.on_default().effects(Effects::BOLD);

/// How wide prose may become on a very wide terminal: longer lines are hard to read.
const MOST_PROSE: usize = 100;

/// Turns diagnostics into text for a terminal.
///
/// The text is readable without colour; a stream that strips escapes (anstream) decides whether colour is shown.
#[derive(Clone, Copy, Debug)]
pub struct Renderer {
    width: usize,
    styled: bool,
}

impl Renderer {
    pub const fn plain(width: usize) -> Self {
        Self { width, styled: false }
    }

    pub const fn styled(width: usize) -> Self {
        Self { width, styled: true }
    }

    /// The diagnostic as text, ending in a line break.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        let mut out = self.headline(diagnostic);
        out.push('\n');
        if diagnostic.location.is_none() {
            for (name, value) in about(diagnostic) {
                self.prose(&mut out, Lead::plain(&format!("  {name}: "), "    "), value);
            }
        }
        if !diagnostic.detail.is_empty() {
            out.push('\n');
            self.prose(&mut out, Lead::plain("  ", "  "), &diagnostic.detail);
        }
        for (word, text) in [("hint", &diagnostic.hint), ("help", &diagnostic.help)] {
            if let Some(text) = text {
                out.push('\n');
                self.prose(&mut out, Lead { word, style: HINT, first: ": ", rest: "      " }, text);
            }
        }
        out
    }

    /// The entry of a code: paragraphs fit the width, indented examples stay as they are.
    pub fn entry(&self, code: Code) -> String {
        let mut out = String::new();
        for paragraph in code.entry().split("\n\n") {
            if !out.is_empty() {
                out.push('\n');
            }
            if paragraph.starts_with("    ") {
                out.push_str(paragraph);
            } else {
                let prose = paragraph.replace("\n* ", "\r* ").replace('\n', " ").replace('\r', "\n");
                out.push_str(&wrap(&prose, self.width.min(MOST_PROSE)));
            }
            out.push('\n');
        }
        out
    }

    /// The title and, where there is a source, its lines with their markers and what they are about.
    fn headline(&self, diagnostic: &Diagnostic) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        // "error[code]: " precedes the first line, and annotate-snippets indents the others accordingly.
        let indent = diagnostic.severity.word().len() + diagnostic.code.name().len() + 4;
        // Where too little is left beside it, the terminal's own line break reads better than a narrow column.
        let room = self.width.saturating_sub(indent);
        let title = if room < 40 { diagnostic.summary.clone() } else { wrap(&diagnostic.summary, room) };
        let mut group = Group::with_title(level.primary_title(title).id(diagnostic.code.name()));
        for snippet in snippets(diagnostic) {
            group = group.element(snippet);
        }
        if diagnostic.location.is_some() {
            for (name, value) in about(diagnostic) {
                group = group.element(Level::NOTE.with_name(name).message(value));
            }
        }
        let renderer = if self.styled {
            annotate_snippets::Renderer::styled()
        } else {
            annotate_snippets::Renderer::plain()
        };
        renderer.term_width(self.width).render(&[group])
    }

    fn prose(&self, out: &mut String, lead: Lead<'_>, text: &str) {
        let Lead { word, style, first, rest } = lead;
        let indent = (word.len() + first.len()).max(rest.len());
        let width = self.width.min(MOST_PROSE).saturating_sub(indent).max(20);
        for (number, line) in wrap(text, width).lines().enumerate() {
            let line = match number {
                0 if self.styled => format!("{style}{word}{style:#}{first}{line}"),
                0 => format!("{word}{first}{line}"),
                _ => format!("{rest}{line}"),
            };
            let _infallible = writeln!(out, "{}", line.trim_end());
        }
    }
}

/// What precedes the first line of a paragraph, and how far its other lines are indented.
#[derive(Clone, Copy)]
struct Lead<'a> {
    /// The word that is shown in `style`.
    word: &'a str,
    style: Style,
    first: &'a str,
    rest: &'a str,
}

impl<'a> Lead<'a> {
    const fn plain(first: &'a str, rest: &'a str) -> Self {
        Self { word: "", style: Style::new(), first, rest }
    }
}

/// Which object and which field are meant, where that is known.
fn about(diagnostic: &Diagnostic) -> impl Iterator<Item = (&'static str, &str)> {
    let named = [("object", &diagnostic.object), ("field", &diagnostic.field)];
    named.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
}

/// One snippet a source: the place itself and everything related to it in the same text share their lines.
fn snippets(diagnostic: &Diagnostic) -> Vec<Snippet<'_, annotate_snippets::Annotation<'_>>> {
    let primary = diagnostic.location.iter().map(|location| (location, AnnotationKind::Primary));
    let related = diagnostic.related.iter().map(|location| (location, AnnotationKind::Context));
    let mut by_source: Vec<(&Source, Vec<(&Location, AnnotationKind)>)> = Vec::new();
    for (location, kind) in primary.chain(related) {
        match by_source.iter_mut().find(|(source, _)| *source == &location.source) {
            Some((_, places)) => places.push((location, kind)),
            None => by_source.push((&location.source, vec![(location, kind)])),
        }
    }
    by_source
        .into_iter()
        .map(|(source, places)| {
            places.into_iter().fold(
                Snippet::source(source.text()).path(source.name()),
                |snippet, (place, kind)| {
                    let annotation = kind.span(inside(source.text(), place));
                    snippet.annotation(if place.label.is_empty() {
                        annotation
                    } else {
                        annotation.label(place.label.as_str())
                    })
                },
            )
        })
        .collect()
}

/// The bytes to mark, moved onto character boundaries inside the text: a wrong span must not hide the message.
fn inside(text: &str, location: &Location) -> Range<usize> {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(location.span.start);
    start..floor(location.span.end).max(start)
}

/// Breaks every line of `text` at spaces so that it fits `width`; a longer word keeps a line of its own.
fn wrap(text: &str, width: usize) -> String {
    let options = textwrap::Options::new(width)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit);
    text.lines()
        .map(|line| {
            let body = line.trim_start();
            let indent = &line[..line.len() - body.len()];
            textwrap::fill(body, options.clone().initial_indent(indent).subsequent_indent(indent))
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests;
