//! Durations as Go reads and writes them: timeouts, flags and annotations of Kubernetes tools are written this way.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// A signed span of time in nanoseconds, read like Go's `time.ParseDuration` (`1h30m`, `1.5s`, `300ms`) and written
/// like its `String` (`10m0s`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration {
    nanoseconds: i64,
}

impl GoDuration {
    pub const fn from_nanos(nanoseconds: i64) -> Self {
        Self { nanoseconds }
    }

    pub const fn as_nanos(self) -> i64 {
        self.nanoseconds
    }

    /// `None` if it is negative, which [`Duration`] cannot be.
    pub fn to_std(self) -> Option<Duration> {
        u64::try_from(self.nanoseconds).ok().map(Duration::from_nanos)
    }
}

/// Why a text is not a duration, in the words of Go's `time` package.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DurationError {
    /// Not of the form `1h30m`, or out of range.
    #[error("time: invalid duration {}", quote(.0))]
    Invalid(String),
    #[error("time: missing unit in duration {}", quote(.0))]
    MissingUnit(String),
    #[error("time: unknown unit {} in duration {}", quote(.unit), quote(.text))]
    UnknownUnit { unit: String, text: String },
}

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// The largest magnitude: that of the most negative duration.
const LIMIT: u64 = 1 << 63;

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let invalid = || DurationError::Invalid(text.to_owned());
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if unsigned == "0" {
            return Ok(Self::default());
        }
        if unsigned.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        let mut rest = unsigned;
        while !rest.is_empty() {
            let part;
            (part, rest) = read_part(rest, text)?;
            // Two halves of the whole range cancel out, in Go as here.
            total = total.wrapping_add(part);
            if total > LIMIT {
                return Err(invalid());
            }
        }
        let nanoseconds = match i64::try_from(total) {
            Ok(nanoseconds) if text.starts_with('-') => -nanoseconds,
            Ok(nanoseconds) => nanoseconds,
            Err(_) if text.starts_with('-') => i64::MIN,
            Err(_) => return Err(invalid()),
        };
        Ok(Self { nanoseconds })
    }
}

/// Reads one number with its unit from the start of `rest`; returns its nanoseconds and what follows.
fn read_part<'t>(rest: &'t str, text: &str) -> Result<(u64, &'t str), DurationError> {
    let invalid = || DurationError::Invalid(text.to_owned());
    let (whole, rest) = split_digits(rest);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(behind) => split_digits(behind),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let whole = if whole.is_empty() { Some(0) } else { whole.parse().ok() };
    let whole = whole.filter(|whole: &u64| *whole <= LIMIT).ok_or_else(invalid)?;
    let (unit, rest) =
        rest.split_at(rest.find(|next: char| next == '.' || next.is_ascii_digit()).unwrap_or(rest.len()));
    let nanoseconds = match unit {
        "" => return Err(DurationError::MissingUnit(text.to_owned())),
        "ns" => 1,
        // The micro sign and the Greek letter look the same and are both meant.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return Err(DurationError::UnknownUnit { unit: unit.to_owned(), text: text.to_owned() }),
    };
    let part = whole.checked_mul(nanoseconds).filter(|part| *part <= LIMIT).ok_or_else(invalid)?;
    let part = part + fraction_of(nanoseconds, fraction);
    if part > LIMIT { Err(invalid()) } else { Ok((part, rest)) }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.len() - text.trim_start_matches(|digit: char| digit.is_ascii_digit()).len())
}

/// The nanoseconds that the digits behind a point stand for. Digits beyond the range of an integer count for nothing,
/// and the arithmetic is that of Go, so that the last nanosecond agrees.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go computes fractions in floating point; the result is below one unit and not negative"
)]
fn fraction_of(unit: u64, digits: &str) -> u64 {
    let mut fraction: u64 = 0;
    let mut scale = 1.0;
    for digit in digits.bytes() {
        let grown = fraction.checked_mul(10).map(|grown| grown + u64::from(digit - b'0'));
        let Some(grown) = grown.filter(|grown| fraction <= (LIMIT - 1) / 10 && *grown <= LIMIT) else {
            break;
        };
        fraction = grown;
        scale *= 10.0;
    }
    (fraction as f64 * (unit as f64 / scale)) as u64
}

/// Go's form: hours, minutes and seconds from the largest that is needed (`1h0m0.5s`), one smaller unit below a second.
impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.nanoseconds.unsigned_abs();
        if self.nanoseconds < 0 {
            f.write_str("-")?;
        }
        match total {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{total}ns"),
            1_000..1_000_000 => write!(f, "{}µs", Decimal { value: total, digits: 3 }),
            1_000_000..SECOND => write!(f, "{}ms", Decimal { value: total, digits: 6 }),
            _ => {
                let seconds = Decimal { value: total % MINUTE, digits: 9 };
                match (total / HOUR, total % HOUR / MINUTE) {
                    (0, 0) => write!(f, "{seconds}s"),
                    (0, minutes) => write!(f, "{minutes}m{seconds}s"),
                    (hours, minutes) => write!(f, "{hours}h{minutes}m{seconds}s"),
                }
            }
        }
    }
}

/// `value` with a point before its last `digits` digits, without needless zeros.
struct Decimal {
    value: u64,
    digits: usize,
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:0>width$}", self.value, width = self.digits + 1);
        let (whole, fraction) = digits.split_at(digits.len() - self.digits);
        match fraction.trim_end_matches('0') {
            "" => f.write_str(whole),
            fraction => write!(f, "{whole}.{fraction}"),
        }
    }
}

/// A text in quotes as Go's `time` package shows it: anything but printable ASCII byte by byte.
fn quote(text: &str) -> String {
    let escaped = text.bytes().map(|byte| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=0x7f => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
