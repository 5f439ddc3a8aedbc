//! Laws that hold for any input, as plain functions: property tests and cargo-fuzz both drive them.
//!
//! Each panics where its law does not hold.

use diag::{Diagnostic, Source, Span};
use serde_json::Value;

use crate::split::first_forbidden;
use crate::{Document, Limits, Stream, decode, objects, read, to_json, to_json_pretty, to_yaml};

/// Any bytes are answered; what is said about them points into the text; what was read survives being written.
pub fn bytes(bytes: &[u8]) {
    match decode("fuzz", bytes) {
        Ok(source) => text(&source),
        Err(problem) => check_diagnostic(&problem),
    }
}

fn text(source: &Source) {
    let stream = read(source, &Limits::default());
    check_order(source, &stream);
    for document in &stream.documents {
        match document {
            Ok(document) => {
                check_spans(document);
                round_trip(document.value());
                objects(document).map_or_else(|problems| problems.iter().for_each(check_diagnostic), drop);
            }
            Err(broken) => {
                assert!(!broken.problems.is_empty(), "a broken document says why");
                broken.problems.iter().for_each(check_diagnostic);
            }
        }
    }
}

/// A value that was read, or whose numbers are as Kubernetes has them, reads back from all we write.
pub fn round_trip(value: &Value) {
    for text in [to_yaml(value), to_json(value), to_json_pretty(value)] {
        // JSON, unlike YAML, leaves some characters as they are that no YAML may have.
        if first_forbidden(&text, Span::new(0, text.len())).is_some() {
            assert_ne!(text, to_yaml(value), "YAML escapes them");
            continue;
        }
        let stream = read(&Source::new("written", text.as_str()), &Limits::default());
        let again = stream.single().unwrap_or_else(|problems| panic!("{problems:?} in {text:?}"));
        assert_eq!(again.value(), value, "written as {text:?}");
    }
}

/// Documents follow each other and do not overlap.
fn check_order(source: &Source, stream: &Stream) {
    let mut end = 0;
    for (index, document) in stream.documents.iter().enumerate() {
        let (span, number) = match document {
            Ok(document) => (document.span(), document.number()),
            Err(broken) => (broken.span, broken.number),
        };
        check_span(source, span);
        assert!(span.start >= end, "documents overlap");
        assert_eq!(number, index + 1, "documents are numbered in order");
        end = span.end;
    }
}

fn check_spans(document: &Document) {
    for span in document.spans.tree.spans() {
        check_span(document.source(), span);
        assert!(
            span.start >= document.span().start && span.end <= document.span().end,
            "a node is in its document"
        );
    }
}

fn check_diagnostic(diagnostic: &Diagnostic) {
    assert!(!diagnostic.summary.is_empty(), "a diagnostic says what");
    for location in diagnostic.location.iter().chain(&diagnostic.related) {
        check_span(&location.source, location.span);
    }
}

/// Slicing fails if an end is outside of the text or inside a character.
fn check_span(source: &Source, span: Span) {
    assert!(source.text().get(span.start..span.end).is_some(), "{span:?} is not part of the text");
}
