//! What paths select and say; the cases follow client-go's own tests where those exist.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Asserts what a template prints for an object, or the text of the error after `error: `.
#[track_caller]
fn check(object: &Value, cases: &[(&str, &str)]) {
    for (template, expected) in cases {
        assert_eq!(outcome(JsonPath::parse(template), object), *expected, "{template}");
    }
}

fn outcome(path: Result<JsonPath, ParseError>, object: &Value) -> String {
    match path.map(|path| path.render(object)) {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => format!("error: {error}"),
        Err(error) => format!("error: {error}"),
    }
}

fn nodes() -> Value {
    json!({
        "kind": "List",
        "items": [
            {"kind": "None", "metadata": {"name": "127.0.0.1", "labels": {"kubernetes.io/hostname": "one"}},
             "status": {"capacity": {"cpu": "4"}, "ready": true,
                        "addresses": [{"type": "LegacyHostIP", "address": "127.0.0.1"}]}},
            {"kind": "None", "metadata": {"name": "127.0.0.2", "labels": {"kubernetes.io/hostname": "two"}},
             "status": {"capacity": {"cpu": "8"}, "ready": false,
                        "addresses": [{"type": "LegacyHostIP", "address": "127.0.0.2"},
                                      {"type": "another", "address": "127.0.0.3"}]}},
        ],
        "users": [{"name": "myself", "user": {}},
                  {"name": "e2e", "user": {"username": "admin", "password": "secret"}}],
    })
}

