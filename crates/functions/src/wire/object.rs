//! `google.protobuf.Struct` as the JSON object it stands for.
//!
//! The message is ours instead of `prost_types::Struct` for two reasons: objects are encoded without a copy of their tree,
//! and schemas in a CRD nest deeper than prost decodes, which stops at about thirty levels.

use std::fmt;

use bytes::{Buf, BufMut, Bytes};
use composition::protocol::Object;
use prost::encoding::{DecodeContext, WireType, encode_key, encode_varint, encoded_len_varint, skip_field};
use prost::{DecodeError, Message};
use serde_json::{Number, Value};

/// Deeper than what kube-apiserver stores, and far from the end of a thread's stack.
const MAX_DEPTH: usize = 200;

/// A JSON object in its encoding. What was received is read only by [`Struct::into_object`], which can say where it is
/// not JSON.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Struct(Vec<u8>);

/// Why a received value is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueError {
    /// The keys and indices that lead to the value, innermost first.
    path: Vec<String>,
    problem: String,
}

impl Struct {
    pub(crate) fn new(object: &Object) -> Self {
        let mut buf = Vec::new();
        encode_object(object, &mut buf);
        Self(buf)
    }

    pub(crate) fn into_object(self) -> Result<Object, ValueError> {
        decode_object(self.0.into(), 1)
    }
}

/// Omits the content, which may be a Secret.
impl fmt::Debug for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Struct")
    }
}

impl ValueError {
    fn new(problem: impl Into<String>) -> Self {
        Self { path: Vec::new(), problem: problem.into() }
    }

    /// The same error, seen from the value around it.
    pub(crate) fn within(mut self, key: impl Into<String>) -> Self {
        self.path.push(key.into());
        self
    }
}

impl From<DecodeError> for ValueError {
    fn from(error: DecodeError) -> Self {
        Self::new(format!("is malformed: {error}"))
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, key) in self.path.iter().rev().enumerate() {
            if index > 0 && !key.starts_with('[') {
                f.write_str(".")?;
            }
            f.write_str(key)?;
        }
        if !self.path.is_empty() {
            f.write_str(" ")?;
        }
        f.write_str(&self.problem)
    }
}

