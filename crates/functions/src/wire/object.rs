//! `google.protobuf.Struct` read and written as the JSON object it stands for.
//!
//! The message is ours rather than `prost_types::Struct` for two reasons: objects go to the wire without a copy of their
//! tree, and the nesting that is accepted is that of Kubernetes objects (the schemas in a CRD are deep), where prost stops
//! at about thirty levels.

use std::fmt;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use composition::run::Object;
use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, encode_varint, encoded_len_varint, skip_field};
use serde_json::{Number, Value};

/// Deeper than what kube-apiserver stores and far from the end of a thread's stack.
const MAX_DEPTH: usize = 200;

/// A JSON object on the wire.
#[derive(Clone, PartialEq)]
pub(crate) enum Struct {
    /// To be sent.
    Encoded(Bytes),
    /// As it was received. It may turn out to be no JSON object, which is told apart from bytes that are no message at all.
    Read(Result<Object, Fault>),
}

/// Why a value that was received is no JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The keys and indices that lead to it, innermost first.
    path: Vec<String>,
    what: &'static str,
}

impl Struct {
    pub(crate) fn new(object: &Object) -> Self {
        let mut bytes = BytesMut::with_capacity(object_len(object));
        encode_object(object, &mut bytes);
        Self::Encoded(bytes.freeze())
    }

    pub(crate) fn into_object(self) -> Result<Object, Fault> {
        match self {
            Self::Encoded(bytes) => decode_object(&bytes, 1),
            Self::Read(read) => read,
        }
    }
}

impl Default for Struct {
    fn default() -> Self {
        Self::Read(Ok(Object::new()))
    }
}

/// Leaves the content out: it may be a Secret.
impl fmt::Debug for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Struct")
    }
}

impl Fault {
    fn new(what: &'static str) -> Self {
        Self { path: Vec::new(), what }
    }

    /// The same fault, seen from the value around it.
    pub(crate) fn within(mut self, key: impl Into<String>) -> Self {
        self.path.push(key.into());
        self
    }
}

impl fmt::Display for Fault {
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
        f.write_str(self.what)
    }
}

/// The keys of the fields of `Struct`, `Value` and `ListValue`: the number and the wire type in one byte.
mod key {
    pub(super) const STRUCT_FIELDS: u8 = 0x0a;
    pub(super) const ENTRY_KEY: u8 = 0x0a;
    pub(super) const ENTRY_VALUE: u8 = 0x12;
    pub(super) const NULL: u8 = 0x08;
    pub(super) const NUMBER: u8 = 0x11;
    pub(super) const STRING: u8 = 0x1a;
    pub(super) const BOOL: u8 = 0x20;
    pub(super) const STRUCT: u8 = 0x2a;
    pub(super) const LIST: u8 = 0x32;
    pub(super) const LIST_VALUES: u8 = 0x0a;
}

