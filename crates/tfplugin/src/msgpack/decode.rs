//! From bytes to values, for bytes that may come from anywhere: nothing is read twice, trusted or allocated ahead.

use std::collections::BTreeMap;

use rmp::Marker;

use super::{MAX_REFINEMENT, MsgpackError, REFINED_UNKNOWN, refinement_key};
use crate::path::{Path, Step};
use crate::types::{MAX_DEPTH, Type};
use crate::value::{Bound, Number, Object, Refinement, Value};

/// The value of type `ty` that `bytes` encode, all of them.
pub fn decode(bytes: &[u8], ty: &Type) -> Result<Value, MsgpackError> {
    let mut reader = Reader { bytes, path: Path::root(), depth: 0 };
    let value = reader.value(ty)?;
    if reader.bytes.is_empty() { Ok(value) } else { Err(reader.error("there are bytes after the value")) }
}

struct Reader<'b> {
    bytes: &'b [u8],
    path: Path,
    depth: usize,
}

impl<'b> Reader<'b> {
    fn value(&mut self, ty: &Type) -> Result<Value, MsgpackError> {
        // Types from a schema are shallow, but a dynamic value in a dynamic value could go on for ever.
        if self.depth == MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let value = self.value_at_depth(ty)?;
        self.depth -= 1;
        Ok(value)
    }

    fn value_at_depth(&mut self, ty: &Type) -> Result<Value, MsgpackError> {
        match self.peek()? {
            Marker::Null => {
                self.marker()?;
                return Ok(Value::Null);
            }
            Marker::FixExt1
            | Marker::FixExt2
            | Marker::FixExt4
            | Marker::FixExt8
            | Marker::FixExt16
            | Marker::Ext8
            | Marker::Ext16
            | Marker::Ext32 => return self.unknown(ty),
            _ => {}
        }
        match ty {
            Type::Bool => self.bool().map(Value::Bool),
            Type::Number => self.number().map(Value::Number),
            Type::String => self.text().map(Value::String),
            Type::Dynamic => self.dynamic(),
            Type::List(element) => self.elements(element).map(Value::List),
            Type::Set(element) => self.elements(element).map(Value::set),
            Type::Map(element) => self.map(element),
            Type::Tuple(elements) => self.tuple(elements),
            Type::Object(attributes) => self.object(attributes),
        }
    }

    fn inside(&mut self, step: Step, ty: &Type) -> Result<Value, MsgpackError> {
        self.path.push(step);
        let value = self.value(ty)?;
        self.path.pop();
        Ok(value)
    }

    fn elements(&mut self, element: &Type) -> Result<Vec<Value>, MsgpackError> {
        let count = self.array_length("a list")?;
        // Every element takes a byte at least, so a length beyond the bytes fails before it fills the memory.
        let mut values = Vec::with_capacity(count.min(self.bytes.len()));
        for index in 0..count {
            values.push(self.inside(Step::Index(index), element)?);
        }
        Ok(values)
    }

    fn tuple(&mut self, types: &[Type]) -> Result<Value, MsgpackError> {
        let count = self.array_length("a tuple")?;
        if count != types.len() {
            return Err(self.error(format!("expected a tuple of {}, found {count} elements", types.len())));
        }
        let mut values = Vec::with_capacity(count.min(self.bytes.len()));
        for (index, ty) in types.iter().enumerate() {
            values.push(self.inside(Step::Index(index), ty)?);
        }
        Ok(Value::List(values))
    }

    fn map(&mut self, element: &Type) -> Result<Value, MsgpackError> {
        let mut object = Object::new();
        for _ in 0..self.map_length("a map")? {
            let key = self.text()?;
            let value = self.inside(Step::Key(key.clone()), element)?;
            object.set(key, value);
        }
        Ok(Value::Object(object))
    }

    fn object(&mut self, attributes: &BTreeMap<String, Type>) -> Result<Value, MsgpackError> {
        let count = self.map_length("an object")?;
        let mut object = Object::new();
        for _ in 0..count {
            let name = self.text()?;
            let Some(ty) = attributes.get(&name) else {
                return Err(self.error(format!("there is no attribute {name:?}")));
            };
            let value = self.inside(Step::Attribute(name.clone()), ty)?;
            object.set(name, value);
        }
        // Every attribute has to be there, once; null is written out.
        if count != attributes.len() || object.len() != attributes.len() {
            return Err(self.error(format!(
                "expected {} attributes, found {}",
                attributes.len(),
                object.len()
            )));
        }
        Ok(Value::Object(object))
    }

