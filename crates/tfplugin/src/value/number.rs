//! Numbers as exact as Terraform's own: what does not fit an integer or a float stays the decimal text it came as.

use std::cmp::Ordering;
use std::fmt;

/// A number of any size and precision, compared by its value however it was written.
///
/// Terraform calculates with 512 bits, so `0.1` is not the float nearest to it, and handing back that float would be
/// another number.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Repr);

/// Every number has exactly one representation, which makes equality and hashing structural.
#[derive(Clone)]
enum Repr {
    Int(i64),
    /// Neither an integer nor NaN; may be infinite.
    Float(f64),
    /// Neither an `i64` nor exactly a float.
    Decimal(Decimal),
}

/// `0.digits × 10^exponent`, without zeros at either end of the digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Decimal {
    negative: bool,
    digits: Box<str>,
    exponent: i32,
}

/// A text is not a number, or one beyond what Terraform could write down.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a number: {0}")]
pub struct NumberError(String);

/// Numbers with more digits before or after the point are refused: written out, they would fill the memory.
const MAX_DIGITS: i32 = 10_000;

impl Number {
    /// Reads a decimal number: digits, an optional point, an optional exponent.
    pub fn parse(text: &str) -> Result<Self, NumberError> {
        let not_a_number = || NumberError(text.chars().take(40).collect());
        match text {
            "Inf" | "+Inf" => return Ok(Self(Repr::Float(f64::INFINITY))),
            "-Inf" => return Ok(Self(Repr::Float(f64::NEG_INFINITY))),
            _ => {}
        }
        Decimal::parse(text).map(Self::from_decimal).ok_or_else(not_a_number)
    }

    /// The number that people read when they see the float: 0.1 is 0.1, not the binary fraction nearest to it. `None`
    /// for NaN, which is no number.
    pub fn from_f64(float: f64) -> Option<Self> {
        if float.is_finite() { Self::parse(&float.to_string()).ok() } else { Self::from_exact_f64(float) }
    }

    /// The exact value of a float; `None` for NaN.
    pub(crate) fn from_exact_f64(float: f64) -> Option<Self> {
        if float.is_nan() {
            return None;
        }
        if float.is_infinite() {
            return Some(Self(Repr::Float(float)));
        }
        // Formatting a float with a precision writes its exact value, and 1074 digits hold that of any.
        let exact = if float.fract() == 0.0 { format!("{float:.0}") } else { format!("{float:.1074}") };
        Decimal::parse(&exact).map(|decimal| match (float.fract() == 0.0, decimal.to_i64()) {
            (true, Some(int)) => Self(Repr::Int(int)),
            (true, None) => Self(Repr::Decimal(decimal)),
            (false, _) => Self(Repr::Float(float)),
        })
    }

    /// The number as an integer, if it is one of 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        if let Repr::Int(int) = self.0 { Some(int) } else { None }
    }

    /// The float nearest to the number.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            #[expect(clippy::cast_precision_loss, reason = "the nearest float is what is asked for")]
            Repr::Int(int) => *int as f64,
            Repr::Float(float) => *float,
            Repr::Decimal(_) => self.to_string().parse().expect("a written out decimal is a float literal"),
        }
    }

    /// How the number goes over the wire: an integer, a float or a text, whichever is exact.
    ///
    /// Terraform writes a float into the state with the fewest digits that identify it, and reads it back as the number
    /// these digits say. Where that is another number, only the text lets it keep ours.
    pub(crate) fn wire(&self) -> Wire {
        match &self.0 {
            Repr::Int(int) => Wire::Int(*int),
            Repr::Float(float) if float.is_infinite() => Wire::Float(*float),
            Repr::Float(float) if Decimal::parse(&float.to_string()) == self.to_decimal() => {
                Wire::Float(*float)
            }
            Repr::Float(_) | Repr::Decimal(_) => Wire::Text(self.to_string()),
        }
    }

    fn from_decimal(decimal: Decimal) -> Self {
        if let Some(int) = decimal.to_i64() {
            return Self(Repr::Int(int));
        }
        if !decimal.is_integer()
            && let Ok(float) = decimal.to_string().parse::<f64>()
            && Decimal::parse(&format!("{float:.1074}")).as_ref() == Some(&decimal)
        {
            return Self(Repr::Float(float));
        }
        Self(Repr::Decimal(decimal))
    }

    fn to_decimal(&self) -> Option<Decimal> {
        match &self.0 {
            Repr::Int(int) => Decimal::parse(&int.to_string()),
            Repr::Float(float) if float.is_infinite() => None,
            Repr::Float(float) => Decimal::parse(&format!("{float:.1074}")),
            Repr::Decimal(decimal) => Some(decimal.clone()),
        }
    }
}

