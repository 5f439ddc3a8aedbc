//! Splits a text into single manifests, each with a key that is stable for the object.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use diag::{Diagnostic, Source, Span};
use manifest::{Limits, Step};
use serde_json::Value;

use crate::codes;
use crate::report::titled;

/// The title that users know for every text that cannot be split.
pub(super) const LOADING: &str = "Document Loading Error";

/// A manifest, as it was written.
#[derive(Clone)]
pub(super) struct Manifest {
    /// `[group.]kind[.namespace].name`, group and kind in lower case.
    pub(super) key: String,
    pub(super) text: String,
    pub(super) group: String,
    pub(super) kind: String,
    place: Place,
}

#[derive(Clone)]
struct Place {
    source: Source,
    number: usize,
    span: Span,
}

/// The manifests of a text; comments alone are not one. `source` may have any number of documents.
pub(super) fn split(source: &Source) -> Result<Vec<Manifest>, Vec<Diagnostic>> {
    let mut manifests = Vec::new();
    let mut problems = Vec::new();
    for (index, part) in parts(source.text()).into_iter().enumerate() {
        let number = index + 1;
        match read(source, part, number) {
            Ok(manifest) => manifests.push(manifest),
            Err(found) => problems.extend(found.into_iter().map(|mut problem| {
                problem = titled(problem, LOADING);
                problem.detail = format!("Document {number} of {}: {}", source.name(), problem.detail);
                problem
            })),
        }
    }
    if problems.is_empty() { Ok(manifests) } else { Err(problems) }
}

/// The manifests by key; `title` is the title of the error about duplicate keys.
pub(super) fn by_key(
    manifests: Vec<Manifest>,
    title: &str,
) -> Result<BTreeMap<String, Manifest>, Box<Diagnostic>> {
    let mut all: BTreeMap<String, Manifest> = BTreeMap::new();
    for manifest in manifests {
        match all.get(&manifest.key) {
            Some(first) => return Err(Box::new(duplicate(first, &manifest, title))),
            None => _ = all.insert(manifest.key.clone(), manifest),
        }
    }
    Ok(all)
}

fn duplicate(first: &Manifest, second: &Manifest, title: &str) -> Diagnostic {
    let place = |manifest: &Manifest| {
        format!("document {} of {}", manifest.place.number, manifest.place.source.name())
    };
    Diagnostic::error(codes::DUPLICATE_MANIFEST, title)
        .detail(format!(
            "duplicate resource ID {:?}\n\nThe same object is in {} and in {}.",
            second.key,
            place(first),
            place(second)
        ))
        .at(&second.place.source, second.place.span, "again")
        .related(&first.place.source, first.place.span, "first")
        .hint("Remove one of them, or give them different names or namespaces.")
}

/// The byte ranges between lines of `---`, trimmed, without empty ones.
fn parts(text: &str) -> Vec<Span> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if is_separator(line) {
            parts.push(Span::new(start, at));
            start = at + line.len();
        }
        at += line.len();
    }
    parts.push(Span::new(start, at));
    parts
        .into_iter()
        .map(|part| trimmed(text, part))
        .filter(|part| has_content(&text[part.start..part.end]))
        .collect()
}

fn is_separator(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| {
        let rest = rest.trim();
        rest.is_empty() || rest.starts_with('#')
    })
}

fn trimmed(text: &str, part: Span) -> Span {
    let part_text = &text[part.start..part.end];
    let start = part.start + part_text.len() - part_text.trim_start().len();
    Span::new(start, start + part_text.trim().len())
}

fn has_content(part: &str) -> bool {
    part.lines().any(|line| !matches!(line.trim_start().chars().next(), None | Some('#')))
}

