//! The one list of what we read or write differently than Go, each with the reason.

use serde_json::Value;

/// A text that was read differently.
pub(crate) struct Reading<'a> {
    pub(crate) text: &'a str,
    pub(crate) ours: &'a Result<String, String>,
    pub(crate) go: &'a Result<String, String>,
}

struct Difference {
    why: &'static str,
    applies: fn(&Reading<'_>) -> bool,
}

/// Why a text may be read differently; none if it may not.
pub(crate) fn in_reading(reading: &Reading<'_>) -> Option<&'static str> {
    READING.iter().find(|difference| (difference.applies)(reading)).map(|difference| difference.why)
}

const READING: &[Difference] = &[
    Difference {
        why: "YAML 1.2 lets a block scalar at the root of a document stand at the margin; YAML 1.1 ends it there",
        applies: |case| root(case.text).starts_with(['|', '>']),
    },
    Difference {
        why: "YAML 1.2 wants the header of a block scalar that belongs to a key or an item indented; Go does not",
        applies: |case| {
            case.text.lines().any(|line| line.trim_start().starts_with(['|', '>'])) && case.ours.is_err()
        },
    },
    Difference {
        why: "a document may be empty before a `...` in YAML 1.2; Go wants a `---`",
        applies: |case| root(case.text).starts_with("..."),
    },
    Difference {
        why: "keys that are different in YAML and the same text in JSON, such as `1` and `1.0`: Go keeps one by chance",
        applies: |case| refused_with(case, "is given twice"),
    },
    Difference {
        why: "in YAML 1.2 a question mark inside a flow collection is an indicator only before a space; Go takes \
              `[?x]` for a mapping and refuses `{a: http://x/?y}`",
        applies: |case| case.text.contains('?') && case.text.contains(['[', '{']),
    },
    Difference {
        why: "in YAML 1.2 a plain scalar inside a flow collection may begin with a colon; Go takes that for an empty key",
        applies: |case| {
            ["[:", "{:", " :"].iter().any(|colon| case.text.contains(colon)) && case.text.contains(['[', '{'])
        },
    },
    Difference {
        why: "a lone `-` inside a flow collection is refused by the parser; Go takes it for a text",
        applies: |case| refused_with(case, "plain scalar cannot start with '-'"),
    },
    Difference {
        why: "a comment that is indented less than the block scalar before it, but more than its key, is refused by the \
              parser; Go ends the scalar there",
        applies: |case| refused_with(case, "wrongly indented line in block scalar"),
    },
    Difference {
        why: "a document that holds nothing is none to us; Go counts it, and wants a `---` before it after a `...`",
        applies: |case| {
            let refusals = ["more than one document", "did not find expected <document start>"];
            let refused = |error: &String| refusals.iter().any(|refusal| error.contains(refusal));
            ["---", "..."].iter().any(|marker| case.text.contains(marker))
                && case.go.as_ref().is_err_and(refused)
        },
    },
    Difference {
        why: "U+0085, U+2028 and U+2029 are line breaks in YAML 1.1 and ordinary characters in YAML 1.2; Go loses the \
              spaces around them and makes spaces of some",
        applies: |case| case.text.contains(['\u{85}', '\u{2028}', '\u{2029}']),
    },
    Difference {
        why: "YAML 1.2 allows tabs between tokens where YAML 1.1 does not, and the reverse; no text means two things",
        applies: |case| case.text.contains('\t') && case.ours.is_ok() != case.go.is_ok(),
    },
    Difference {
        why: "a comment needs a space before it in YAML 1.2, also after a quote or the header of a block scalar",
        applies: |case| refused_with(case, "comments must be separated"),
    },
];

/// Whether only we refuse a text, with these words of the parser.
fn refused_with(case: &Reading<'_>, words: &str) -> bool {
    case.go.is_ok() && case.ours.as_ref().is_err_and(|error| error.contains(words))
}

/// The text from where its value begins.
fn root(text: &str) -> &str {
    let mut rest = text.trim_start_matches('\u{feff}');
    loop {
        rest = rest.trim_start();
        rest = match rest.chars().next() {
            Some('#' | '%') => rest.split_once('\n').map_or("", |(_, rest)| rest),
            Some('&' | '!') => rest.split_once([' ', '\n']).map_or("", |(_, rest)| rest),
            Some('-') if rest.starts_with("---") => &rest[3..],
            _ => return rest,
        }
    }
}

/// Why a value may be written differently; none if it may not.
pub(crate) fn in_writing(value: &Value, ours: &str, go: &Result<String, String>) -> Option<&'static str> {
    match go {
        Err(error) if error.contains("control characters are not allowed") => Some(
            "the library reads the JSON of a value as YAML, which does not allow every character JSON does",
        ),
        Ok(_) if value.to_string().contains(['\u{2028}', '\u{2029}']) => Some(
            "Go writes U+2028 and U+2029 as line breaks, which YAML 1.2 would read as more than is meant; we escape them",
        ),
        _ if value.to_string().contains('\u{85}') => Some(
            "the library reads U+0085 in the JSON of a value as a line break: it makes a space of it, or fails",
        ),
        Ok(go)
            if same_lines(ours, go) && has_mapping(value, &|keys| keys.iter().any(|key| !key.is_ascii())) =>
        {
            Some("which characters are letters depends on the version of Unicode")
        }
        Ok(go) if same_lines(ours, go) && has_mapping(value, &may_be_in_a_cycle) => {
            Some("the order of keys with numbers is not transitive, so that Go's depends on chance")
        }
        _ => None,
    }
}

/// Whether only the order of the lines differs; the first field of an item stands behind the item's dash.
fn same_lines(a: &str, b: &str) -> bool {
    let sorted = |text: &str| {
        let bare = |line: &str| line.trim_start_matches([' ', '-', '?', ':']).to_owned();
        let mut lines: Vec<String> = text.lines().map(bare).collect();
        lines.sort();
        lines
    };
    sorted(a) == sorted(b)
}

/// Three keys are needed, one of them with a number that the others have more or less of.
fn may_be_in_a_cycle(keys: &[&String]) -> bool {
    keys.len() > 2 && keys.iter().filter(|key| key.contains(|c: char| c.is_ascii_digit())).count() > 1
}

fn has_mapping(value: &Value, wanted: &dyn Fn(&[&String]) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| has_mapping(item, wanted)),
        Value::Object(fields) => {
            wanted(&fields.keys().collect::<Vec<_>>())
                || fields.values().any(|value| has_mapping(value, wanted))
        }
        _ => false,
    }
}