/// The forms a number has on the wire.
#[derive(Debug, PartialEq)]
pub(crate) enum Wire {
    Int(i64),
    Float(f64),
    Text(String),
}

impl From<i64> for Number {
    fn from(int: i64) -> Self {
        Self(Repr::Int(int))
    }
}

impl From<u64> for Number {
    fn from(int: u64) -> Self {
        i64::try_from(int).map_or_else(
            |_| Self(Repr::Decimal(Decimal::parse(&int.to_string()).expect("an integer is a decimal"))),
            Self::from,
        )
    }
}

/// The number written out, without an exponent.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(int) => int.fmt(f),
            Repr::Float(float) if float.is_infinite() => {
                f.write_str(if *float > 0.0 { "Inf" } else { "-Inf" })
            }
            Repr::Float(_) => self.to_decimal().expect("a finite float is a decimal").fmt(f),
            Repr::Decimal(decimal) => decimal.fmt(f),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// By value.
impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Int(a), Repr::Int(b)) => a.cmp(b),
            (Repr::Float(a), _) | (_, Repr::Float(a)) if a.is_infinite() => {
                self.to_f64().total_cmp(&other.to_f64())
            }
            (Repr::Float(a), Repr::Float(b)) => a.total_cmp(b),
            _ => self.to_decimal().cmp(&other.to_decimal()),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Repr {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            // Zero is an integer, so the bits of two equal floats here are equal too.
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Decimal(a), Self::Decimal(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Repr {}

impl std::hash::Hash for Repr {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match self {
            Self::Int(int) => int.hash(state),
            Self::Float(float) => float.to_bits().hash(state),
            Self::Decimal(decimal) => decimal.hash(state),
        }
    }
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => (&unsigned[..at], unsigned[at + 1..].parse::<i32>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Self { negative: false, digits: Box::default(), exponent: 0 });
        }
        // Leading zeros move the point; trailing ones say nothing.
        let leading = i32::try_from(digits.len() - significant.len()).ok()?;
        let exponent = i32::try_from(whole.len()).ok()?.checked_add(exponent)?.checked_sub(leading)?;
        let significant = significant.trim_end_matches('0');
        let length = i32::try_from(significant.len()).ok()?;
        if exponent.abs() > MAX_DIGITS || length > MAX_DIGITS {
            return None;
        }
        Some(Self { negative, digits: significant.into(), exponent })
    }

    fn is_integer(&self) -> bool {
        i32::try_from(self.digits.len()).is_ok_and(|length| length <= self.exponent) || self.digits.is_empty()
    }

    fn to_i64(&self) -> Option<i64> {
        if !self.is_integer() || self.exponent > 19 {
            return None;
        }
        self.to_string().parse().ok()
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits.is_empty() {
            return f.write_str("0");
        }
        if self.negative {
            f.write_str("-")?;
        }
        match usize::try_from(self.exponent) {
            Ok(whole) if whole >= self.digits.len() => {
                write!(f, "{}{}", self.digits, "0".repeat(whole - self.digits.len()))
            }
            Ok(whole) if whole > 0 => write!(f, "{}.{}", &self.digits[..whole], &self.digits[whole..]),
            _ => {
                let zeros = usize::try_from(-self.exponent).unwrap_or(0);
                write!(f, "0.{}{}", "0".repeat(zeros), self.digits)
            }
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |decimal: &Self| match (decimal.digits.is_empty(), decimal.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        // `0.digits` makes comparing digits as text comparing them as fractions.
        let magnitude = || self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits));
        sign(self).cmp(&sign(other)).then_with(|| match sign(self) {
            0 => Ordering::Equal,
            1 => magnitude(),
            _ => magnitude().reverse(),
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn a_number_is_written_out_and_goes_over_the_wire_as_go_cty_sends_it() {
        let check = |text: &str, written: &str, wire: Wire| {
            assert_eq!(number(text).to_string(), written, "{text}");
            assert_eq!(number(text).wire(), wire, "{text}");
        };
        check("0", "0", Wire::Int(0));
        check("-0.000", "0", Wire::Int(0));
        check("007", "7", Wire::Int(7));
        check("1e3", "1000", Wire::Int(1000));
        check("1000.000", "1000", Wire::Int(1000));
        check("-9223372036854775808", "-9223372036854775808", Wire::Int(i64::MIN));
        check("9223372036854775808", "9223372036854775808", Wire::Text("9223372036854775808".to_owned()));
        check("18446744073709551616", "18446744073709551616", Wire::Text("18446744073709551616".to_owned()));
        check("0.5", "0.5", Wire::Float(0.5));
        check("-1.25e1", "-12.5", Wire::Float(-12.5));
        check("0.1", "0.1", Wire::Text("0.1".to_owned()));
        check("1.5e-3", "0.0015", Wire::Text("0.0015".to_owned()));
        check(
            "12345678901234567890.5",
            "12345678901234567890.5",
            Wire::Text("12345678901234567890.5".to_owned()),
        );
        check("-Inf", "-Inf", Wire::Float(f64::NEG_INFINITY));
    }

    #[test]
    fn a_float_is_what_people_read_or_exactly_its_value() {
        assert_eq!(Number::from_f64(0.1), Some(number("0.1")));
        assert_eq!(Number::from_f64(1e300), Some(number("1e300")));
        assert_eq!(Number::from_f64(f64::INFINITY), Some(number("Inf")));
        assert_eq!(Number::from_f64(f64::NAN), None);
        assert_eq!(Number::from_exact_f64(0.5), Some(number("0.5")));
        assert_eq!(Number::from_exact_f64(-3.0), Some(Number::from(-3_i64)));
        assert_eq!(Number::from_exact_f64(1e20), Some(number("100000000000000000000")));
        assert_eq!(Number::from_exact_f64(f64::NAN), None);
        // In a state this float would become 0.1, so it goes as the text that says what it is.
        let tenth = "0.1000000000000000055511151231257827021181583404541015625";
        assert_eq!(Number::from_exact_f64(0.1), Some(number(tenth)));
        assert_eq!(Number::from_exact_f64(0.1).unwrap().wire(), Wire::Text(tenth.to_owned()));
        let tiny = Number::from_exact_f64(f64::MIN_POSITIVE).unwrap();
        assert_eq!(tiny.to_f64().to_bits(), f64::MIN_POSITIVE.to_bits());
    }

    #[test]
    fn numbers_are_ordered_by_value() {
        let ordered =
            ["-Inf", "-1e30", "-2", "-0.1", "0", "1e-20", "0.1", "0.5", "2", "2.0001", "1e30", "Inf"];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(number(a).cmp(&number(b)), i.cmp(&j), "{a} and {b}");
            }
        }
    }

    #[test]
    fn what_is_no_number_or_would_fill_the_memory_is_refused() {
        for text in
            ["", "-", ".", "1.2.3", "0x10", "1e", "ten", "NaN", "1e999999999", "1e99999999999", "1e-20000"]
        {
            assert!(Number::parse(text).is_err(), "{text}");
        }
    }
}
