//! Durations agree with Go's `time` package, texts of errors included.

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use serde_json::json;
use testkit::oracle::Oracle;

use super::*;

/// Asserts the nanoseconds and Go's way to write them, or the error.
#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(outcome(text), expected, "{text}");
}

fn outcome(text: &str) -> String {
    match text.parse::<GoDuration>() {
        Ok(duration) => format!("{} {duration}", duration.as_nanos()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn durations_are_read_and_written_as_in_go() {
    check("0", "0 0s");
    check("-0", "0 0s");
    check("30s", "30000000000 30s");
    check("10m", "600000000000 10m0s");
    check("1h30m", "5400000000000 1h30m0s");
    check("1.5h", "5400000000000 1h30m0s");
    check(".5s", "500000000 500ms");
    check("5.s", "5000000000 5s");
    check("1ms500us", "1500000 1.5ms");
    check("1µs", "1000 1µs");
    check("1μs2ns", "1002 1.002µs");
    check("-1.25s", "-1250000000 -1.25s");
    check("+1h0.000000001s", "3600000000001 1h0m0.000000001s");
    check("-9223372036854775808ns", "-9223372036854775808 -2562047h47m16.854775808s");
}

#[test]
fn errors_have_the_text_of_go() {
    check("", "time: invalid duration \"\"");
    check("soon", "time: invalid duration \"soon\"");
    check("5", "time: missing unit in duration \"5\"");
    check("5 minutes", "time: unknown unit \" minutes\" in duration \"5 minutes\"");
    check("1d", "time: unknown unit \"d\" in duration \"1d\"");
    check("1h-30m", "time: unknown unit \"h-\" in duration \"1h-30m\"");
    check(".s", "time: invalid duration \".s\"");
    check("1\"é\n", "time: unknown unit \"\\\"\\xc3\\xa9\\x0a\" in duration \"1\\\"\\xc3\\xa9\\x0a\"");
    check("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\"");
    check("2562048h", "time: invalid duration \"2562048h\"");
}

#[test]
fn a_negative_duration_has_no_counterpart_in_the_standard_library() {
    assert_eq!(GoDuration::from_nanos(1_500_000_000).to_std(), Some(Duration::from_millis(1500)));
    assert_eq!(GoDuration::from_nanos(-1).to_std(), None);
}

#[test]
fn any_text_is_read_as_go_reads_it() {
    let unit =
        || prop::sample::select(vec!["ns", "us", "µs", "μs", "ms", "s", "m", "h", "d", "", "hs", "é", " "]);
    let number = r"(0|[1-9][0-9]{0,3}|[0-9]{15,20})?(\.([0-9]{0,3}|[0-9]{15,22}))?";
    let part = (number, unit()).prop_map(|(number, unit)| number + unit);
    let text =
        (r"[+-]{0,1}", prop::collection::vec(part, 0..4)).prop_map(|(sign, parts)| sign + &parts.concat());
    // The same cases in every run.
    let rng_seed = RngSeed::Fixed(1);
    let config = ProptestConfig { cases: 4000, rng_seed, failure_persistence: None, ..Default::default() };
    let mut runner = TestRunner::new(config);
    let result = runner.run(&text, |text| {
        let theirs = match Oracle::shared().ask("duration.parse", &json!(text)) {
            Ok(answer) => answer.as_str().unwrap_or_default().to_owned(),
            Err(error) => error,
        };
        prop_assert_eq!(theirs, outcome(&text), "left is Go's, for {:?}", text);
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}
