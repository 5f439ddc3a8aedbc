//! The order of keys: go-yaml sorts as people do, numbers by value, letters after everything else.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// The fields in the order they are written.
///
/// The order is not transitive (`2` < `12` < `1x` < `2`), and where it is not, Go's depends on chance. So this inserts
/// one by one, which takes any answer, instead of using a sort that may insist on a total order.
pub(super) fn sorted(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut sorted: Vec<(&String, &Value)> = Vec::with_capacity(fields.len());
    for field in fields {
        let at = sorted.partition_point(|earlier| compare(earlier.0, field.0).is_lt());
        sorted.insert(at, field);
    }
    sorted
}

fn compare(a: &str, b: &str) -> Ordering {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else {
        return a.len().cmp(&b.len());
    };
    match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
        (true, true) => a[at].cmp(&b[at]),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            // A zero inside a number is a digit like others; only leading ones do not count.
            let continues = (a[at] == '0' || b[at] == '0')
                && a[..at].iter().rev().take_while(|c| c.is_ascii_digit()).any(|digit| *digit != '0');
            let (a_number, a_end) = number(&a, at, continues);
            let (b_number, b_end) = number(&b, at, continues);
            a_number.cmp(&b_number).then(a_end.cmp(&b_end)).then(a[at].cmp(&b[at]))
        }
    }
}

/// The number whose digits begin at `at`, and where they end; it wraps around as Go's int64 does.
fn number(text: &[char], at: usize, continues: bool) -> (i64, usize) {
    let digits = text[at..].iter().map_while(|digit| digit.to_digit(10));
    let start = (i64::from(continues), at);
    digits
        .fold(start, |(number, end), digit| (number.wrapping_mul(10).wrapping_add(i64::from(digit)), end + 1))
}