fn read(source: &Source, part: Span, number: usize) -> Result<Manifest, Vec<Diagnostic>> {
    let text = &source.text()[part.start..part.end];
    // Line numbers count from the start of the whole text.
    let lines = source.text()[..part.start].matches('\n').count();
    let padded = Source::new(source.name(), "\n".repeat(lines) + text);
    let document = manifest::read(&padded, &Limits::default()).single()?;
    let object = document.value();
    let field =
        |pointer: &str| object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let Some(kind) = field("/kind") else {
        let missing = Diagnostic::error(codes::NO_KIND, "kind is missing")
            .at(&padded, document.closest_span(&[Step::Key("kind")]), "")
            .detail("Every Kubernetes object has a kind.")
            .hint("Say what kind of object it is, for instance `kind: Deployment`.");
        return Err(vec![missing]);
    };
    let group =
        field("/apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
    Ok(Manifest {
        key: key(group, kind, field("/metadata/namespace"), field("/metadata/name")),
        text: text.to_owned(),
        group: group.to_owned(),
        kind: kind.to_owned(),
        place: Place { source: source.clone(), number, span: Span::new(part.start, part.start) },
    })
}

fn key(group: &str, kind: &str, namespace: Option<&str>, name: Option<&str>) -> String {
    let mut key = String::new();
    if !group.is_empty() {
        let _infallible = write!(key, "{}.", group.to_lowercase());
    }
    key.push_str(&kind.to_lowercase());
    for part in namespace.into_iter().chain([name.unwrap_or("unnamed")]) {
        let _infallible = write!(key, ".{part}");
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String)> {
        let manifests =
            split(&Source::new("content", text)).unwrap_or_else(|problems| panic!("{problems:?}"));
        manifests.into_iter().map(|manifest| (manifest.key, manifest.text)).collect()
    }

    #[test]
    fn a_text_is_split_at_lines_of_three_dashes() {
        let check = |text: &str, expected: &[&str]| {
            let keys: Vec<_> = found(text).into_iter().map(|(key, _)| key).collect();
            assert_eq!(keys, expected, "{text:?}");
        };
        let (a, b) = ("kind: A\nmetadata: {name: a}", "kind: B\nmetadata: {name: b}");
        check(a, &["a.a"]);
        check(&format!("---\n{a}\n---\n{b}\n---\n"), &["a.a", "b.b"]);
        check(&format!("# about\n--- # first\n{a}\r\n---  \r\n{b}"), &["a.a", "b.b"]);
        check("", &[]);
        check("# nothing\n\n---\n  # still nothing\n", &[]);
        check("kind: A\nmetadata:\n  name: a\ndata:\n  text: |\n    ---\n    not a separator", &["a.a"]);
    }

    #[test]
    fn a_manifest_is_kept_as_it_was_written() {
        let text = "# why\nkind:   A   # a kind\nmetadata: {name: a}";
        assert_eq!(found(&format!("---\n\n{text}\n\n---\n")), [("a.a".to_owned(), text.to_owned())]);
        let dollar = "kind: A\nmetadata: {name: a}\ndata: {script: \"echo ${HOME}\"}";
        assert_eq!(found(dollar)[0].1, dollar);
    }

    #[test]
    fn keys_name_group_kind_namespace_and_name() {
        let check = |text: &str, expected: &str| assert_eq!(found(text)[0].0, expected);
        check(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: Web, namespace: shop}",
            "apps.deployment.shop.Web",
        );
        check("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}", "namespace.shop");
        check("apiVersion: Example.COM/v1\nkind: DB\nmetadata: {}", "example.com.db.unnamed");
    }

    #[test]
    fn problems_name_their_document_and_line() {
        let problems = split(&Source::new("content", "kind: A\n---\n\nmetadata:\n  name: b\n---\nkind: [\n"))
            .err()
            .unwrap();
        let found: Vec<_> = problems
            .iter()
            .map(|problem| (problem.summary.as_str(), problem.location.as_ref().unwrap().position().line))
            .collect();
        assert_eq!(found, [(LOADING, 4), (LOADING, 7)]);
        assert!(
            problems[0].detail.starts_with("Document 2 of content: kind is missing."),
            "{}",
            problems[0].detail
        );
    }

    #[test]
    fn manifests_are_read_as_bodies_are() {
        let refused = |text: &str| split(&Source::new("content", text)).is_err();
        assert!(refused("kind: A\nkind: B\nmetadata: {name: a}"), "duplicate keys");
        // In YAML 1.1, `n` is a boolean, not a name.
        assert_eq!(found("kind: A\nmetadata: {name: n}")[0].0, "a.unnamed");
        assert_eq!(found("{\"kind\": \"A\", \"metadata\": {\"name\": \"n\"}}")[0].0, "a.n");
    }

    #[test]
    fn two_objects_of_one_key_are_refused_with_both_places() {
        let source =
            Source::new("content", "kind: A\nmetadata: {name: a}\n---\nkind: A\nmetadata: {name: a}\n");
        let error = by_key(split(&source).unwrap(), "Manifest Generation Error").err().unwrap();
        assert!(error.detail.starts_with("duplicate resource ID \"a.a\""), "{}", error.detail);
        assert!(
            error.detail.contains("document 1 of content and in document 2 of content"),
            "{}",
            error.detail
        );
        assert_eq!(error.location.unwrap().position().line, 4);
    }
}
