//! What a scalar means: the rules by which sigs.k8s.io/yaml, and so every Kubernetes tool in Go, reads one.
//!
//! They are YAML 1.1's as go-yaml v2 implements them: `yes` is a boolean, `0644` is octal, `1_000` is a thousand, case
//! counts (`nUll` is a string), and base 60 is not read. Checked against that library by `tests/oracle.rs`.

mod timestamp;

use std::borrow::Cow;

use base64::Engine as _;
use serde_json::{Number, Value};

use crate::number;
use timestamp::is_timestamp;

/// The explicit tag of a scalar, as far as it changes what the scalar means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// No tag: the text decides.
    Absent,
    /// `!`: a string, but still a merge key where one is expected.
    NonSpecific,
    Str,
    Bool,
    Int,
    Float,
    Null,
    Timestamp,
    Binary,
    Merge,
    /// Any other: the text stays a string.
    Other,
}

impl Tag {
    /// The tag written out in full as `handle` and `suffix`, wherever the two are divided.
    pub(crate) fn of(handle: &str, suffix: &str) -> Self {
        let mut full = String::with_capacity(handle.len() + suffix.len());
        full.push_str(handle);
        full.push_str(suffix);
        match full.strip_prefix("tag:yaml.org,2002:") {
            Some("str") => Self::Str,
            Some("bool") => Self::Bool,
            Some("int") => Self::Int,
            Some("float") => Self::Float,
            Some("null") => Self::Null,
            Some("timestamp") => Self::Timestamp,
            Some("binary") => Self::Binary,
            Some("merge") => Self::Merge,
            None if full == "!" => Self::NonSpecific,
            _ => Self::Other,
        }
    }
}

/// A scalar as it was written: its text after unescaping, whether it was plain, and its tag.
#[derive(Clone)]
pub(crate) struct Written<'t> {
    pub(crate) text: Cow<'t, str>,
    pub(crate) plain: bool,
    pub(crate) tag: Tag,
}

impl Written<'_> {
    /// Whether nothing is written where a scalar could stand.
    pub(crate) fn is_absent(&self) -> bool {
        self.plain && self.tag == Tag::Absent && self.text.is_empty()
    }

    /// Whether this, as a key, takes in the fields of the mapping that is its value.
    pub(crate) fn is_merge(&self) -> bool {
        let implicit = matches!(self.tag, Tag::NonSpecific) || self.plain && self.tag == Tag::Absent;
        self.text == "<<" && (implicit || self.tag == Tag::Merge)
    }
}

/// What a scalar means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar<'t> {
    Null,
    Bool(bool),
    Int(i64),
    /// Above `i64::MAX`.
    UInt(u64),
    Float(f64),
    Str(Cow<'t, str>),
}

/// Why a scalar has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarError {
    /// The text is not what its tag says.
    TagMismatch,
    /// The text of a `!!binary` is not base64.
    NotBase64,
    /// JSON has no infinity and no NaN.
    NotFinite,
    /// A null cannot be a key.
    NullKey,
    /// A number above 2⁶³ cannot be a key.
    HugeKey,
}