/// The messages below `Struct` one level at a time: nested messages are left as bytes, so that prost's limit of nesting
/// does not apply and ours does.
mod shallow {
    use super::{Bytes, Message};

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Struct {
        #[prost(message, repeated, tag = "1")]
        pub(super) fields: Vec<Entry>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Entry {
        #[prost(string, tag = "1")]
        pub(super) key: String,
        #[prost(bytes = "bytes", tag = "2")]
        pub(super) value: Bytes,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Value {
        #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6")]
        pub(super) kind: Option<Kind>,
    }

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(super) enum Kind {
        #[prost(int32, tag = "1")]
        Null(i32),
        #[prost(double, tag = "2")]
        Number(f64),
        #[prost(string, tag = "3")]
        String(String),
        #[prost(bool, tag = "4")]
        Bool(bool),
        #[prost(bytes = "bytes", tag = "5")]
        Struct(Bytes),
        #[prost(bytes = "bytes", tag = "6")]
        List(Bytes),
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct ListValue {
        #[prost(bytes = "bytes", repeated, tag = "1")]
        pub(super) values: Vec<Bytes>,
    }
}

impl Message for Struct {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        buf.put_slice(&self.0);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        if tag != 1 {
            return skip_field(wire_type, tag, buf, ctx);
        }
        let mut entry = Bytes::new();
        prost::encoding::bytes::merge(wire_type, &mut entry, buf, ctx)?;
        prost::encoding::bytes::encode(tag, &entry, &mut self.0);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

fn encode_object(object: &Object, buf: &mut Vec<u8>) {
    for (key, value) in object {
        delimited(1, buf, |buf| {
            delimited(1, buf, |buf| buf.put_slice(key.as_bytes()));
            delimited(2, buf, |buf| encode_value(value, buf));
        });
    }
}

fn encode_value(value: &Value, buf: &mut Vec<u8>) {
    match value {
        // Written even where it is zero: an absent value means that no kind is set.
        Value::Null => prost::encoding::int32::encode(1, &0, buf),
        Value::Number(number) => prost::encoding::double::encode(2, &double(number), buf),
        Value::String(text) => prost::encoding::string::encode(3, text, buf),
        Value::Bool(bool) => prost::encoding::bool::encode(4, bool, buf),
        Value::Object(object) => delimited(5, buf, |buf| encode_object(object, buf)),
        Value::Array(list) => delimited(6, buf, |buf| {
            for value in list {
                delimited(1, buf, |buf| encode_value(value, buf));
            }
        }),
    }
}

/// Appends a length-delimited field. The length goes in front once the content is there.
fn delimited(tag: u32, buf: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    encode_key(tag, WireType::LengthDelimited, buf);
    let start = buf.len();
    content(buf);
    let length = buf.len() - start;
    let mut prefix = [0; 10];
    encode_varint(length as u64, &mut prefix.as_mut_slice());
    buf.splice(start..start, prefix.into_iter().take(encoded_len_varint(length as u64)));
}

fn double(number: &Number) -> f64 {
    number.as_f64().expect("without arbitrary precision every JSON number has a nearest double")
}

/// The integers in `object` that no double represents, with their paths. A function receives the nearest double.
pub(crate) fn inexact(object: &Object) -> Vec<(String, Number)> {
    let mut found = Vec::new();
    for (key, value) in object {
        find_inexact(value, &|| key.clone(), &mut found);
    }
    found
}

/// Paths are built only for what is found: there are many values and hardly ever an inexact one.
fn find_inexact(value: &Value, path: &dyn Fn() -> String, found: &mut Vec<(String, Number)>) {
    match value {
        Value::Number(number) if !is_exact(number) => found.push((path(), number.clone())),
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                find_inexact(value, &|| format!("{}[{index}]", path()), found);
            }
        }
        Value::Object(object) => {
            for (key, value) in object {
                find_inexact(value, &|| format!("{}.{key}", path()), found);
            }
        }
        _ => {}
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a double next to a 64-bit integer is far below 2^127")]
fn is_exact(number: &Number) -> bool {
    let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    integer.is_none_or(|integer| double(number) as i128 == integer)
}

fn decode_object(bytes: Bytes, depth: usize) -> Result<Object, ValueError> {
    let entries = shallow::Struct::decode(bytes)?.fields.into_iter();
    let decode = |entry: shallow::Entry| match decode_value(entry.value, depth) {
        Ok(value) => Ok((entry.key, value)),
        Err(error) => Err(error.within(entry.key)),
    };
    entries.map(decode).collect()
}

fn decode_value(bytes: Bytes, depth: usize) -> Result<Value, ValueError> {
    if depth > MAX_DEPTH {
        return Err(ValueError::new(format!("is nested more than {MAX_DEPTH} levels deep")));
    }
    Ok(match shallow::Value::decode(bytes)?.kind {
        // A value without a kind is null, as in Go.
        None | Some(shallow::Kind::Null(_)) => Value::Null,
        Some(shallow::Kind::Number(double)) => Value::Number(json_number(double)?),
        Some(shallow::Kind::String(text)) => Value::String(text),
        Some(shallow::Kind::Bool(bool)) => Value::Bool(bool),
        Some(shallow::Kind::Struct(bytes)) => Value::Object(decode_object(bytes, depth + 1)?),
        Some(shallow::Kind::List(bytes)) => {
            let values = shallow::ListValue::decode(bytes)?.values.into_iter().enumerate();
            let decode = |(index, bytes)| {
                decode_value(bytes, depth + 1).map_err(|error| error.within(format!("[{index}]")))
            };
            Value::Array(values.map(decode).collect::<Result<_, _>>()?)
        }
    })
}

/// A whole double becomes an integer if 64 bits hold it, because Go writes `3.0` as `3` and Kubernetes reads that as an
/// integer.
#[expect(clippy::cast_possible_truncation, reason = "whole and within the range of i64")]
fn json_number(double: f64) -> Result<Number, ValueError> {
    /// 2^63, the first double above every i64.
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if double.fract() == 0.0 && (-BOUND..BOUND).contains(&double) {
        return Ok(Number::from(double as i64));
    }
    Number::from_f64(double).ok_or(ValueError::new("is a number that JSON does not have (NaN or infinite)"))
}

#[cfg(test)]
mod tests;
