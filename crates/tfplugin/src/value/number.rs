//! Numbers as exact as Terraform's own: a decimal of any length, and the two infinities.

use std::fmt;

use bigdecimal::{BigDecimal, ToPrimitive as _};

/// A number of any size and precision, compared by its value.
///
/// Terraform calculates with 512 bits, so `0.1` is not the float nearest to it, and returning that float would return
/// another number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(Repr);

/// In ascending order, for the derived comparison.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Repr {
    NegativeInfinity,
    Finite(BigDecimal),
    Infinity,
}

/// A text is not a number, or one beyond what Terraform could write down.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a number: {0}")]
pub struct NumberError(String);

/// Numbers with more digits before or after the point are refused: written out, they would fill the memory.
const MAX_DIGITS: usize = 10_000;

impl Number {
    /// Parses digits with an optional point and an optional exponent.
    pub fn parse(text: &str) -> Result<Self, NumberError> {
        match text {
            "Inf" | "+Inf" => Ok(Self(Repr::Infinity)),
            "-Inf" => Ok(Self(Repr::NegativeInfinity)),
            _ => match parse_decimal(text) {
                Some(decimal) => Ok(Self(Repr::Finite(decimal))),
                None => Err(NumberError(text.chars().take(40).collect())),
            },
        }
    }

    /// The exact value of a float; `None` for NaN.
    pub(crate) fn from_exact_f64(float: f64) -> Option<Self> {
        match float {
            f64::INFINITY => Some(Self(Repr::Infinity)),
            f64::NEG_INFINITY => Some(Self(Repr::NegativeInfinity)),
            float => BigDecimal::try_from(float).ok().map(|decimal| Self(Repr::Finite(decimal))),
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Finite(decimal) if decimal.is_integer() => decimal.to_i64(),
            _ => None,
        }
    }

    /// The form on the wire: an integer, a float or a string, whichever is exact.
    ///
    /// Terraform writes a float into the state with the fewest digits that identify it, and reads those digits back as the
    /// number they say. Where that is another number, only the string preserves ours.
    pub(crate) fn to_wire(&self) -> WireNumber {
        let decimal = match &self.0 {
            Repr::Infinity => return WireNumber::Float(f64::INFINITY),
            Repr::NegativeInfinity => return WireNumber::Float(f64::NEG_INFINITY),
            Repr::Finite(decimal) => decimal,
        };
        if let Some(int) = self.as_i64() {
            return WireNumber::Int(int);
        }
        let text = decimal.to_plain_string();
        match text.parse::<f64>() {
            Ok(float)
                if !decimal.is_integer()
                    && BigDecimal::try_from(float).is_ok_and(|exact| exact == *decimal)
                    && parse_decimal(&float.to_string()).as_ref() == Some(decimal) =>
            {
                WireNumber::Float(float)
            }
            _ => WireNumber::Text(text),
        }
    }
}

#[derive(Debug, PartialEq)]
pub(crate) enum WireNumber {
    Int(i64),
    Float(f64),
    Text(String),
}

impl From<i64> for Number {
    fn from(int: i64) -> Self {
        Self(Repr::Finite(int.into()))
    }
}

impl From<u64> for Number {
    fn from(int: u64) -> Self {
        Self(Repr::Finite(int.into()))
    }
}

/// Written out, without an exponent.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::NegativeInfinity => f.write_str("-Inf"),
            Repr::Finite(decimal) => decimal.write_plain_string(f),
            Repr::Infinity => f.write_str("Inf"),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn parse_decimal(text: &str) -> Option<BigDecimal> {
    // BigDecimal also reads digits that underscores group.
    if text.len() > MAX_DIGITS || text.contains('_') {
        return None;
    }
    // Trailing zeros mean nothing, and written out they would be digits.
    let decimal = text.parse::<BigDecimal>().ok()?.normalized();
    let before_point = i64::try_from(decimal.digits()).ok()?.checked_sub(decimal.fractional_digit_count())?;
    let longest = before_point.max(decimal.fractional_digit_count());
    usize::try_from(longest).is_ok_and(|digits| digits <= MAX_DIGITS).then_some(decimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn a_number_is_written_out_and_sent_as_go_cty_sends_it() {
        let check = |text: &str, written: &str, wire: WireNumber| {
            assert_eq!(number(text).to_string(), written, "{text}");
            assert_eq!(number(text).to_wire(), wire, "{text}");
        };
        check("0", "0", WireNumber::Int(0));
        check("-0.000", "0", WireNumber::Int(0));
        check("007", "7", WireNumber::Int(7));
        check("1e3", "1000", WireNumber::Int(1000));
        check("1000.000", "1000", WireNumber::Int(1000));
        check("-9223372036854775808", "-9223372036854775808", WireNumber::Int(i64::MIN));
        check(
            "9223372036854775808",
            "9223372036854775808",
            WireNumber::Text("9223372036854775808".to_owned()),
        );
        check(
            "18446744073709551616",
            "18446744073709551616",
            WireNumber::Text("18446744073709551616".to_owned()),
        );
        check("0.5", "0.5", WireNumber::Float(0.5));
        check("-1.25e1", "-12.5", WireNumber::Float(-12.5));
        check("0.1", "0.1", WireNumber::Text("0.1".to_owned()));
        check("1.5e-3", "0.0015", WireNumber::Text("0.0015".to_owned()));
        check(
            "12345678901234567890.5",
            "12345678901234567890.5",
            WireNumber::Text("12345678901234567890.5".to_owned()),
        );
        check("-Inf", "-Inf", WireNumber::Float(f64::NEG_INFINITY));
    }

    #[test]
    fn a_float_has_its_exact_value() {
        assert_eq!(Number::from_exact_f64(f64::INFINITY), Some(number("Inf")));
        assert_eq!(Number::from_exact_f64(0.5), Some(number("0.5")));
        assert_eq!(Number::from_exact_f64(-3.0), Some(Number::from(-3_i64)));
        assert_eq!(Number::from_exact_f64(1e20), Some(number("100000000000000000000")));
        assert_eq!(Number::from_exact_f64(f64::NAN), None);
        // A state would turn this float into 0.1, so it is sent as text.
        let tenth = "0.1000000000000000055511151231257827021181583404541015625";
        assert_eq!(Number::from_exact_f64(0.1), Some(number(tenth)));
        assert_eq!(Number::from_exact_f64(0.1).unwrap().to_wire(), WireNumber::Text(tenth.to_owned()));
        let tiny = Number::from_exact_f64(f64::MIN_POSITIVE).unwrap();
        assert_eq!(tiny.to_string().parse::<f64>().unwrap().to_bits(), f64::MIN_POSITIVE.to_bits());
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
    fn other_text_and_excessive_numbers_are_refused() {
        for text in
            ["", "-", ".", "1.2.3", "0x10", "1e", "ten", "NaN", "1e999999999", "1e99999999999", "1e-20000"]
        {
            assert!(Number::parse(text).is_err(), "{text}");
        }
    }
}