/// Reads a scalar.
pub(crate) fn resolve(written: Written<'_>) -> Result<Scalar<'_>, ScalarError> {
    let Written { text, plain, tag } = written;
    match tag {
        Tag::Absent if !plain => Ok(Scalar::Str(text)),
        Tag::Absent => Ok(resolve_plain(&text).unwrap_or(Scalar::Str(text))),
        Tag::Str | Tag::NonSpecific | Tag::Merge | Tag::Other => Ok(Scalar::Str(text)),
        Tag::Binary => decode_base64(&text).map(|text| Scalar::Str(text.into())),
        Tag::Timestamp => {
            if is_timestamp(&text) {
                Ok(Scalar::Str(text))
            } else {
                Err(ScalarError::TagMismatch)
            }
        }
        Tag::Bool | Tag::Int | Tag::Float | Tag::Null => match (tag, resolve_plain(&text)) {
            (Tag::Bool, Some(scalar @ Scalar::Bool(_)))
            | (Tag::Int, Some(scalar @ (Scalar::Int(_) | Scalar::UInt(_))))
            | (Tag::Float, Some(scalar @ Scalar::Float(_)))
            | (Tag::Null, Some(scalar @ Scalar::Null)) => Ok(scalar),
            #[expect(clippy::cast_precision_loss, reason = "Go converts the same way")]
            (Tag::Float, Some(Scalar::Int(int))) => Ok(Scalar::Float(int as f64)),
            _ => Err(ScalarError::TagMismatch),
        },
    }
}

/// What an untagged plain scalar means if it is not a string.
pub(crate) fn resolve_plain<'t>(text: &str) -> Option<Scalar<'t>> {
    match text.as_bytes().first() {
        None => Some(Scalar::Null),
        Some(b'+' | b'-' | b'0'..=b'9') => match text {
            "+.inf" | "+.Inf" | "+.INF" => Some(Scalar::Float(f64::INFINITY)),
            "-.inf" | "-.Inf" | "-.INF" => Some(Scalar::Float(f64::NEG_INFINITY)),
            _ => resolve_number(text),
        },
        Some(b'.') => match text {
            ".nan" | ".NaN" | ".NAN" => Some(Scalar::Float(f64::NAN)),
            ".inf" | ".Inf" | ".INF" => Some(Scalar::Float(f64::INFINITY)),
            _ => number::parse_leading_dot(text).map(Scalar::Float),
        },
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => match text {
            "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
                Some(Scalar::Bool(true))
            }
            "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
                Some(Scalar::Bool(false))
            }
            "~" | "null" | "Null" | "NULL" => Some(Scalar::Null),
            _ => None,
        },
        Some(_) => None,
    }
}

/// Whether a string written without quotes would be read as something else, so that a writer must quote it.
pub(crate) fn needs_quotes(text: &str) -> bool {
    resolve_plain(text).is_some() || is_timestamp(text)
}

fn resolve_number<'t>(text: &str) -> Option<Scalar<'t>> {
    let digits: Cow<'_, str> =
        if text.contains('_') { text.replace('_', "").into() } else { Cow::Borrowed(text) };
    if let Some(int) = number::parse_int(&digits) {
        return Some(int);
    }
    if let Some(float) = number::parse_decimal(&digits) {
        return Some(Scalar::Float(float));
    }
    // A sign after the prefix is an accident of go-yaml that it has kept: `0b-101` is minus five.
    let signed = digits.strip_prefix("0b").filter(|rest| rest.starts_with(['+', '-']))?;
    i64::from_str_radix(signed, 2).ok().map(Scalar::Int)
}

impl Scalar<'_> {
    /// The value Kubernetes sees: an int64 where the number is whole and fits, a float64 otherwise.
    pub(crate) fn into_value(self) -> Result<Value, ScalarError> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(bool),
            Self::Int(int) => Value::from(int),
            #[expect(
                clippy::cast_precision_loss,
                reason = "Kubernetes reads what int64 cannot hold as a float64"
            )]
            Self::UInt(uint) => Value::Number(Number::from_f64(uint as f64).ok_or(ScalarError::NotFinite)?),
            Self::Float(float) => Value::Number(number::normalize(float).ok_or(ScalarError::NotFinite)?),
            Self::Str(text) => Value::String(text.into_owned()),
        })
    }

    /// The key of a JSON object: numbers and booleans become text.
    pub(crate) fn into_key(self) -> Result<String, ScalarError> {
        match self {
            Self::Null => Err(ScalarError::NullKey),
            Self::UInt(_) => Err(ScalarError::HugeKey),
            Self::Bool(bool) => Ok(bool.to_string()),
            Self::Int(int) => Ok(int.to_string()),
            Self::Float(float) => Ok(number::key_text(float)),
            Self::Str(text) => Ok(text.into_owned()),
        }
    }
}

/// Decodes base64 as Go's standard encoding does: line breaks do not count, padding does, and what is not UTF-8 in the
/// result becomes U+FFFD, byte by byte, when JSON is made of it.
fn decode_base64(text: &str) -> Result<String, ScalarError> {
    // Go does not check that the unused bits of the last character are zero.
    const LENIENT: base64::engine::GeneralPurpose = base64::engine::GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        base64::engine::GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    let compact: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let bytes = LENIENT.decode(compact).map_err(|_| ScalarError::NotBase64)?;
    let mut decoded = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        decoded.push_str(chunk.valid());
        decoded.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests;
