//! Diagnostics in Terraform's form: a summary, a detail, and the attribute they concern.

use std::fmt::Write;

use diag::{Diagnostic, Severity};

use crate::r#gen::tfplugin6 as proto;
use crate::path::Path;

/// Diagnostics, each with the attribute it concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<(Option<Path>, Diagnostic)>);

impl Diagnostics {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds diagnostics with the paths they have; a single one concerns the whole resource.
    pub fn add(&mut self, others: impl Into<Self>) {
        self.0.extend(others.into().0);
    }

    pub fn add_at(&mut self, path: Path, diagnostic: Diagnostic) {
        self.0.push((Some(path), diagnostic));
    }

    /// Sets `path` where there is none.
    #[must_use]
    pub fn or_at(self, path: &Path) -> Self {
        let located = self.0.into_iter();
        Self(located.map(|(own, diagnostic)| (own.or_else(|| Some(path.clone())), diagnostic)).collect())
    }

    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|(_, diagnostic)| diagnostic.is_error())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Option<&Path>, &Diagnostic)> {
        self.0.iter().map(|(path, diagnostic)| (path.as_ref(), diagnostic))
    }

    pub(crate) fn into_proto(self) -> Vec<proto::Diagnostic> {
        self.0.into_iter().filter_map(|(path, diagnostic)| to_proto(path.as_ref(), diagnostic)).collect()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![(None, diagnostic)])
    }
}

impl From<Box<Diagnostic>> for Diagnostics {
    fn from(diagnostic: Box<Diagnostic>) -> Self {
        Self::from(*diagnostic)
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.into_iter().collect()
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Self {
        Self(diagnostics.into_iter().map(|diagnostic| (None, diagnostic)).collect())
    }
}

impl IntoIterator for Diagnostics {
    type Item = (Option<Path>, Diagnostic);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Terraform has no notes, so they are dropped.
fn to_proto(path: Option<&Path>, diagnostic: Diagnostic) -> Option<proto::Diagnostic> {
    use proto::diagnostic::Severity as Wire;
    let severity = match diagnostic.severity {
        Severity::Error => Wire::Error,
        Severity::Warning => Wire::Warning,
        Severity::Note => return None,
    };
    Some(proto::Diagnostic {
        severity: severity.into(),
        detail: detail(&diagnostic),
        summary: diagnostic.summary,
        attribute: path.filter(|path| !path.is_root()).map(Path::to_proto),
    })
}

/// Summary and detail as one text, for errors that are no diagnostics in the protocol.
pub(crate) fn text(diagnostic: &Diagnostic) -> String {
    format!("{}\n\n{}", diagnostic.summary, detail(diagnostic)).trim_end().to_owned()
}

/// Terraform has one text below the summary, so everything else goes there in paragraphs: detail, location, hint, help.
fn detail(diagnostic: &Diagnostic) -> String {
    let mut place = String::new();
    let mut line = |what: &str, value: &str| {
        writeln!(place, "{what}: {value}").expect("writing to a string does not fail");
    };
    if let Some(object) = &diagnostic.object {
        line("Object", object);
    }
    if let Some(field) = &diagnostic.field {
        line("Field", field);
    }
    for location in diagnostic.location.iter().chain(&diagnostic.related) {
        let at = format!("line {}, column {} of {}", location.position().line, location.position().column, {
            location.source.name()
        });
        // The source text may be secret; its location and label are not.
        line("At", &if location.label.is_empty() { at } else { format!("{at}: {}", location.label) });
    }
    let help = diagnostic.help.as_ref().map(|help| format!("Help: {help}"));
    let paragraphs = [
        diagnostic.detail.trim_end(),
        place.trim_end(),
        diagnostic.hint.as_deref().unwrap_or_default(),
        help.as_deref().unwrap_or_default(),
    ];
    paragraphs.into_iter().filter(|paragraph| !paragraph.is_empty()).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use diag::{Code, Source, Span};

    use super::*;

    const CODE: Code = Code::new("test", "For tests.");

    #[test]
    fn everything_goes_into_the_text_below_the_summary() {
        let source = Source::new("yaml_body", "kind: Pod\ntoken: hunter2\n");
        let diagnostic = Diagnostic::error(CODE, "Invalid YAML")
            .detail("The body is not what it should be.\n")
            .object("Pod shop/web")
            .field("token")
            .at(&source, Span::new(10, 15), "not a field of a Pod")
            .related(&source, Span::new(0, 4), "")
            .hint("Remove the field.")
            .help("kubectl describe pod web");
        let mut diagnostics = Diagnostics::new();
        diagnostics.add_at(Path::of("yaml_body"), diagnostic);
        let wire = diagnostics.into_proto();
        insta::assert_snapshot!(wire[0].detail, @r"
        The body is not what it should be.

        Object: Pod shop/web
        Field: token
        At: line 2, column 1 of yaml_body: not a field of a Pod
        At: line 1, column 1 of yaml_body

        Remove the field.

        Help: kubectl describe pod web
        ");
        assert_eq!(wire[0].summary, "Invalid YAML");
        assert_eq!(wire[0].severity, i32::from(proto::diagnostic::Severity::Error));
        assert_eq!(wire[0].attribute, Some(Path::of("yaml_body").to_proto()));
    }

    #[test]
    fn notes_are_dropped_and_the_resource_itself_has_no_path() {
        let mut diagnostics =
            Diagnostics::from(vec![Diagnostic::note(CODE, "a"), Diagnostic::warning(CODE, "b")]);
        assert!(!diagnostics.has_errors());
        diagnostics.add_at(Path::root(), Diagnostic::error(CODE, "c"));
        assert!(diagnostics.has_errors());
        let wire = diagnostics.into_proto();
        let shown: Vec<_> = wire.iter().map(|d| (d.summary.as_str(), d.attribute.is_some())).collect();
        assert_eq!(shown, [("b", false), ("c", false)]);
    }

    #[test]
    fn a_default_path_does_not_replace_an_existing_one() {
        let mut diagnostics = Diagnostics::from(Diagnostic::error(CODE, "a"));
        diagnostics.add_at(Path::of("own"), Diagnostic::error(CODE, "b"));
        let located = diagnostics.or_at(&Path::of("default"));
        let paths: Vec<_> = located.iter().map(|(path, _)| path.unwrap().to_string()).collect();
        assert_eq!(paths, ["default", "own"]);
    }
}