    fn dynamic(&mut self) -> Result<Value, MsgpackError> {
        if self.array_length("a type and a value")? != 2 {
            return Err(self.error("expected a type and a value"));
        }
        let notation = self.binary()?;
        let ty = Type::from_json_bytes(notation).map_err(|error| self.error(error.to_string()))?;
        let value = self.value(&ty)?;
        Ok(match value {
            // go-cty writes a null of no type as nil; one wrapped like this means the same.
            Value::Null | Value::Unknown(_) | Value::Dynamic(_) if ty == Type::Dynamic => value,
            value => Value::dynamic_of(ty, value),
        })
    }

    fn unknown(&mut self, ty: &Type) -> Result<Value, MsgpackError> {
        let marker = self.marker()?;
        let length = match marker {
            Marker::FixExt1 => 1,
            Marker::FixExt2 => 2,
            Marker::FixExt4 => 4,
            Marker::FixExt8 => 8,
            Marker::FixExt16 => 16,
            Marker::Ext8 => self.length::<1>()?,
            Marker::Ext16 => self.length::<2>()?,
            _ => self.length::<4>()?,
        };
        let [code] = self.array()?;
        let body = self.take(length)?;
        // Any extension is an unknown; only one says more.
        if i8::from_be_bytes([code]) != REFINED_UNKNOWN || length <= 1 || *ty == Type::Dynamic {
            return Ok(Value::unknown());
        }
        if length > MAX_REFINEMENT {
            return Err(self.error(format!("a refinement of more than {MAX_REFINEMENT} bytes")));
        }
        let mut reader = Reader { bytes: body, path: self.path.clone(), depth: self.depth };
        reader.refinement(ty)
    }

    fn refinement(&mut self, ty: &Type) -> Result<Value, MsgpackError> {
        let mut refinement = Refinement::default();
        for _ in 0..self.map_length("a refinement")? {
            let Some(key) = self.number()?.as_i64() else {
                return Err(self.error("the key of a refinement is not an integer"));
            };
            match (key, ty) {
                (refinement_key::NULLNESS, _) => {
                    if self.bool()? {
                        return Ok(Value::Null);
                    }
                    refinement.not_null = true;
                }
                (refinement_key::PREFIX, Type::String) => refinement.prefix = self.text()?,
                (refinement_key::MIN, Type::Number) => refinement.min = Some(self.bound()?),
                (refinement_key::MAX, Type::Number) => refinement.max = Some(self.bound()?),
                (refinement_key::MIN_LENGTH, Type::List(_) | Type::Set(_) | Type::Map(_)) => {
                    refinement.min_length = Some(self.count()?);
                }
                (refinement_key::MAX_LENGTH, Type::List(_) | Type::Set(_) | Type::Map(_)) => {
                    refinement.max_length = Some(self.count()?);
                }
                (refinement_key::PREFIX..=refinement_key::MAX_LENGTH, _) => {
                    return Err(self.error("a refinement that the type cannot have"));
                }
                // A newer Terraform may know more; its value is skipped, and what else it says is still true.
                _ => self.skip()?,
            }
        }
        Ok(Value::unknown_with(refinement))
    }

    fn bound(&mut self) -> Result<Bound, MsgpackError> {
        if self.array_length("a number and a bool")? != 2 {
            return Err(self.error("expected a number and a bool"));
        }
        Ok(Bound { number: self.number()?, inclusive: self.bool()? })
    }

    fn count(&mut self) -> Result<u64, MsgpackError> {
        let length = self.number()?.as_i64().and_then(|length| u64::try_from(length).ok());
        length.ok_or_else(|| self.error("expected a length"))
    }

    /// Skips a value of any kind, one level after the other.
    fn skip(&mut self) -> Result<(), MsgpackError> {
        let mut pending: u64 = 1;
        while pending > 0 {
            pending -= 1;
            match self.marker()? {
                Marker::FixPos(_) | Marker::FixNeg(_) | Marker::Null | Marker::True | Marker::False => {}
                Marker::U8 | Marker::I8 => drop(self.take(1)?),
                Marker::U16 | Marker::I16 => drop(self.take(2)?),
                Marker::U32 | Marker::I32 | Marker::F32 => drop(self.take(4)?),
                Marker::U64 | Marker::I64 | Marker::F64 => drop(self.take(8)?),
                Marker::FixStr(length) => drop(self.take(length.into())?),
                Marker::Str8 | Marker::Bin8 => {
                    self.length::<1>().and_then(|length| self.take(length)).map(drop)?;
                }
                Marker::Str16 | Marker::Bin16 => {
                    self.length::<2>().and_then(|length| self.take(length)).map(drop)?;
                }
                Marker::Str32 | Marker::Bin32 => {
                    self.length::<4>().and_then(|length| self.take(length)).map(drop)?;
                }
                Marker::FixArray(count) => pending += u64::from(count),
                Marker::FixMap(count) => pending += u64::from(count) * 2,
                _ => return Err(self.error("a refinement that cannot be skipped")),
            }
        }
        Ok(())
    }