#[test]
fn templates_mix_text_and_actions() {
    check(
        &nodes(),
        &[
            ("", ""),
            ("hello", "hello"),
            ("hello {.kind}!", "hello List!"),
            ("{.kind}{.kind}", "ListList"),
            ("{'single'} {\"double\"}", "single double"),
            (r#"{"tab\tquote\" \u00e9 \x41 \101"}"#, "tab\tquote\" é A A"),
            (r#"{"\xff\xc3"}"#, "\u{fffd}\u{fffd}"),
            ("{1}{-2}{+3}{4.50}", "1-234.5"),
            ("{true}{false}", "truefalse"),
            ("{1 2}", "2"),
            ("}", "}"),
            (
                "{}",
                r#"{"items":[{"kind":"None","metadata":{"labels":{"kubernetes.io/hostname":"one"},"name":"127.0.0.1"},"status":{"addresses":[{"address":"127.0.0.1","type":"LegacyHostIP"}],"capacity":{"cpu":"4"},"ready":true}},{"kind":"None","metadata":{"labels":{"kubernetes.io/hostname":"two"},"name":"127.0.0.2"},"status":{"addresses":[{"address":"127.0.0.2","type":"LegacyHostIP"},{"address":"127.0.0.3","type":"another"}],"capacity":{"cpu":"8"},"ready":false}}],"kind":"List","users":[{"name":"myself","user":{}},{"name":"e2e","user":{"password":"secret","username":"admin"}}]}"#,
            ),
        ],
    );
}

#[test]
fn fields_are_found_by_name_quote_and_escape() {
    check(
        &nodes(),
        &[
            ("{.kind}", "List"),
            ("{$.kind}", "List"),
            ("{@.kind}", "List"),
            ("{ .kind }", "List"),
            ("{['kind']}", "List"),
            ("{.items[0]['metadata.name']}", "127.0.0.1"),
            (r"{.items[0].metadata.labels.kubernetes\.io/hostname}", "one"),
            (r"{.items[0].metadata.labels['kubernetes\.io/hostname']}", "one"),
            ("{.items[0].status.capacity}", r#"{"cpu":"4"}"#),
            ("{.none}", "error: none is not found"),
            ("{.kind.none}", "error: none is not found"),
            ("{.items.none}", "error: none is not found"),
            ("{.}", "error:  is not found"),
        ],
    );
}

#[test]
fn a_missing_key_is_nothing_when_it_is_allowed() {
    let path = JsonPath::parse("before-{.none.at.all}after").unwrap().allow_missing_keys();
    assert_eq!(path.render(&nodes()).unwrap(), "before-after");
}

#[test]
fn lists_are_cut_by_index_slice_step_and_union() {
    check(
        &json!([0, 1, 2, 3, 4]),
        &[
            ("{[0]}", "0"),
            ("{[-1]}", "4"),
            ("{[]}", "0"),
            ("{[*]}", "0 1 2 3 4"),
            ("{[:]}", "0 1 2 3 4"),
            ("{[1:3]}", "1 2"),
            ("{[:-2]}", "0 1 2"),
            ("{[-2:]}", "3 4"),
            ("{[::2]}", "0 2 4"),
            ("{[1::3]}", "1 4"),
            ("{[2:2]}", ""),
            ("{[0,-1, 2:4]}", "0 4 2 3"),
            ("{[5]}", "error: array index out of bounds: index 5, length 5"),
            ("{[-6]}", "error: array index out of bounds: index -1, length 5"),
            ("{[0:7]}", "error: array index out of bounds: index 6, length 5"),
            ("{[3:1]}", "error: starting index 3 is greater than ending index 1"),
            ("{[::0]}", "error: step must be > 0"),
            ("{[::-1]}", "error: step must be > 0"),
            (
                "{[9223372036854775807]}",
                "error: array index out of bounds: index 9223372036854775807, length 5",
            ),
            ("{.a}", "error: a is not found"),
        ],
    );
    check(
        &json!({"map": {}, "text": "t", "int": 1, "float": 1.5, "bool": true, "null": null, "empty": []}),
        &[
            ("{.map[0]}", "error: map[string]interface {} is not array or slice"),
            ("{.text[0]}", "error: string is not array or slice"),
            ("{.int[0]}", "error: int64 is not array or slice"),
            ("{.float[0]}", "error: float64 is not array or slice"),
            ("{.bool[0]}", "error: bool is not array or slice"),
            ("{1[0]}", "error: int is not array or slice"),
            ("{.text.*[0]}", "error: uint8 is not array or slice"),
            ("{.null[0]}", ""),
            ("{.empty[0]}", "error: array index out of bounds: index 0, length 0"),
            ("{.empty[-1]}", "error: array index out of bounds: index -1, length 0"),
            ("{.empty[*]}", ""),
        ],
    );
}

#[test]
fn values_are_printed_like_kubectl_prints_them() {
    check(
        &json!({"int": 7, "float": 1e21, "one": 1.0, "bool": true, "null": null, "text": "<&>", "list": ["<&>", null, 2.5]}),
        &[
            ("{.int} {.float} {.one} {.bool} {.null} {.text}", "7 1e+21 1 true null <&>"),
            ("{.list}", r#"["\u003c\u0026\u003e",null,2.5]"#),
            ("{.text.*}", "60 38 62"),
        ],
    );
    check(&Value::Null, &[("{@}", "<no value>")]);
}

#[test]
fn wildcards_and_descent_visit_maps_in_the_order_of_their_keys() {
    check(
        &json!({"b": {"name": "x", "n": 1}, "a": [{"name": "y"}, [], {}, ""]}),
        &[
            ("{.*}", r#"[{"name":"y"},[],{},""] {"n":1,"name":"x"}"#),
            ("{.b.*}", "1 x"),
            ("{..name}", "y x"),
            ("{...name}", "y x"),
            (
                "{..}",
                r#"{"a":[{"name":"y"},[],{},""],"b":{"n":1,"name":"x"}} [{"name":"y"},[],{},""] {"name":"y"} y {"n":1,"name":"x"} x"#,
            ),
            ("{..[0]}", "error: map[string]interface {} is not array or slice"),
            ("{.a[*].name}", "y"),
        ],
    );
}

#[test]
fn filters_compare_values_of_the_same_type() {
    check(
        &json!([{"n": 1, "s": "a", "b": true}, {"n": 2, "s": "b", "f": 1.5}, {"n": 3, "s": "c", "x": null}]),
        &[
            ("{[?(@.n==2)].s}", "b"),
            ("{[?(@.n != 2)].s}", "a c"),
            ("{[?(@.n<2)].s}", "a"),
            ("{[?(@.n<=2)].s}", "a b"),
            ("{[?(@.n>2)].s}", "c"),
            ("{[?(@.n>=2)].s}", "b c"),
            (r#"{[?(@.s=="b")].n}"#, "2"),
            ("{[?(@.s=='b')].n}", "2"),
            (r#"{[?(@.s == ")")].n}"#, ""),
            ("{[?(@.b)].n}", "1"),
            ("{[?(@.b==true)].n}", "error: b is not found"),
            ("{[?(@.x)].n}", "3"),
            ("{[?(@.x[0])].n}", ""),
            ("{[?(@.n[0])].n}", "1 2 3"),
            ("{[?(@.n=='1')]}", "error: incompatible types for comparison"),
            ("{[?(@.n==1.0)]}", "error: incompatible types for comparison"),
            ("{[?(@==1)]}", "error: invalid type for comparison"),
            ("{[?(@.n<>1)]}", "error: unrecognized filter operator <>"),
            ("{[?(@.* == 1)]}", "error: can only compare one element at a time"),
            ("{[0][?(@.n)]}", "error: map[b:true n:1 s:a] is not array or slice and cannot be filtered"),
            ("{[2].x[?(@.n)]}", "error: <nil> is not array or slice and cannot be filtered"),
        ],
    );
    check(
        &json!([true, false]),
        &[("{[?(@==true)]}", "true"), ("{[?(@<true)]}", "error: invalid type for comparison")],
    );
}

#[test]
fn ranges_repeat_up_to_their_end() {
    check(
        &nodes(),
        &[
            ("{range .items[*]}{.metadata.name}, {end}{.kind}", "127.0.0.1, 127.0.0.2, List"),
            (
                "{range .items[*]}{range .status.addresses[*]}{.address};{end}|{end}",
                "127.0.0.1;|127.0.0.2;127.0.0.3;|",
            ),
            ("{range .users[*]}unended ", "unended unended unended "),
            ("{range .users[*]}{.name}", "error: name is not found"),
            ("{range .users[?(@.name=='x')]}{'never'}{end}done", "done"),
            ("{range .users[?(@.name=='x')]}{.name}{end}", "error: name is not found"),
            ("{range .users[?(@.name=='x')]}{[0]}{end}", "error: there is no value to select from"),
            ("{end}", "error: not in range, nothing to end"),
            ("{range .users[*]}{end}{end}", "error: not in range, nothing to end"),
        ],
    );
    check(&json!({"l": [1, null]}), &[("{range .l[*]}<{@}>{end}", "<1><<no value>>")]);
}

#[test]
fn mistakes_in_templates_are_named_as_client_go_names_them() {
    check(
        &nodes(),
        &[
            ("{.kind", "error: unclosed action"),
            ("{.kind\n}", "error: unclosed action"),
            ("{hello}", "error: unrecognized identifier hello"),
            ("{(}", "error: unrecognized character in action: U+0028 '('"),
            ("{\t}", "error: unrecognized character in action: U+0009"),
            ("{\u{a0}}", "error: unrecognized character in action: U+00A0"),
            ("{€}", "error: unrecognized character in action: U+20AC '€'"),
            ("{....kind}", "error: invalid multiple recursive descent"),
            ("{1.2.3}", "error: cannot parse number 1.2.3"),
            ("{-}", "error: cannot parse number -"),
            ("{[0}", "error: unterminated array"),
            ("{[a]}", "error: invalid array index a"),
            ("{[\"a\"]}", "error: invalid array index \"a\""),
            ("{[1:2:3:4]}", "error: invalid array index 1:2:3:4"),
            ("{[-]}", "error: array index - is not a number"),
            ("{[99999999999999999999]}", "error: array index 99999999999999999999 is not a number"),
            ("{[?(@.a}", "error: unterminated filter"),
            ("{[?(@.a=='b)]}", "error: unterminated filter"),
            ("{[?(@.a)}", "error: unclosed array expect ]"),
            ("{'a}", "error: unterminated quoted string"),
            (r"{'a\'}", "error: unterminated quoted string"),
            (r"{'a\qb'}", r"error: unquote string 'a\qb' error invalid syntax"),
        ],
    );
}

#[test]
fn a_relaxed_path_needs_neither_braces_nor_dot() {
    let object = json!({"status": {"phase": "Bound"}, "a.b": 1, "list": [{"phase": "inner"}]});
    for path in [
        "status.phase",
        ".status.phase",
        "{.status.phase}",
        "{status.phase}",
        "$.status.phase",
        "['status'].phase",
    ] {
        assert_eq!(outcome(JsonPath::parse_relaxed(path), &object), "Bound", "{path}");
    }
    let check =
        |path, expected| assert_eq!(outcome(JsonPath::parse_relaxed(path), &object), expected, "{path}");
    check(r"a\.b", "1");
    check("..phase", "inner Bound");
    check("status.{phase}", "error: unrecognized character in action: U+007B '{'");
    check("status.phase[", "error: unterminated array");
    check("", "error:  is not found");
}

#[test]
fn places_name_what_is_selected_and_nothing_else() {
    let object = json!({"a.b": [{"c": 1}, {"c": 2}], "d": null});
    let places = |path| {
        let places = JsonPath::parse(path).unwrap().find_places(&object).unwrap();
        let pointer = |step: &Step| match step {
            Step::Key(key) => format!("/{key}"),
            Step::Index(index) => format!("#{index}"),
        };
        places.iter().map(|place| place.iter().map(pointer).collect::<String>()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(places(r"{.a\.b[*].c}"), "/a.b#0/c /a.b#1/c");
    assert_eq!(places(r"{.a\.b[?(@.c==2)].c}"), "/a.b#1/c");
    assert_eq!(places("{..c}"), "/a.b#0/c /a.b#1/c");
    assert_eq!(places("{.*}"), "/a.b /d");
    assert_eq!(places("text {'quoted'} {1}"), "");
    assert_eq!(places(r"{range .a\.b[*]}{.c}{end}"), "/a.b#0/c /a.b#1/c");
    assert_eq!(JsonPath::parse("{@}").unwrap().find_places(&object).unwrap(), vec![Place::new()]);
}

#[test]
fn pruning_keeps_structure_and_positions() {
    let object =
        json!({"status": {"list": [{"a": 1, "b": 2}, {"a": 3}, {"a": 5}], "other": true}, "spec": {}});
    let pruned = |path| {
        let places = JsonPath::parse_relaxed(path).unwrap().find_places(&object).unwrap();
        prune(&object, &places).unwrap_or(Value::Null)
    };
    assert_eq!(pruned("status.list[0].a"), json!({"status": {"list": [{"a": 1}]}}));
    assert_eq!(pruned("status.list[1].a"), json!({"status": {"list": [null, {"a": 3}]}}));
    assert_eq!(pruned("status.list[0,2].a"), json!({"status": {"list": [{"a": 1}, null, {"a": 5}]}}));
    assert_eq!(pruned("status.list[?(@.a>2)]"), json!({"status": {"list": [null, {"a": 3}, {"a": 5}]}}));
    assert_eq!(pruned("status.list[*].a"), json!({"status": {"list": [{"a": 1}, {"a": 3}, {"a": 5}]}}));
    assert_eq!(pruned("status['list','other']"), object_without_spec(&object));
    assert_eq!(pruned("$"), object);
    assert_eq!(prune(&object, &[vec![Step::Key("none".into())], vec![Step::Index(0)]]), None);
}

fn object_without_spec(object: &Value) -> Value {
    json!({"status": object["status"]})
}

#[test]
fn hostile_templates_end_in_an_error() {
    let object = json!({"e": [1, 2, 3], "deep": [[[[[[0]]]]]]});
    let check = |template: String, expected: &str| {
        assert_eq!(outcome(JsonPath::parse(&template), &object), expected, "{}…", &template[..10]);
    };
    let hundredfold = format!("[{}0]", "0,".repeat(99));
    check(format!("{{.deep{}}}", hundredfold.repeat(5)), "error: path selects too many values");
    check("{range @}".repeat(10_000), "error: path selects too many values");
    check("{range .e[*]}{range $.e}".repeat(50), "error: e is not found");
    check("{".repeat(100_000), "error: unrecognized character in action: U+007B '{'");
    check(format!("{{{}}}", "[".repeat(100_000)), "error: unterminated array");
    check(format!("{{{}}}", "[?(".repeat(100_000)), "error: unterminated filter");
    check(format!("{{{}}}", ".a".repeat(100_000)), "error: a is not found");
    check(format!("{{[{}]}}", "0,".repeat(100_000)), "error: map[string]interface {} is not array or slice");
}

proptest! {
    /// Whatever is written, the answer is a value or an error. `fuzz/` drives the same function.
    #[test]
    fn any_template_gives_an_answer(template in r#"[{}\[\]().*?@$,:'"=<>!\\ 0-9a-c\n-]{0,40}"#, deep in any::<bool>()) {
        let object = if deep { nodes() } else { json!([[0, "a", {"a": [1, 2]}], {"b": null, "c": "b"}]) };
        fuzz(format!("{template}\0{object}").as_bytes());
    }

    #[test]
    fn any_bytes_give_an_answer(data in prop::collection::vec(any::<u8>(), 0..60)) {
        fuzz(&data);
    }

    #[test]
    fn what_is_at_a_place_is_what_was_found(template in r"\{(\.[abc*]|\[[*0-2]\]|\.\.|\[[0-1]:\]){1,4}\}") {
        // No texts: a wildcard selects their bytes, which are nowhere.
        let object = json!({"a": [{"b": [1, {"c": 2}], "c": {"a": 3}}, {"b": 7}], "b": {"a": {"c": [4]}, "c": 5}, "c": 6});
        let path = JsonPath::parse(&template);
        let selected = path.as_ref().ok().and_then(|path| Some((path.find(&object).ok()?, path.find_places(&object).ok()?)));
        let Some((found, places)) = selected else { return Ok(()) };
        prop_assert_eq!(found.len(), places.len());
        let pruned = prune(&object, &places);
        for (value, place) in found.iter().zip(&places) {
            prop_assert_eq!(at(&object, place), Some(value.as_ref()));
            // Pruning keeps every selected value where it was.
            prop_assert_eq!(pruned.as_ref().and_then(|pruned| at(pruned, place)), Some(value.as_ref()));
        }
    }
}

fn at<'v>(object: &'v Value, place: &[Step]) -> Option<&'v Value> {
    place.iter().try_fold(object, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}
