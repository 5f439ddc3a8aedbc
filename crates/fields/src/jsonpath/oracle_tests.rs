//! Compares with client-go: thousands of templates and objects a run, every difference a failure unless listed here.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestRunner};
use serde_json::{Value, json};
use testkit::oracle::Oracle;
use testkit::seed;

use super::*;

/// Every way in which the outcome may differ from client-go's, `theirs` being its outcome and `ours` this crate's.
fn is_known_difference(template: &str, theirs: &str, ours: &str) -> bool {
    // An index or a `range` on no value at all dereferences a nil in Go; kubectl dies there, and we say what is wrong.
    let go_panics = theirs.starts_with("panic: ") && ours == "error: there is no value to select from";
    // Templates that grow without bounds are refused; client-go computes until it has an answer or no memory.
    let limit =
        ours == "error: path selects too many values" || ours == "parse error: path is nested too deeply";
    // Marks, Roman numerals and the like may begin a word here; Go asks for letters and decimal digits. No key that
    // Kubernetes accepts has them.
    let odd_character = template.contains(ODD_CHARACTERS);
    go_panics || limit || odd_character
}

/// Neither letters nor decimal digits to Go, but alphabetic or numeric to Rust.
const ODD_CHARACTERS: [char; 3] = ['\u{b2}', '\u{2167}', '\u{345}'];

fn outcome(template: &str, object: &Value, allow_missing_keys: bool) -> String {
    let path = match JsonPath::parse(template) {
        Err(error) => return format!("parse error: {error}"),
        Ok(path) if allow_missing_keys => path.allow_missing_keys(),
        Ok(path) => path,
    };
    match path.render(object) {
        Ok(text) => format!("text: {text}"),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn templates_print_and_fail_as_in_client_go() {
    let oracle = Oracle::shared();
    let (cases, rng_seed) = (seed::cases(4000), RngSeed::Fixed(seed::usual("jsonpath.render")));
    let config = ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let pairs = prop_oneof![(template(), object()), fitting_pair()];
    let printed = Cell::new(0);
    let result = runner.run(&(pairs, any::<bool>()), |((template, object), allow_missing_keys)| {
        let ours = outcome(&template, &object, allow_missing_keys);
        let question = json!({
            "template": template, "object": object, "allowMissingKeys": allow_missing_keys, "expected": ours,
        });
        let theirs = oracle.ask("jsonpath.render", &question);
        let theirs = theirs.as_ref().ok().and_then(Value::as_str).unwrap_or("no answer");
        if !is_known_difference(&template, theirs, &ours) {
            prop_assert_eq!(theirs, &ours, "left is client-go's, for {} of {}", template, object);
        }
        if ours.len() > "text: ".len() && ours.starts_with("text: ") {
            printed.set(printed.get() + 1);
        }
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    assert!(printed.get() > cases / 3, "only {} of {cases} templates printed something", printed.get());
}

/// Integers stay within int64: what becomes of larger ones is decided where JSON is read, not here.
fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        2 => (-3_i64..10).prop_map(Value::from),
        1 => select(vec![0.5, 1.0, -2.5, 1e21, 1e-7, 123_456_789.125]).prop_map(Value::from),
        3 => select(vec!["", "a", "b", "x.y", "<é>", "\"q\"", "Ready", "True"]).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4).prop_map(|map| Value::Object(
                map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

/// A template that selects something in its object, made by walking through it.
fn fitting_pair() -> impl Strategy<Value = (String, Value)> {
    (object(), prop::collection::vec(any::<u8>(), 1..6)).prop_map(|(object, choices)| {
        let mut path = String::new();
        let mut value = &object;
        for choice in choices.into_iter().map(usize::from) {
            let how = choice / 16 % 4;
            match value {
                Value::Object(map) if !map.is_empty() => {
                    let (key, child) = map.iter().nth(choice % map.len()).unwrap();
                    let name = key.replace('.', "\\.");
                    path +=
                        &[format!(".{name}"), format!("['{name}']"), format!("..{name}"), ".*".to_owned()]
                            [how];
                    value = child;
                }
                Value::Array(list) if !list.is_empty() => {
                    let index = choice % list.len();
                    let test = match &list[index] {
                        Value::String(text) => format!("@ == '{text}'"),
                        Value::Object(map) => {
                            map.keys().next().map_or("@".to_owned(), |key| format!("@.{key}"))
                        }
                        other => format!("@ >= {other}"),
                    };
                    let from_end = list.len() - index;
                    path += &[
                        format!("[{index}]"),
                        format!("[-{from_end}]"),
                        "[*]".to_owned(),
                        format!("[?({test})]"),
                    ][how];
                    value = &list[index];
                }
                _ => break,
            }
        }
        let template = format!("{{{path}}}");
        (template, object)
    })
}

fn name() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "c", "x.y", "type", "d/e", "", "é"])
}

/// A template that means something most of the time, and is broken somewhere the rest of the time.
fn template() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => action(),
        2 => select(vec!["text", " ", "}", "\n"]).prop_map(str::to_owned),
        2 => action().prop_map(|path| path.replacen('{', "{range ", 1)),
        2 => Just("{end}".to_owned()),
    ];
    let whole = prop::collection::vec(part, 1..5).prop_map(|parts| parts.concat());
    let junk = " .[]{}()?@$*,:'\"=<>!\\+-0159ab_\t\n\u{e9}\u{20ac}\u{a0}\u{0}";
    let junk = select(junk.chars().chain(ODD_CHARACTERS).collect::<Vec<_>>());
    prop_oneof![
        3 => whole.clone(),
        1 => (whole, any::<prop::sample::Index>(), junk.clone()).prop_map(|(mut template, at, junk)| {
            let places: Vec<usize> = template.char_indices().map(|(at, _)| at).collect();
            template.insert(at.get(&places).to_owned(), junk);
            template
        }),
        1 => prop::collection::vec(junk, 0..12).prop_map(|junk| format!("{{{}}}", junk.into_iter().collect::<String>())),
    ]
}

