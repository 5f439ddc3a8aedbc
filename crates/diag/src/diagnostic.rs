//! The diagnostic itself: everything a person needs to know about one finding, as data.

use crate::{Code, Location, Source, Span};

/// How serious a finding is.
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
    /// The word shown to people: `error`, `warning` or `note`.
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
    /// How serious it is.
    pub severity: Severity,
    /// The stable name of this kind of finding.
    pub code: Code,
    /// What, in one line without a full stop.
    pub summary: String,
    /// Why, in sentences; empty when the summary says it all. Line breaks are kept.
    pub detail: String,
    /// The Kubernetes object it is about, as people name it: `Deployment shop/web`.
    pub object: Option<String>,
    /// The field it is about, as people write it: `spec.replicas`.
    pub field: Option<String>,
    /// The place in a source it points to.
    pub location: Option<Location>,
    /// Further places that explain the first, such as an earlier definition.
    pub related: Vec<Location>,
    /// What to do, as a sentence.
    pub hint: Option<String>,
    /// Where to read on: a link or a command.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error: the work did not happen.
    pub fn error(code: Code, summary: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, summary)
    }

    /// A warning: the work goes on, but the outcome may surprise.
    pub fn warning(code: Code, summary: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, summary)
    }

    /// A note: worth knowing, nothing to do.
    pub fn note(code: Code, summary: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, summary)
    }

    /// A diagnostic that says only `summary` so far.
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
            help: None,
        }
    }

    /// Says why.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Says which object.
    #[must_use]
    pub fn object(mut self, object: impl Into<String>) -> Self {
        self.object = Some(object.into());
        self
    }

    /// Says which field.
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

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says where to read on.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Whether the work did not happen.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
