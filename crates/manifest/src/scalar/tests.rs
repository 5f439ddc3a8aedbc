//! The rules for scalars as tables, so that each can be looked up without Go at hand.

use serde_json::json;

use super::*;

#[track_caller]
fn check(text: &str, expected: &Value) {
    let written = Written { text: text.into(), plain: true, tag: Tag::Absent };
    assert_eq!(resolve(written).and_then(Scalar::into_value).as_ref(), Ok(expected), "{text}");
}

#[test]
fn plain_scalars_mean_what_go_yaml_takes_them_for() {
    for text in ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"] {
        check(text, &json!(true));
    }
    for text in ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"] {
        check(text, &json!(false));
    }
    for text in ["", "~", "null", "Null", "NULL"] {
        check(text, &Value::Null);
    }
    for (text, number) in [
        ("0", 0),
        ("-0", 0),
        ("+12", 12),
        ("0644", 420),
        ("-0644", -420),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b101", 5),
        ("0b-101", -5),
        ("0888", 888),
        ("1_000", 1000),
        ("1__0_", 10),
        ("1e3", 1000),
        ("1.", 1),
        ("-9223372036854775808", i64::MIN),
        ("9223372036854775807", i64::MAX),
        // JSON's shortest text for 2⁶⁰ is not 2⁶⁰ itself.
        ("1152921504606846976.0", 1_152_921_504_606_847_000),
    ] {
        check(text, &json!(number));
    }
    for (text, number) in [
        ("1.5", 1.5),
        (".5", 0.5),
        (".5_0", 0.5),
        ("+.5", 0.5),
        ("1_000.5", 1000.5),
        ("-1.5e-3", -0.0015),
        ("18446744073709551615", 18_446_744_073_709_551_615.0),
        ("123456789012345678901234567890", 1.234_567_890_123_456_8e29),
    ] {
        check(text, &json!(number));
    }
    for text in [
        "yEs",
        "tRUE",
        "nUll",
        "None",
        "_1",
        ".",
        "+",
        "-",
        "0x",
        "0b2",
        "0o8",
        "1:30",
        "190:20:30",
        "1e400",
        ".1e400",
        "._5",
        ".5_",
        ".5__0",
        "1.5.2",
        "0x1p4",
        "1e",
        "e3",
        "infinity",
        "<<",
        "=",
        "2001-01-01",
        "0b1.5",
        "+0b-1",
    ] {
        check(text, &json!(text));
    }
}

#[test]
fn tags_decide_or_are_contradicted() {
    let check = |tag: &str, plain, text: &str, expected: Result<Value, ScalarError>| {
        let tag = Tag::of("tag:yaml.org,2002:", tag);
        let written = Written { text: text.into(), plain, tag };
        assert_eq!(resolve(written).and_then(Scalar::into_value), expected, "{tag:?} {text}");
    };
    check("str", true, "12", Ok(json!("12")));
    check("int", false, "12", Ok(json!(12)));
    check("float", true, "12", Ok(json!(12)));
    check("bool", true, "yes", Ok(json!(true)));
    check("null", false, "", Ok(Value::Null));
    check("timestamp", true, "2001-1-2", Ok(json!("2001-1-2")));
    check("binary", true, "aGVsbG8=", Ok(json!("hello")));
    check("binary", true, "//4=", Ok(json!("\u{fffd}\u{fffd}")));
    check("set", true, "12", Ok(json!("12")));
    check("int", true, "1.5", Err(ScalarError::TagMismatch));
    check("bool", true, "1", Err(ScalarError::TagMismatch));
    check("null", true, "x", Err(ScalarError::TagMismatch));
    check("float", true, "18446744073709551615", Err(ScalarError::TagMismatch));
    check("timestamp", true, "2001-2-30", Err(ScalarError::TagMismatch));
    check("binary", true, "?", Err(ScalarError::NotBase64));
    check("float", true, ".nan", Err(ScalarError::NotFinite));
}

#[test]
fn keys_become_text() {
    let check = |text: &str, expected: Result<&str, ScalarError>| {
        let written = Written { text: text.into(), plain: true, tag: Tag::Absent };
        assert_eq!(resolve(written).and_then(Scalar::into_key), expected.map(str::to_owned), "{text}");
    };
    check("yes", Ok("true"));
    check("0644", Ok("420"));
    check("1.0", Ok("1"));
    check("1.1", Ok("1.1"));
    // Keys have the precision of a float32.
    check("3.14159265358979", Ok("3.1415927"));
    check("1e6", Ok("1e+06"));
    check("-.inf", Ok("-.inf"));
    check("~", Err(ScalarError::NullKey));
    check("18446744073709551615", Err(ScalarError::HugeKey));
}
