//! Numbers as Go reads and writes them, since state files, messages and keys were written by Go programs.

use std::fmt::LowerExp;
use std::str::FromStr;

use serde_json::Number;

use crate::scalar::Scalar;

/// A float64 as Go's `encoding/json` writes it: `1`, `0.1`, `1e+21`, `1e-7`.
///
/// JSON has no infinity and no NaN, and [`Number`] cannot hold them.
pub fn json_float(float: f64) -> String {
    let magnitude = float.abs();
    let decimal = Decimal::shortest(float);
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return decimal.positional();
    }
    // The form ES6 has: no zero in front of the exponent.
    decimal.scientific(1)
}

/// A float64 as Go's `fmt` shows it with `%v`, which is `strconv.FormatFloat(f, 'g', -1, 64)`: `1e+06`, `0.1`, `+Inf`.
pub fn display_float(float: f64) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    Decimal::shortest(float).general()
}

/// The text of a number in a message or a projection: integers in full, floats as [`display_float`] has them.
pub fn display_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => display_float(float),
        _ => number.to_string(),
    }
}

/// The text of a number in JSON: integers in full, floats as [`json_float`] has them.
pub fn json_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => json_float(float),
        _ => number.to_string(),
    }
}

/// A float64 as Kubernetes holds it after it went through JSON: whole numbers that fit become an int64.
///
/// JSON's shortest text decides: 2⁶⁰ + 0.0 is written `1152921504606847000`, and that is the integer read back.
pub(crate) fn normalize(float: f64) -> Option<Number> {
    let is_whole = float.fract() == 0.0 && float.abs() < 1e19;
    if let Some(int) = is_whole.then(|| json_float(float).parse::<i64>().ok()).flatten() {
        return Some(Number::from(int));
    }
    Number::from_f64(float)
}

/// A float64 as a key of a JSON object; sigs.k8s.io/yaml writes keys with the precision of a float32.
pub(crate) fn key_text(float: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "the library does the same")]
    let float = float as f32;
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    Decimal::shortest(float).general()
}

/// A finite number as the fewest decimal digits that identify it.
struct Decimal {
    negative: bool,
    /// Without a point; at least one.
    digits: String,
    /// The power of ten of the first digit.
    exponent: i32,
}

impl Decimal {
    /// Of two equally short and equally close texts Go takes the one with the even digit, Rust the larger one.
    fn shortest<F: Copy + PartialEq + FromStr + LowerExp>(float: F) -> Self {
        let shortest = Self::parse(&format!("{float:e}"));
        let precision = shortest.digits.len() - 1;
        let text = format!("{float:.precision$e}");
        if text.parse().is_ok_and(|read: F| read == float) { Self::parse(&text) } else { shortest }
    }

    /// Parses Rust's `{:e}` form.
    fn parse(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').expect("Rust writes an exponent with {:e}");
        let (negative, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
        Self {
            negative,
            digits: mantissa.replace('.', ""),
            exponent: exponent.parse().expect("Rust writes the exponent as an integer"),
        }
    }

    /// Go's `'g'`, which decides as if six digits had been asked for.
    fn general(&self) -> String {
        if (-4..6).contains(&self.exponent) { self.positional() } else { self.scientific(2) }
    }

    /// With an exponent of at least `width` digits.
    fn scientific(&self, width: usize) -> String {
        let (first, rest) = self.digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if self.exponent < 0 { '-' } else { '+' };
        format!("{}{first}{point}{rest}e{sign}{:0width$}", self.sign(), self.exponent.unsigned_abs())
    }

    /// Without an exponent.
    fn positional(&self) -> String {
        let Ok(exponent) = usize::try_from(self.exponent) else {
            let zeros = "0".repeat(self.exponent.unsigned_abs() as usize - 1);
            return format!("{}0.{zeros}{}", self.sign(), self.digits);
        };
        let whole = exponent + 1;
        if self.digits.len() <= whole {
            return format!("{}{}{}", self.sign(), self.digits, "0".repeat(whole - self.digits.len()));
        }
        let (whole, fraction) = self.digits.split_at(whole);
        format!("{}{whole}.{fraction}", self.sign())
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }
}

/// An integer as `strconv.ParseInt` and then `ParseUint` read it in base 0.
pub(crate) fn parse_int<'t>(text: &str) -> Option<Scalar<'t>> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = parse_magnitude(digits)?;
    if negative {
        return 0_i64.checked_sub_unsigned(magnitude).map(Scalar::Int);
    }
    match i64::try_from(magnitude) {
        Ok(int) => Some(Scalar::Int(int)),
        Err(_) if digits.len() == text.len() => Some(Scalar::UInt(magnitude)),
        // ParseUint takes no sign.
        Err(_) => None,
    }
}

fn parse_magnitude(digits: &str) -> Option<u64> {
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'b' | b'B', _, ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &digits[2..]),
        [b'0', b'x' | b'X', _, ..] => (16, &digits[2..]),
        [b'0'] => return Some(0),
        [b'0', ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // from_str_radix would accept a sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// A float in go-yaml's form: sign, digits with at most one point, exponent; an overflow is not a number.
pub(crate) fn parse_decimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let well_formed = digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            digits(exponent) && !exponent.is_empty()
        });
    if !well_formed {
        return None;
    }
    text.parse().ok().filter(|float: &f64| float.is_finite())
}

/// A float that begins with a point, as `strconv.ParseFloat` reads it: underscores may stand between digits.
pub(crate) fn parse_leading_dot(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let between_digits = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_').all(|(at, _)| {
        // Several underscores in a row have one as a neighbour, so this refuses them as Go does.
        bytes[at - 1].is_ascii_digit() && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
    });
    if !between_digits {
        return None;
    }
    parse_decimal(&text.replace('_', ""))
}

fn digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
