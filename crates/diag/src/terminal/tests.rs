//! Whole renderings, as a person would see them.

use super::*;
use crate::Span;

const DUPLICATE: Code = Code::new("yaml-duplicate-key", "A mapping defines the same key twice.");
const CONFLICT: Code = Code::new(
    "field-conflict",
    "Another manager holds a field that this apply would change,\nso the API server refuses it.\n\n* Leave the field to it, or\n* take it:\n\n    plimsoll apply -f web.yaml --force-conflicts",
);

const TEXT: &str =
    "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 1\n  paused: false\n  replicas: 2\n";

fn duplicate_key() -> Diagnostic {
    let source = Source::new("web.yaml", TEXT);
    let last = TEXT.rfind("replicas").unwrap();
    let first = TEXT.find("replicas").unwrap();
    Diagnostic::error(DUPLICATE, "key `replicas` is defined twice")
        .object("Deployment shop/web")
        .field("spec.replicas")
        .at(&source, Span::new(last, last + 8), "defined again")
        .related(&source, Span::new(first, first + 8), "first defined here")
        .hint("Keep one of the two.")
}

fn conflict() -> Diagnostic {
    Diagnostic::warning(CONFLICT, "kubectl holds 1 field that this apply would change to another value")
        .object("Deployment shop/web")
        .field("spec.replicas")
        .detail("The field was 3 at the last apply, kubectl set it to 5, and this apply would set it back to 3.\n  - spec.replicas: 5 → 3")
        .hint("Add \"spec.replicas\" to ignore_fields to leave the field to kubectl.")
}

#[test]
fn a_source_is_shown_with_both_places_marked() {
    insta::assert_snapshot!(Renderer::plain(80).render(&duplicate_key()), @r"
    error[yaml-duplicate-key]: key `replicas` is defined twice
     --> web.yaml:6:3
      |
    4 |   replicas: 1
      |   -------- first defined here
    5 |   paused: false
    6 |   replicas: 2
      |   ^^^^^^^^ defined again
      |
      = object: Deployment shop/web
      = field: spec.replicas

    hint: Keep one of the two.
    ");
}

#[test]
fn without_a_source_the_message_is_wrapped_prose() {
    insta::assert_snapshot!(Renderer::plain(72).render(&conflict()), @r#"
    warning[field-conflict]: kubectl holds 1 field that this apply would
                             change to another value
      object: Deployment shop/web
      field: spec.replicas

      The field was 3 at the last apply, kubectl set it to 5, and this apply
      would set it back to 3.
        - spec.replicas: 5 → 3

    hint: Add "spec.replicas" to ignore_fields to leave the field to
          kubectl.

    help: plimsoll explain field-conflict
    "#);
}

#[test]
fn forty_columns_are_enough() {
    insta::assert_snapshot!(Renderer::plain(40).render(&conflict()), @r#"
    warning[field-conflict]: kubectl holds 1 field that this apply would change to another value
      object: Deployment shop/web
      field: spec.replicas

      The field was 3 at the last apply,
      kubectl set it to 5, and this apply
      would set it back to 3.
        - spec.replicas: 5 → 3

    hint: Add "spec.replicas" to
          ignore_fields to leave the field
          to kubectl.

    help: plimsoll explain field-conflict
    "#);
}

#[test]
fn colour_adds_escapes_and_nothing_else() {
    for diagnostic in [duplicate_key(), conflict()] {
        let styled = Renderer::styled(80).render(&diagnostic);
        assert!(styled.contains('\u{1b}'));
        let stripped = anstream::adapter::strip_str(&styled).to_string();
        assert_eq!(stripped, Renderer::plain(80).render(&diagnostic));
    }
}

#[test]
fn a_span_outside_the_text_or_inside_a_character_does_not_hide_the_message() {
    let source = Source::new("x.yaml", "é: 1");
    for span in [Span::new(1, 2), Span::new(90, 99), Span::new(3, 1), Span::new(4, 4)] {
        let text =
            Renderer::plain(80).render(&Diagnostic::error(DUPLICATE, "no luck").at(&source, span, "here"));
        assert!(text.contains("no luck") && text.contains("x.yaml:1:"), "{span:?}: {text}");
    }
}

#[test]
fn only_the_words_that_lead_a_paragraph_are_coloured() {
    let quoted = conflict().detail("The server says:\nhint: none\nhelp: none");
    let styled = Renderer::styled(80).render(&quoted);
    assert!(styled.contains("\n  hint: none\n  help: none\n"), "{styled:?}");
    assert_eq!(styled.matches("hint\u{1b}[0m: Add").count(), 1, "{styled:?}");
}

#[test]
fn an_entry_is_wrapped_and_its_examples_are_not() {
    insta::assert_snapshot!(Renderer::plain(40).entry(CONFLICT), @r"
    Another manager holds a field that this
    apply would change, so the API server
    refuses it.

    * Leave the field to it, or
    * take it:

        plimsoll apply -f web.yaml --force-conflicts
    ");
}
