//! Which texts are the same amount.

use serde_json::json;

use super::*;

#[test]
fn equal_amounts_are_equal_however_they_are_written() {
    let check = |left, right| {
        let (left, right) = (Quantity::from_value(&left), Quantity::from_value(&right));
        assert!(left.is_some());
        assert_eq!(left, right);
    };
    check(json!("1000m"), json!("1"));
    check(json!("1Gi"), json!("1024Mi"));
    check(json!("0.5"), json!("500m"));
    check(json!(0.5), json!("500m"));
    check(json!(2), json!("2e0"));
    check(json!("1e3"), json!("1k"));
    check(json!("+1.50"), json!("1500m"));
    check(json!("-0"), json!("0"));
    check(json!("0.1Ki"), json!("102.4"));
    // Finer than a billionth is rounded away from zero, larger than 2⁶³−1 is cut with a binary suffix.
    check(json!("0.1n"), json!("1n"));
    check(json!("-0.1n"), json!("-1n"));
    check(json!("9.9999999991"), json!("10"));
    check(json!("8Ei"), json!("9223372036854775807"));
    check(json!("123456789012345678901234567890"), json!("123456789012345678901234567.890k"));
}

#[test]
fn different_amounts_and_other_texts_differ() {
    assert_ne!(Quantity::parse("1M"), Quantity::parse("1Mi"));
    assert_ne!(Quantity::parse("1"), Quantity::parse("-1"));
    assert_ne!(Quantity::parse("8E"), Quantity::parse("8Ei"));
    for text in ["", "1 ", "1x", "1Kim", "e", "1e", "1.2.3", "--1", "Mi5"] {
        assert_eq!(Quantity::parse(text), None, "{text}");
    }
}
