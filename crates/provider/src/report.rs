//! Turns outcomes into the diagnostics that Terraform shows.

use diag::Diagnostic;

use crate::codes;

/// The warning that a plan could not preview an apply, from the error of an unavailable server.
pub(crate) fn no_preview(error: Diagnostic) -> Diagnostic {
    let warning = Diagnostic::warning(codes::NO_PREVIEW, "Plan: No Preview Possible")
        .detail(format!(
            "{}: {}\n\nWhat the apply will do is not known. If this happens during an apply, Terraform reports an inconsistent plan \
             and leaves the object as it is; apply again then.",
            error.summary, error.detail
        ))
        .hint("Plan again once the server has recovered, to see the changes before they are applied.");
    Diagnostic { object: error.object, ..warning }
}

/// The same diagnostic under the title that users of the Go provider know; its old title begins the text.
pub(crate) fn titled(mut diagnostic: Diagnostic, title: &str) -> Diagnostic {
    let summary = sentence(&std::mem::replace(&mut diagnostic.summary, title.to_owned()));
    diagnostic.detail =
        if diagnostic.detail.is_empty() { summary } else { format!("{summary} {}", diagnostic.detail) };
    diagnostic
}

/// A summary as a sentence. A leading field name keeps its spelling.
fn sentence(summary: &str) -> String {
    const FIELDS: [&str; 4] = ["kind", "metadata", "patch", "cluster"];
    let first = summary.split(' ').next().unwrap_or_default();
    let is_name = |letter: char| matches!(letter, '.' | '_' | '[' | '`') || letter.is_ascii_uppercase();
    if first.contains(is_name) || FIELDS.contains(&first) {
        return format!("{summary}.");
    }
    let mut letters = summary.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_title_keeps_the_text() {
        let finding =
            Diagnostic::error(codes::INVALID_YAML, "this is not valid YAML").detail("Line 3 ends early.");
        let shown = titled(finding, "Invalid YAML");
        assert_eq!(shown.summary, "Invalid YAML");
        assert_eq!(shown.detail, "This is not valid YAML. Line 3 ends early.");
    }

    #[test]
    fn field_names_keep_their_spelling() {
        let check = |summary: &str, expected: &str| assert_eq!(sentence(summary), expected);
        check("metadata.name is missing", "metadata.name is missing.");
        check("yaml_body holds no object", "yaml_body holds no object.");
        check("apiVersion is malformed", "apiVersion is malformed.");
        check("kind is missing", "kind is missing.");
        check("spec.containers[0] has no name", "spec.containers[0] has no name.");
        check("the key `a` is given twice", "The key `a` is given twice.");
        check("Wait: Namespace Not Found", "Wait: Namespace Not Found.");
    }
}
