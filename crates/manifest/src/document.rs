//! One document: the value it stands for and where each part of it was written.

use std::fmt;

use diag::{Source, Span};
use serde_json::Value;

use crate::spans::{Spans, Step};

/// One YAML or JSON document that could be read.
pub struct Document {
    pub(crate) source: Source,
    pub(crate) number: usize,
    pub(crate) span: Span,
    pub(crate) value: Value,
    pub(crate) spans: Spans,
}

impl Document {
    /// What the document stands for, as a Kubernetes API server would read it: whole numbers are integers.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value alone.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// The text the document is part of.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Which document of its source this is, from 1; empty ones do not count.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The bytes of the document in its source, from its `---` or first character to where the next begins.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The document as it was written.
    pub fn text(&self) -> &str {
        &self.source.text()[self.span.start..self.span.end]
    }

    /// Where the value at `path` stands; the empty path is the whole value.
    pub fn value_span(&self, path: &[Step<'_>]) -> Option<Span> {
        self.spans.value(self.source.text(), path)
    }

    /// Where the key of the value at `path` stands; items of a list have none.
    pub fn key_span(&self, path: &[Step<'_>]) -> Option<Span> {
        self.spans.key(self.source.text(), path)
    }

    /// Where to point for `path` even if it does not exist: its key, its value, or the closest parent that has one.
    pub fn closest_span(&self, path: &[Step<'_>]) -> Span {
        (0..=path.len())
            .rev()
            .find_map(|length| self.key_span(&path[..length]).or_else(|| self.value_span(&path[..length])))
            .unwrap_or(self.span)
    }
}

/// Leaves the value out: it may be a Secret.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Document({} of {}, {} bytes)",
            self.number,
            self.source.name(),
            self.span.end - self.span.start
        )
    }
}