    fn bool(&mut self) -> Result<bool, MsgpackError> {
        match self.marker()? {
            Marker::True => Ok(true),
            Marker::False => Ok(false),
            _ => Err(self.error("expected a bool")),
        }
    }

    fn number(&mut self) -> Result<Number, MsgpackError> {
        Ok(match self.marker()? {
            Marker::FixPos(int) => i64::from(int).into(),
            Marker::FixNeg(int) => i64::from(int).into(),
            Marker::U8 => i64::from(u8::from_be_bytes(self.array()?)).into(),
            Marker::U16 => i64::from(u16::from_be_bytes(self.array()?)).into(),
            Marker::U32 => i64::from(u32::from_be_bytes(self.array()?)).into(),
            Marker::U64 => u64::from_be_bytes(self.array()?).into(),
            Marker::I8 => i64::from(i8::from_be_bytes(self.array()?)).into(),
            Marker::I16 => i64::from(i16::from_be_bytes(self.array()?)).into(),
            Marker::I32 => i64::from(i32::from_be_bytes(self.array()?)).into(),
            Marker::I64 => i64::from_be_bytes(self.array()?).into(),
            Marker::F32 => {
                let float = f32::from_be_bytes(self.array()?);
                self.float(float.into())?
            }
            Marker::F64 => {
                let float = f64::from_be_bytes(self.array()?);
                self.float(float)?
            }
            marker => {
                let Some(length) = self.text_length(marker)? else {
                    return Err(self.error("expected a number"));
                };
                let text = std::str::from_utf8(self.take(length)?).ok();
                let number = text.and_then(|text| Number::parse(text).ok());
                number.ok_or_else(|| self.error("a text that is not a number"))?
            }
        })
    }

    fn float(&self, float: f64) -> Result<Number, MsgpackError> {
        Number::from_exact_f64(float).ok_or_else(|| self.error("NaN is not a number"))
    }

    fn text(&mut self) -> Result<String, MsgpackError> {
        let marker = self.marker()?;
        let Some(length) = self.text_length(marker)? else {
            return Err(self.error("expected a string"));
        };
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| self.error("a string that is not UTF-8"))
    }

    fn binary(&mut self) -> Result<&'b [u8], MsgpackError> {
        let length = match self.marker()? {
            Marker::Bin8 => self.length::<1>()?,
            Marker::Bin16 => self.length::<2>()?,
            Marker::Bin32 => self.length::<4>()?,
            marker => match self.text_length(marker)? {
                Some(length) => length,
                None => return Err(self.error("expected the notation of a type")),
            },
        };
        self.take(length)
    }

    fn text_length(&mut self, marker: Marker) -> Result<Option<usize>, MsgpackError> {
        Ok(Some(match marker {
            Marker::FixStr(length) => length.into(),
            Marker::Str8 => self.length::<1>()?,
            Marker::Str16 => self.length::<2>()?,
            Marker::Str32 => self.length::<4>()?,
            _ => return Ok(None),
        }))
    }

    fn array_length(&mut self, what: &str) -> Result<usize, MsgpackError> {
        match self.marker()? {
            Marker::FixArray(length) => Ok(length.into()),
            Marker::Array16 => self.length::<2>(),
            Marker::Array32 => self.length::<4>(),
            _ => Err(self.error(format!("expected {what}"))),
        }
    }

    fn map_length(&mut self, what: &str) -> Result<usize, MsgpackError> {
        match self.marker()? {
            Marker::FixMap(length) => Ok(length.into()),
            Marker::Map16 => self.length::<2>(),
            Marker::Map32 => self.length::<4>(),
            _ => Err(self.error(format!("expected {what}"))),
        }
    }

    /// A length written in `SIZE` bytes.
    fn length<const SIZE: usize>(&mut self) -> Result<usize, MsgpackError> {
        let bytes: [u8; SIZE] = self.array()?;
        Ok(bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    fn peek(&self) -> Result<Marker, MsgpackError> {
        self.bytes
            .first()
            .map(|byte| Marker::from_u8(*byte))
            .ok_or_else(|| self.error("the bytes end too early"))
    }

    fn marker(&mut self) -> Result<Marker, MsgpackError> {
        self.array().map(|[byte]| Marker::from_u8(byte))
    }

    fn array<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], MsgpackError> {
        self.take(SIZE).map(|bytes| bytes.try_into().expect("as many bytes as asked for"))
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], MsgpackError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(length) else {
            return Err(self.error("the bytes end too early"));
        };
        self.bytes = rest;
        Ok(taken)
    }

    fn error(&self, problem: impl Into<String>) -> MsgpackError {
        MsgpackError { path: self.path.clone(), problem: problem.into() }
    }
}