fn action() -> impl Strategy<Value = String> {
    prop::collection::vec(node(), 0..5).prop_map(|nodes| format!("{{{}}}", nodes.concat()))
}

fn node() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => name().prop_map(|name| format!(".{}", name.replace('.', "\\."))),
        1 => name().prop_map(|name| format!("['{name}']")),
        1 => name().prop_map(|name| format!("..{name}")),
        2 => select(vec![".*", "[*]", "..", "@", "$", " "]).prop_map(str::to_owned),
        4 => slice().prop_map(|slice| format!("[{slice}]")),
        1 => prop::collection::vec(prop_oneof![slice(), name().prop_map(|name| format!("'{name}'"))], 2..4)
            .prop_map(|members| format!("[{}]", members.join(","))),
        3 => filter(),
        1 => literal(),
    ]
}

fn slice() -> impl Strategy<Value = String> {
    let index = || prop_oneof![Just(String::new()), (-4_i64..5).prop_map(|index| index.to_string())];
    let large = select(vec!["9223372036854775807", "-9223372036854775808", "9223372036854775808"]);
    prop_oneof![
        8 => index(),
        4 => (index(), index()).prop_map(|(start, end)| format!("{start}:{end}")),
        2 => (index(), index(), index()).prop_map(|(start, end, step)| format!("{start}:{end}:{step}")),
        1 => large.prop_map(str::to_owned),
    ]
}

fn literal() -> impl Strategy<Value = String> {
    select(vec![
        "1",
        "-2",
        "+3",
        "0.5",
        "1.0",
        "1.",
        "1.5.2",
        "true",
        "false",
        "\"a\"",
        "'a'",
        "\"Ready\"",
        r#""\x41\u00e9\n""#,
        r#""\xff""#,
        r"'\''",
        r#""\"""#,
        r"'\q'",
        r"'\400'",
        r"'\u00'",
        r"'\ud800'",
        "word",
        "99999999999999999999",
    ])
    .prop_map(str::to_owned)
}

fn filter() -> impl Strategy<Value = String> {
    let operator = select(vec!["==", "!=", "<", "<=", ">", ">=", "=", "<>", " == "]);
    let side = || {
        prop_oneof![
            Just("@".to_owned()),
            name().prop_map(|name| format!("@.{}", name.replace('.', "\\."))),
            literal(),
            Just("@.*".to_owned()),
            Just("@[0]".to_owned()),
            Just("@..a".to_owned()),
        ]
    };
    prop_oneof![
        1 => side().prop_map(|side| format!("[?({side})]")),
        3 => (side(), operator, side()).prop_map(|(left, operator, right)| format!("[?({left}{operator}{right})]")),
    ]
}
