//! The diagnostic itself: everything a person needs to know about one finding, as data.

use crate::{Code, Location, Source, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing needs to be done.
    Note,
    /// The work goes on, but the outcome may surprise.
    Warning,
    /// The work did not happen.
    Error,
}

impl Severity {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One finding: what (summary), where (object, field, location), why (detail) and what to do (hint, help).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: Code,
    /// What, in one line without a full stop.
    pub summary: String,
    /// Why, in sentences; empty when the summary says it all. Line breaks are kept.
    pub detail: String,
    /// The Kubernetes object it is about, as people name it: `Deployment shop/web`.
    pub object: Option<String>,
    /// The field it is about, as people write it: `spec.replicas`.
    pub field: Option<String>,
    pub location: Option<Location>,
    /// Further places that explain the first, such as an earlier definition.
    pub related: Vec<Location>,
    /// What to do, as a sentence.
    pub hint: Option<String>,
    /// Where to read on, usually a command. By default the one that prints the entry of a code that has more to say.
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn error(code: Code, summary: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, summary)
    }

    pub fn warning(code: Code, summary: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, summary)
    }

    pub fn note(code: Code, summary: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, summary)
    }

    pub fn new(severity: Severity, code: Code, summary: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            summary: summary.into(),
            detail: String::new(),
            object: None,
            field: None,
            location: None,
            related: Vec::new(),
            hint: None,
            help: code.explain_command(),
        }
    }

    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    #[must_use]
    pub fn object(mut self, object: impl Into<String>) -> Self {
        self.object = Some(object.into());
        self
    }

    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Points to `span` of `source`, with `label` beside the marker.
    #[must_use]
    pub fn at(mut self, source: &Source, span: Span, label: impl Into<String>) -> Self {
        self.location = Some(Location { source: source.clone(), span, label: label.into() });
        self
    }

    /// Points to a further place, such as an earlier definition.
    #[must_use]
    pub fn related(mut self, source: &Source, span: Span, label: impl Into<String>) -> Self {
        self.related.push(Location { source: source.clone(), span, label: label.into() });
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
