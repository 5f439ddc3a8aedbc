//! Kubernetes quantities as exact decimal numbers, so that `1000m` is `1` and `1Gi` is `1024Mi`.
//!
//! The grammar and the limits are those of apimachinery's `resource.ParseQuantity`: values finer than a billionth are
//! rounded away from zero, and those with a binary suffix end at 2⁶³−1.

use std::fmt;

use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, RoundingMode};
use serde_json::Value;

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(BigDecimal);

/// A quantity has at most so many digits after the point.
const NANO: i64 = 9;

impl Quantity {
    /// Reads a quantity such as `500m`, `1.5Gi` or `2e3`; nothing if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let is_negative = *text.as_bytes().first()? == b'-';
        let (whole, rest) = split_digits(text.strip_prefix(['+', '-']).unwrap_or(text));
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        let unit = Unit::parse(suffix)?;

        let magnitude: BigInt = format!("0{whole}{fraction}").parse().ok()?;
        let digits = if is_negative { -magnitude } else { magnitude };
        let scale = i64::try_from(fraction.len()).ok()?;
        let number = match unit {
            Unit::Decimal(power) => BigDecimal::new(digits, scale - i64::from(power)),
            Unit::Binary(power) => BigDecimal::new(digits << power, scale),
        };
        let is_too_fine = number.fractional_digit_count() > NANO;
        let number = if is_too_fine { number.with_scale_round(NANO, RoundingMode::Up) } else { number };
        Some(Self(match unit {
            Unit::Decimal(_) => number,
            Unit::Binary(_) => number.clamp((-i64::MAX).into(), i64::MAX.into()),
        }))
    }

    /// Reads a quantity from JSON, where it may also be a plain number.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }
}

/// The number without a suffix; equal quantities are written alike.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.normalized().to_plain_string())
    }
}

/// What the number is multiplied with.
#[derive(Clone, Copy)]
enum Unit {
    Decimal(i32),
    Binary(u32),
}

impl Unit {
    fn parse(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "" => Self::Decimal(0),
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            _ => Self::Decimal(suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
        })
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}
