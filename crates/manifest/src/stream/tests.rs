//! Whole texts: their values, their spans, and the words for what is wrong with them.

use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::*;
use crate::Step;

fn read_text(text: &str) -> Stream {
    read(&Source::new("test.yaml", text), &Limits::default())
}

#[track_caller]
fn value(text: &str) -> Value {
    read_text(text).single().unwrap_or_else(|problems| panic!("{text}: {}", show(&problems))).into_value()
}

#[track_caller]
fn problems(text: &str) -> String {
    show(&read_text(text).all().expect_err(text))
}

fn show(problems: &[Diagnostic]) -> String {
    let mut shown = String::new();
    for problem in problems {
        let at = problem.location.as_ref().map(|at| format!("{at} ({}): ", at.label)).unwrap_or_default();
        writeln!(shown, "{}: {at}{}", problem.code, problem.summary).unwrap();
        for related in &problem.related {
            writeln!(shown, "  {related} ({})", related.label).unwrap();
        }
        for text in [&problem.detail, problem.hint.as_ref().unwrap_or(&String::new())] {
            if !text.is_empty() {
                writeln!(shown, "  {text}").unwrap();
            }
        }
    }
    shown
}

#[test]
fn yaml_and_json_become_the_same_values() {
    let expected = json!({"a": [1, "x", null], "b": {"c": "d\ne\n"}});
    assert_eq!(value("a:\n- 1\n- x\n-\nb:\n  c: |\n    d\n    e\n"), expected);
    assert_eq!(value("{\n\t\"a\": [1, \"x\", null],\n\t\"b\": {\"c\": \"d\\ne\\n\"}\n}"), expected);
    assert_eq!(value("a: &l [1, x, ~]\nb: {c: \"d\\ne\\n\"}\n"), expected);
}

#[test]
fn a_byte_order_mark_at_the_beginning_is_passed_over() {
    for text in ["\u{feff}a: 1\n", "\u{feff}{\"a\": 1}", "\u{feff}---\na: 1\n"] {
        assert_eq!(value(text), json!({ "a": 1 }), "{text:?}");
    }
}

#[test]
fn a_block_scalar_that_the_text_ends_in_has_no_line_break() {
    let check = |text, expected: &str| assert_eq!(value(text), json!({"a": expected}), "{text:?}");
    check("a: |\n  b", "b");
    check("a: |+\n  b", "b");
    check("a: >\n  b\n  c", "b c");
    check("a: |\n  b\n", "b\n");
    check("a: |\n  b\n  ", "b\n");
    check("a: |-\n  b\n", "b");
    check("a: |+\n  ", "");
    check("a: |+\n\n  ", "\n");
    check("a: |2\n   ", " ");
}

