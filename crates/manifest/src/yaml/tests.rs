//! What written YAML looks like.

use insta::assert_snapshot;
use serde_json::json;

use super::*;

#[test]
fn collections_are_blocks_and_lists_stand_under_their_key() {
    assert_snapshot!(to_yaml(&json!({"b": {"c": [1, [2, {"x": 3, "z": [4]}], [], {}]}, "a": {}, "n": null})), @r#"
    a: {}
    b:
      c:
      - 1
      - - 2
        - x: 3
          z:
          - 4
      - []
      - {}
    "n": null
    "#);
}

#[test]
fn texts_are_quoted_only_where_they_would_read_as_something_else() {
    let texts = json!([
        "plain text",
        "yes",
        "null",
        "~",
        "",
        "12",
        "0x1f",
        "1e3",
        "1:30",
        "2001-01-02",
        " lead",
        "trail ",
        "a: b",
        "a:b",
        "a #b",
        "a#b",
        "# c",
        "- x",
        "-x",
        "[x",
        "*x",
        "it's",
        "'q'",
        "\"q\"",
        "tab\there",
        "é",
        "😀",
        "\u{7f}",
        "<<",
        "=",
        "@x",
        "---",
        "...a",
        "%x",
    ]);
    assert_snapshot!(to_yaml(&texts), @r#"
    - plain text
    - "yes"
    - "null"
    - "~"
    - ""
    - "12"
    - "0x1f"
    - "1e3"
    - "1:30"
    - "2001-01-02"
    - ' lead'
    - 'trail '
    - 'a: b'
    - a:b
    - 'a #b'
    - a#b
    - '# c'
    - '- x'
    - -x
    - '[x'
    - '*x'
    - it's
    - '''q'''
    - '"q"'
    - "tab\there"
    - é
    - "\U0001F600"
    - "\x7F"
    - <<
    - =
    - '@x'
    - '---'
    - '...a'
    - '%x'
    "#);
}

#[test]
fn texts_of_several_lines_are_literal_blocks() {
    let texts = json!({
        "ends": "a\nb\n", "does not": "a\nb", "two": "a\n\n", "indented": "  a\nb\n", "breaks": "\na", "trailing": "a \nb", "tab": "a\n\tb",
    });
    assert_snapshot!(to_yaml(&texts), @r#"
    breaks: |2-

      a
    does not: |-
      a
      b
    ends: |
      a
      b
    indented: |2
        a
      b
    tab: "a\n\tb"
    trailing: "a \nb"
    two: |+
      a
    "#);
}

#[test]
fn long_lines_are_folded_and_long_keys_get_a_question_mark() {
    let words = "word ".repeat(30);
    assert_snapshot!(to_yaml(&json!({"text": words.trim(), "quoted": format!("{words}: x"), "k".repeat(129): [1], "a\nb": {"c": 1}})), @"
    ? |-
      a
      b
    : c: 1
    ? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk
    : - 1
    quoted: 'word word word word word word word word word word word word word word word
      word word word word word word word word word word word word word word word : x'
    text: word word word word word word word word word word word word word word word word
      word word word word word word word word word word word word word word
    ");
}

#[test]
fn keys_are_in_natural_order() {
    let keys = json!({"a10": 0, "a2": 0, "B": 0, "b": 0, "_x": 0, "1": 0, "10": 0, "9": 0, "a": 0, "a01": 0, "true": 0, "": 0});
    assert_snapshot!(to_yaml(&keys), @r#"
    "": 0
    _x: 0
    "1": 0
    "9": 0
    "10": 0
    B: 0
    a: 0
    a01: 0
    a2: 0
    a10: 0
    b: 0
    "true": 0
    "#);
}

#[test]
fn numbers_are_written_as_go_writes_them() {
    assert_snapshot!(to_yaml(&json!([0, -1, 1.0, 1.5, 1e6, 1e18, 1e20, 1e21, 0.000_001, u64::MAX, 1e300])), @"
    - 0
    - -1
    - 1
    - 1.5
    - 1000000
    - 1000000000000000000
    - 1e+20
    - 1e+21
    - 1e-06
    - 18446744073709551615
    - 1e+300
    ");
}
