//! Kubernetes quantities as exact decimal numbers, so that `1000m` is `1` and `1Gi` is `1024Mi`.
//!
//! The grammar and the limits are those of apimachinery's `resource.ParseQuantity`: values finer than a billionth are
//! rounded away from zero, and those with a binary suffix end at 2⁶³−1.

use serde_json::Value;

#[cfg(test)]
mod tests;

/// An exact decimal number: `±digits × 10^exponent`, without leading or trailing zeros, so that equal numbers are equal
/// values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quantity {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

/// The finest value a quantity can have.
const NANO: i64 = -9;
/// The largest value with a binary suffix.
const BINARY_MAX: u64 = i64::MAX as u64;

impl Quantity {
    /// Reads a quantity such as `500m`, `1.5Gi` or `2e3`; nothing if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (sign, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        let unit = Unit::parse(suffix)?;

        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').collect();
        let mut exponent = -i64::try_from(fraction.len()).ok()?;
        match unit {
            Unit::Decimal(power) => exponent += i64::from(power),
            Unit::Binary(power) => multiply(&mut digits, 1 << power),
        }
        let mut number = Self { negative: sign, digits, exponent };
        number.round_up_to_nano();
        number.normalize();
        if matches!(unit, Unit::Binary(_)) && number.exceeds(BINARY_MAX) {
            number.digits = BINARY_MAX.to_string().bytes().map(|digit| digit - b'0').collect();
            number.exponent = 0;
        }
        Some(number)
    }

    /// Reads a quantity from JSON, where it may also be a plain number.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    fn round_up_to_nano(&mut self) {
        let Ok(excess) = usize::try_from(NANO - self.exponent) else { return };
        let kept = self.digits.len().saturating_sub(excess);
        let is_inexact = self.digits[kept..].iter().any(|digit| *digit != 0);
        self.digits.truncate(kept);
        self.exponent = NANO;
        if is_inexact {
            let nines = self.digits.iter().rev().take_while(|digit| **digit == 9).count();
            self.digits.truncate(kept - nines);
            match self.digits.last_mut() {
                Some(digit) => *digit += 1,
                None => self.digits.push(1),
            }
            self.digits.resize(self.digits.len() + nines, 0);
        }
    }

    fn normalize(&mut self) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
        if self.digits.is_empty() {
            self.negative = false;
            self.exponent = 0;
        }
    }

    /// Whether the magnitude of the normalized number is above `limit`.
    fn exceeds(&self, limit: u64) -> bool {
        let limit: Vec<u8> = limit.to_string().bytes().map(|digit| digit - b'0').collect();
        let places =
            |digits: &[u8], exponent: i64| i64::try_from(digits.len()).map_or(i64::MAX, |len| len + exponent);
        // With as many places before the point, the first digit that differs decides, and further ones add.
        let order = places(&self.digits, self.exponent).cmp(&places(&limit, 0));
        order.then_with(|| self.digits.cmp(&limit)).is_gt()
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

/// Multiplies the number that `digits` spell.
fn multiply(digits: &mut Vec<u8>, factor: u64) {
    let mut carry = 0_u128;
    for digit in digits.iter_mut().rev() {
        carry += u128::from(*digit) * u128::from(factor);
        *digit = last_digit(carry);
        carry /= 10;
    }
    let mut leading = Vec::new();
    while carry > 0 {
        leading.push(last_digit(carry));
        carry /= 10;
    }
    digits.splice(0..0, leading.into_iter().rev());
}

fn last_digit(number: u128) -> u8 {
    u8::try_from(number % 10).expect("a decimal digit fits a byte")
}