#[test]
fn lines_of_a_quoted_text_need_no_indentation() {
    let text = "a:\n  b: \"one\n  two\n\nthree\"\n  c: 'x\n  y'\nd: 1\n";
    let document = read_text(text).single().unwrap();
    assert_eq!(*document.value(), json!({"a": {"b": "one two\nthree", "c": "x y"}, "d": 1}));
    let slice = |path: &[Step<'_>]| document.value_span(path).map(|span| &text[span.start..span.end]);
    assert_eq!(slice(&[Step::Key("a"), Step::Key("b")]), Some("\"one\n  two\n\nthree\""));
    assert_eq!(slice(&[Step::Key("a"), Step::Key("c")]), Some("'x\n  y'"));
    assert_eq!(slice(&[Step::Key("d")]), Some("1"));
}

#[test]
fn json_escapes_and_large_numbers_are_read() {
    assert_eq!(
        value(
            r#"{"emoji": "\ud83d\ude00\/\u003c", "big": 12345678901234567890123, "whole": 1.0, "exp": 1E2}"#
        ),
        json!({"emoji": "😀/<", "big": 12_345_678_901_234_567_890_123.0, "whole": 1, "exp": 100})
    );
}

#[test]
fn keys_of_json_may_be_long() {
    let key = "k".repeat(5000);
    assert_eq!(
        value(&format!("{{\"{key}\": [{{\"{key}\": 1}}]}}")),
        json!({key.as_str(): [{key.as_str(): 1}]})
    );
}

#[test]
fn merge_keys_count_where_they_stand() {
    let check = |text, expected: Value| assert_eq!(value(text), expected, "{text}");
    check("b: &b {x: 1, z: 2}\nc:\n  <<: *b\n  z: 3", json!({"b": {"x": 1, "z": 2}, "c": {"x": 1, "z": 3}}));
    check("{z: 3, <<: {x: 1, z: 2}}", json!({"x": 1, "z": 2}));
    check("{<<: [{x: 1}, {x: 2, z: 2}]}", json!({"x": 1, "z": 2}));
    check("{\"<<\": 1}", json!({"<<": 1}));
    check("{!!merge <<: {x: 1}}", json!({"x": 1}));
    check("{!!str <<: {x: 1}}", json!({"<<": {"x": 1}}));
}

#[test]
fn every_node_has_a_span() {
    let text = "kind: List\nitems:\n- name: \"a b\"\n  \"x\\u0041\": [1, {k: v}]\n- &m {yes: 1}\n- <<: *m\n  m: *m\nlast: |\n  t\n\n";
    let document = read_text(text).single().unwrap();
    let slice = |span: Option<Span>| span.map(|span| &text[span.start..span.end]);
    let check = |path: &[Step<'_>], key: Option<&str>, value: Option<&str>| {
        assert_eq!(slice(document.key_span(path)), key, "{path:?}");
        assert_eq!(slice(document.value_span(path)), value, "{path:?}");
    };
    let (key, index) = (Step::Key, Step::Index);
    check(&[key("kind")], Some("kind"), Some("List"));
    check(&[key("items"), index(0), key("name")], Some("name"), Some("\"a b\""));
    check(&[key("items"), index(0), key("xA")], Some("\"x\\u0041\""), Some("[1, {k: v}]"));
    check(&[key("items"), index(0), key("xA"), index(1), key("k")], Some("k"), Some("v"));
    check(&[key("items"), index(0)], None, Some("name: \"a b\"\n  \"x\\u0041\": [1, {k: v}]"));
    check(&[key("items"), index(1), key("true")], Some("yes"), Some("1"));
    check(&[key("items"), index(2), key("true")], Some("yes"), Some("1"));
    check(&[key("items"), index(2), key("m")], Some("m"), Some("*m"));
    check(&[key("items"), index(2), key("m"), key("true")], Some("yes"), Some("1"));
    check(&[key("last")], Some("last"), Some("t"));
    check(&[key("none")], None, None);
    check(&[index(0)], None, None);
    assert_eq!(slice(Some(document.closest_span(&[key("items"), index(9), key("x")]))), Some("items"));
}

#[test]
fn documents_are_counted_without_the_empty_ones() {
    let text = "# only a comment\n---\na: 1\n---\n# nothing\n---\n...\n---\nb: 2\n...\nc: 3\n";
    let documents = read_text(text).all().unwrap();
    let found: Vec<_> =
        documents.iter().map(|document| (document.number(), document.value().clone())).collect();
    assert_eq!(found, [(1, json!({"a": 1})), (2, json!({"b": 2})), (3, json!({"c": 3}))]);
    assert_eq!(documents[0].text(), "# only a comment\n---\na: 1\n");
    assert_eq!(documents[1].text(), "---\nb: 2\n...");
    assert_eq!(documents[2].text(), "\nc: 3\n");
}

#[test]
fn a_broken_document_does_not_hide_the_others() {
    let stream = read_text("a: 1\n---\nb: [\n---\nc: 3\n---\nd: 'x\n");
    let read: Vec<bool> = stream.documents.iter().map(Result::is_ok).collect();
    assert_eq!(read, [true, false, true, false]);
    assert_snapshot!(show(&stream.all().unwrap_err()), @"
    yaml-syntax: test.yaml:3:4 (unclosed bracket '['): this is not valid YAML
      Reading stopped at 3:4: unclosed bracket '['. This is document 2 of 4.
      Close the bracket.
    yaml-syntax: test.yaml:7:4 (unclosed quote): this is not valid YAML
      Reading stopped at 7:4: unclosed quote. This is document 4 of 4.
      Close the quote, or indent the lines that belong to the text.
    ");
}

#[test]
fn a_duplicate_key_is_shown_with_both_places() {
    assert_snapshot!(problems("a: 1\nb:\n  x: 1\n  'x': 2\n"), @"
yaml-duplicate-key: test.yaml:4:3 (given again here): the key `x` is given twice
  test.yaml:3:3 (first given here)
  It is on line 3 and again on line 4. One of the two values would be lost.
  Remove or rename one of the two.
");
    // Keys that become the same text in JSON are the same key.
    assert!(problems("{1: a, \"1\": b}").contains("the key `1` is given twice"));
    assert!(problems("{<<: {a: 1}, a: 2, a: 3}").contains("the key `a` is given twice"));
}

#[test]
fn bad_input_is_answered_with_a_place_and_advice() {
    assert_snapshot!(problems("a: 1\nb: \0\u{1}\n"), @r#"
    yaml-not-text: test.yaml:2:4 (the character U+0000): the text has a character that YAML does not allow
      U+0000 at 2:4 is a control character; usually a binary file was given.
      Check that the right file was given; inside double quotes such a character is written `\x…`.
    "#);
    assert_snapshot!(problems("a:\n\tb: 1\n"), @"
    yaml-tab: test.yaml:2:1 (this is a tab): a tab is used for indentation
      YAML allows only spaces here.
      Replace the tab with spaces.
    ");
    assert_snapshot!(problems("a: 1\n\u{feff}b: 2\n"), @"
    yaml-not-text: test.yaml:2:1 (the invisible character U+FEFF): a byte order mark appears inside the text
      It is allowed only at the very beginning; files that were joined often have one in the middle.
      Delete the invisible character.
    ");
    assert_snapshot!(problems("a: *b\nc: &d [*d]\n"), @"
    yaml-alias: test.yaml:1:4 (no anchor of this name before this place): there is no anchor for the alias `*b`
      Anchors are known from where they stand to the end of their document, not in the documents after it.
      Define `&b` earlier in the same document, or put a text that begins with `*` in quotes.
    ");
    assert_snapshot!(problems("c: &d [*d]\n"), @"
    yaml-alias: test.yaml:1:8 (refers to the node it is part of): an alias appears inside what it refers to
      test.yaml:1:7 (the anchored node)
      The value would contain itself without end.
      Write out the part that is meant.
    ");
    assert_snapshot!(problems("a: {<<: 1}\n"), @"
    yaml-merge-key: test.yaml:1:9 (expected a mapping, an alias of one, or a list of these): the value of a merge key is not a mapping
      Give `<<` a mapping, or put it in quotes if it is meant as an ordinary key.
    ");
    assert_snapshot!(problems("[1]: a\n~: b\n18446744073709551615: c\n"), @"
    yaml-invalid-key: test.yaml:1:1 (expected a text): a list or a mapping is used as a key
      The keys of a Kubernetes object are texts. An unquoted `{{ … }}` of a template is read as mappings, too.
      Put the key in quotes, or render the template first.
    yaml-invalid-key: test.yaml:2:1 (read as null): a key is null
      Put it in quotes if it is meant as text, or write the missing key.
    yaml-invalid-key: test.yaml:3:1 (read as a number): a key is a number above 2⁶³
      Put it in quotes if it is meant as text.
    ");
    assert_snapshot!(problems("a: .inf\nb: !!int x\nc: !!binary '?'\n"), @"
    yaml-scalar: test.yaml:1:4 (read as a number): a value is infinite or not a number, which JSON cannot hold
      Put it in quotes if it is meant as text.
    yaml-scalar: test.yaml:2:10 (does not fit the tag in front of it): a value is not what its tag says
      Correct the value, or remove the tag (`!!…`).
    yaml-scalar: test.yaml:3:13 (not base64): a `!!binary` value is not base64
      Correct the value; a Secret's data needs no tag, only base64.
    ");
    assert_snapshot!(problems("a: {{ .Values.a }}\n"), @"
    yaml-invalid-key: test.yaml:1:5 (expected a text): a list or a mapping is used as a key
      The keys of a Kubernetes object are texts. An unquoted `{{ … }}` of a template is read as mappings, too.
      Put the key in quotes, or render the template first.
    ");
    assert_snapshot!(problems("a: b: c\n"), @"
    yaml-syntax: test.yaml:1:5 (mapping values are not allowed in this context): this is not valid YAML
      Reading stopped at 1:5: mapping values are not allowed in this context.
      Put a text that contains `: ` in quotes, or begin the inner mapping on a line of its own.
    ");
    assert_snapshot!(problems("image: @latest\n"), @"
    yaml-syntax: test.yaml:1:8 (unexpected character: `@'): this is not valid YAML
      Reading stopped at 1:8: unexpected character: `@'.
      Put a text that begins with this character in quotes.
    ");
    assert_snapshot!(problems("a: \"C:\\dir\"\n"), @r#"
    yaml-syntax: test.yaml:1:4 (while parsing a quoted scalar, found unknown escape character): this is not valid YAML
      Reading stopped at 1:4: while parsing a quoted scalar, found unknown escape character.
      Write a backslash as `\\`, or use single quotes, in which it means itself.
    "#);
    assert_snapshot!(problems("a:\n  b: 1\n c: 2\n"), @"
    yaml-syntax: test.yaml:3:2 (while parsing a block mapping, did not find expected key): this is not valid YAML
      Reading stopped at 3:2: while parsing a block mapping, did not find expected key.
      Align the line with the one it belongs to.
    ");
}

#[test]
fn one_document_is_asked_for_and_none_or_two_are_refused() {
    assert_snapshot!(show(&read_text("# nothing\n---\n").single().unwrap_err()), @"
    manifest-empty: test.yaml:1:1 (nothing but comments and separators from here on): test.yaml holds no object
      Write an object; it begins with `apiVersion` and `kind`.
    ");
    assert_snapshot!(show(&read_text("a: 1\n---\nb: 2\n").single().unwrap_err()), @"
    manifest-several-documents: test.yaml:2:1 (the second document begins here): test.yaml holds 2 documents, but one is wanted
      test.yaml:1:1 (the first document begins here)
      Documents are separated by lines that begin with `---`.
      Leave one document, or divide the text first.
    ");
}

#[test]
fn nesting_is_limited() {
    assert_eq!(value(&format!("{}{}", "[".repeat(256), "]".repeat(256))).as_array().map(Vec::len), Some(1));
    assert_snapshot!(problems(&format!("{}{}", "[".repeat(300), "]".repeat(300))), @"
    yaml-limit: test.yaml:1:257 (one level too many): the document is nested more than 256 levels deep
      Every mapping and every list inside another is a level; Kubernetes objects have a few dozen at most.
      Check the file that was given; brackets may be unbalanced.
    ");
    let block = (0..300).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<Vec<_>>().concat();
    assert_snapshot!(problems(&block), @"
    yaml-limit: test.yaml:257:257 (one level too many): the document is nested more than 256 levels deep
      Every mapping and every list inside another is a level; Kubernetes objects have a few dozen at most.
      Check the file that was given; brackets may be unbalanced.
    ");
    // Deep because of aliases, not because of the text.
    let levels = (1..40)
        .map(|level| format!("a{level}: &a{level} [[[[[[[*a{}]]]]]]]\n", level - 1))
        .collect::<Vec<_>>()
        .concat();
    assert!(problems(&format!("a0: &a0 x\n{levels}")).contains("nested more than 256 levels"));
}

/// Half of what a thread of a runtime or a test has.
#[test]
fn the_deepest_nesting_that_can_be_allowed_fits_a_small_stack() {
    let check = || {
        let limits = Limits { depth: usize::MAX, ..Limits::default() };
        let reread = |text: &str| read(&Source::new("t", text), &limits).single().map(Document::into_value);
        let levels = Limits::MAX_DEPTH / 2;
        let value = reread(&format!("{}{}", "{a: [".repeat(levels), "]}".repeat(levels))).unwrap();
        assert_eq!(reread(&crate::to_yaml(&value)).as_ref(), Ok(&value));
        assert_eq!(reread(&crate::to_json(&value)), Ok(value));
        assert!(reread(&"[".repeat(Limits::MAX_DEPTH + 1)).is_err());
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(check).unwrap().join().unwrap();
}

#[test]
fn a_hundred_thousand_brackets_cost_no_more_than_the_limit() {
    let source = Source::new("test.yaml", "[".repeat(100_000));
    let read = tree::read(&source, Span::new(0, source.text().len()), &Limits::default());
    assert!(read[0].tree.len() <= 256, "{} nodes", read[0].tree.len());
    assert!(problems(source.text()).contains("nested more than 256 levels"));
}

#[test]
fn a_billion_laughs_cost_no_more_than_the_limit() {
    let mut text = "a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]\n".to_owned();
    for level in 1..=9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(text, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    let source = Source::new("test.yaml", text.as_str());
    let limits = Limits::default();
    let mut read = tree::read(&source, Span::new(0, text.len()), &limits).remove(0);
    let composed = compose(&source, &mut read, &limits);
    assert!(composed.visited <= limits.alias_nodes + read.tree.len(), "{} nodes", composed.visited);
    assert_snapshot!(show(&composed.problems), @"
    yaml-limit: test.yaml:2:50 (this alias exceeds the limit): the aliases of the document stand for more than 100000 keys and values
      Aliases of nodes that contain aliases multiply; a few lines can ask for more than any memory holds.
      Expand the aliases, or use fewer of them.
    ");
}

#[test]
fn nodes_documents_and_bytes_are_limited() {
    let with = |limits: Limits, text: &str| show(&read(&Source::new("t", text), &limits).all().unwrap_err());
    assert_snapshot!(with(Limits { nodes: 3, ..Limits::default() }, "[1, 2, 3]"), @"
    yaml-limit: t:1:8 (one too many): the document has more than 3 keys and values
      Divide the document.
    ");
    assert_snapshot!(with(Limits { documents: 1, ..Limits::default() }, "a\n---\nb\n"), @"
    yaml-limit: t:2:1 (one too many): t has more than 1 documents
      Divide the file.
    ");
    assert_snapshot!(with(Limits { bytes: 3, ..Limits::default() }, "a: 1"), @"
    yaml-limit: t is larger than 3 bytes
      It has 4 bytes. An API server takes objects of up to 1.5 MiB.
      Check the file that was given, or divide it.
    ");
}