impl prost::Message for Struct {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        match self {
            Self::Encoded(bytes) => buf.put_slice(bytes),
            Self::Read(Ok(object)) => encode_object(object, buf),
            Self::Read(Err(_)) => {}
        }
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
        let mut read = std::mem::take(self).into_object();
        if let Ok(object) = &mut read {
            match decode_entry(&entry, 1) {
                Ok((key, value)) => drop(object.insert(key, value)),
                Err(fault) => read = Err(fault),
            }
        }
        *self = Self::Read(read);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        match self {
            Self::Encoded(bytes) => bytes.len(),
            Self::Read(read) => read.as_ref().map_or(0, object_len),
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

/// What a length-delimited field of this content takes, its one-byte key included.
fn delimited(len: usize) -> usize {
    1 + encoded_len_varint(len as u64) + len
}

fn object_len(object: &Object) -> usize {
    object.iter().map(|(key, value)| delimited(entry_len(key, value))).sum()
}

fn entry_len(key: &str, value: &Value) -> usize {
    delimited(key.len()) + delimited(value_len(value))
}

fn list_len(list: &[Value]) -> usize {
    list.iter().map(|value| delimited(value_len(value))).sum()
}

fn value_len(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 2,
        Value::Number(_) => 9,
        Value::String(text) => delimited(text.len()),
        Value::Array(list) => delimited(list_len(list)),
        Value::Object(object) => delimited(object_len(object)),
    }
}

fn open(key: u8, len: usize, buf: &mut impl BufMut) {
    buf.put_u8(key);
    encode_varint(len as u64, buf);
}

fn encode_object(object: &Object, buf: &mut impl BufMut) {
    for (key, value) in object {
        open(key::STRUCT_FIELDS, entry_len(key, value), buf);
        open(key::ENTRY_KEY, key.len(), buf);
        buf.put_slice(key.as_bytes());
        open(key::ENTRY_VALUE, value_len(value), buf);
        encode_value(value, buf);
    }
}

fn encode_value(value: &Value, buf: &mut impl BufMut) {
    match value {
        Value::Null => buf.put_slice(&[key::NULL, 0]),
        Value::Bool(bool) => buf.put_slice(&[key::BOOL, u8::from(*bool)]),
        Value::Number(number) => {
            buf.put_u8(key::NUMBER);
            buf.put_f64_le(double(number));
        }
        Value::String(text) => {
            open(key::STRING, text.len(), buf);
            buf.put_slice(text.as_bytes());
        }
        Value::Array(list) => {
            open(key::LIST, list_len(list), buf);
            for value in list {
                open(key::LIST_VALUES, value_len(value), buf);
                encode_value(value, buf);
            }
        }
        Value::Object(object) => {
            open(key::STRUCT, object_len(object), buf);
            encode_object(object, buf);
        }
    }
}

fn double(number: &Number) -> f64 {
    number.as_f64().expect("without arbitrary precision every JSON number has a double next to it")
}

/// Where in `object` there are integers that no double holds, with the values: what a function gets is the double next
/// to each.
pub(crate) fn inexact(object: &Object) -> Vec<(String, Number)> {
    let mut found = Vec::new();
    for (key, value) in object {
        note_inexact(value, key.clone(), &mut found);
    }
    found
}

fn note_inexact(value: &Value, path: String, found: &mut Vec<(String, Number)>) {
    match value {
        Value::Number(number) if !is_exact(number) => found.push((path, number.clone())),
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                if matches!(value, Value::Array(_) | Value::Object(_) | Value::Number(_)) {
                    note_inexact(value, format!("{path}[{index}]"), found);
                }
            }
        }
        Value::Object(object) => {
            for (key, value) in object {
                if matches!(value, Value::Array(_) | Value::Object(_) | Value::Number(_)) {
                    note_inexact(value, format!("{path}.{key}"), found);
                }
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

/// One field of a message: its number and content.
enum Field<'a> {
    Varint(u32, u64),
    Double(u32, f64),
    Bytes(u32, &'a [u8]),
    Other,
}

/// Reads the next field, if there is one.
fn field<'a>(bytes: &mut &'a [u8]) -> Result<Option<Field<'a>>, Fault> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let key = varint(bytes)?;
    let number = u32::try_from(key >> 3).map_err(|_| Fault::new("has a field number out of range"))?;
    let field = match key & 7 {
        0 => Field::Varint(number, varint(bytes)?),
        1 => Field::Double(number, f64::from_le_bytes(take(bytes, 8)?.try_into().expect("eight bytes"))),
        2 => {
            let len =
                usize::try_from(varint(bytes)?).map_err(|_| Fault::new("is longer than its message"))?;
            Field::Bytes(number, take(bytes, len)?)
        }
        5 => {
            take(bytes, 4)?;
            Field::Other
        }
        _ => return Err(Fault::new("has a field of an unknown wire type")),
    };
    Ok(Some(field))
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Fault> {
    prost::encoding::decode_varint(bytes).map_err(|_| Fault::new("has a number that is cut off"))
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Result<&'a [u8], Fault> {
    let (taken, rest) = bytes.split_at_checked(len).ok_or(Fault::new("is longer than its message"))?;
    *bytes = rest;
    Ok(taken)
}

fn text(bytes: &[u8]) -> Result<String, Fault> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Fault::new("is not UTF-8"))
}

fn decode_entry(mut bytes: &[u8], depth: usize) -> Result<(String, Value), Fault> {
    let (mut key, mut value) = (String::new(), Ok(Value::Null));
    while let Some(field) = field(&mut bytes)? {
        match field {
            Field::Bytes(1, bytes) => key = text(bytes)?,
            Field::Bytes(2, bytes) => value = decode_value(bytes, depth),
            _ => {}
        }
    }
    match value {
        Ok(value) => Ok((key, value)),
        Err(fault) => Err(fault.within(key)),
    }
}

/// A value that sets nothing is null, as in Go.
fn decode_value(mut bytes: &[u8], depth: usize) -> Result<Value, Fault> {
    if depth > MAX_DEPTH {
        return Err(Fault::new("is nested more than 200 levels deep"));
    }
    let mut value = Value::Null;
    while let Some(field) = field(&mut bytes)? {
        match field {
            Field::Varint(1, _) => value = Value::Null,
            Field::Double(2, double) => value = Value::Number(json_number(double)?),
            Field::Bytes(3, bytes) => value = Value::String(text(bytes)?),
            Field::Varint(4, bool) => value = Value::Bool(bool != 0),
            Field::Bytes(5, bytes) => value = Value::Object(decode_object(bytes, depth + 1)?),
            Field::Bytes(6, bytes) => value = Value::Array(decode_list(bytes, depth + 1)?),
            _ => {}
        }
    }
    Ok(value)
}

fn decode_object(mut bytes: &[u8], depth: usize) -> Result<Object, Fault> {
    let mut object = Object::new();
    while let Some(field) = field(&mut bytes)? {
        if let Field::Bytes(1, entry) = field {
            let (key, value) = decode_entry(entry, depth)?;
            object.insert(key, value);
        }
    }
    Ok(object)
}

fn decode_list(mut bytes: &[u8], depth: usize) -> Result<Vec<Value>, Fault> {
    let mut list = Vec::new();
    while let Some(field) = field(&mut bytes)? {
        if let Field::Bytes(1, value) = field {
            let value = decode_value(value, depth);
            list.push(value.map_err(|fault| fault.within(format!("[{}]", list.len())))?);
        }
    }
    Ok(list)
}

/// A whole double is an integer if 64 bits hold it: that is what Kubernetes makes of `3`, which is how Go writes `3.0`.
#[expect(clippy::cast_possible_truncation, reason = "whole and within the range of i64")]
fn json_number(double: f64) -> Result<Number, Fault> {
    /// 2^63, the first double above every i64.
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if double.fract() == 0.0 && (-BOUND..BOUND).contains(&double) {
        return Ok(Number::from(double as i64));
    }
    Number::from_f64(double).ok_or(Fault::new("is a number that JSON does not have (NaN or infinite)"))
}

#[cfg(test)]
mod tests;
