//! Decodes untrusted bytes: nothing is read twice or allocated ahead.

use std::collections::BTreeMap;

use rmp::Marker;
use rmp::decode::{self as read, MessageLen, NumValueReadError};

use super::{MAX_REFINEMENT, REFINED_UNKNOWN, refinement_key};
use crate::path::Step;
use crate::types::{MAX_DEPTH, Type};
use crate::value::{Bound, Number, Object, Refinement, Value, ValueError};

/// Decodes a value of type `ty` from all of `bytes`.
pub(crate) fn decode(bytes: &[u8], ty: &Type) -> Result<Value, ValueError> {
    let mut reader = Reader { bytes, depth: 0 };
    let value = reader.value(ty)?;
    if reader.bytes.is_empty() { Ok(value) } else { Err(invalid("there are bytes after the value")) }
}

struct Reader<'b> {
    bytes: &'b [u8],
    depth: usize,
}

impl<'b> Reader<'b> {
    fn value(&mut self, ty: &Type) -> Result<Value, ValueError> {
        // Types from a schema are shallow, but dynamic values could nest without end.
        if self.depth == MAX_DEPTH {
            return Err(invalid(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let value = self.value_at_depth(ty)?;
        self.depth -= 1;
        Ok(value)
    }

    fn value_at_depth(&mut self, ty: &Type) -> Result<Value, ValueError> {
        match self.peek()? {
            Marker::Null => {
                self.take(1)?;
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

    fn elements(&mut self, element: &Type) -> Result<Vec<Value>, ValueError> {
        let count = self.array_length("a list")?;
        self.typed_elements(std::iter::repeat_n(element, count))
    }

    fn tuple(&mut self, types: &[Type]) -> Result<Value, ValueError> {
        let count = self.array_length("a tuple")?;
        if count != types.len() {
            return Err(invalid(format!("expected a tuple of {}, found {count} elements", types.len())));
        }
        self.typed_elements(types).map(Value::List)
    }

    /// Collecting `Result`s allocates nothing ahead, so a length beyond the bytes fails before it fills the memory.
    fn typed_elements<'t>(
        &mut self,
        types: impl IntoIterator<Item = &'t Type>,
    ) -> Result<Vec<Value>, ValueError> {
        let at = |index| move |error: ValueError| error.below(Step::Index(index));
        types.into_iter().enumerate().map(|(index, ty)| self.value(ty).map_err(at(index))).collect()
    }

    fn map(&mut self, element: &Type) -> Result<Value, ValueError> {
        let mut object = Object::new();
        for _ in 0..self.map_length("a map")? {
            let key = self.text()?;
            match self.value(element) {
                Ok(value) => object.set(key, value),
                Err(error) => return Err(error.below(Step::Key(key))),
            }
        }
        Ok(Value::Object(object))
    }

    fn object(&mut self, attributes: &BTreeMap<String, Type>) -> Result<Value, ValueError> {
        let count = self.map_length("an object")?;
        let mut object = Object::new();
        for _ in 0..count {
            let name = self.text()?;
            let Some(ty) = attributes.get(&name) else {
                return Err(invalid(format!("there is no attribute {name:?}")));
            };
            match self.value(ty) {
                Ok(value) => object.set(name, value),
                Err(error) => return Err(error.below(Step::Attribute(name))),
            }
        }
        // Every attribute must be present once; null is written out.
        if count != attributes.len() || object.len() != attributes.len() {
            return Err(invalid(format!("expected {} attributes, found {}", attributes.len(), object.len())));
        }
        Ok(Value::Object(object))
    }

    fn dynamic(&mut self) -> Result<Value, ValueError> {
        if self.array_length("a type and a value")? != 2 {
            return Err(invalid("expected a type and a value"));
        }
        let notation = self.binary()?;
        let ty = Type::from_json_bytes(notation).map_err(|error| invalid(error.to_string()))?;
        let value = self.value(&ty)?;
        Ok(match value {
            // go-cty writes an untyped null as nil; wrapped like this it means the same.
            Value::Null | Value::Unknown(_) | Value::Dynamic(_) if ty == Type::Dynamic => value,
            value => Value::dynamic_of(ty, value),
        })
    }

    fn unknown(&mut self, ty: &Type) -> Result<Value, ValueError> {
        let meta = read::read_ext_meta(&mut self.bytes);
        let meta = expect(meta, "an unknown value")?;
        let length = meta.size as usize;
        let body = self.take(length)?;
        // Every extension is an unknown value; only one kind carries a refinement.
        if meta.typeid != REFINED_UNKNOWN || length <= 1 || *ty == Type::Dynamic {
            return Ok(Value::unknown());
        }
        if length > MAX_REFINEMENT {
            return Err(invalid(format!("a refinement of more than {MAX_REFINEMENT} bytes")));
        }
        let mut reader = Reader { bytes: body, depth: self.depth };
        reader.refinement(ty)
    }

    fn refinement(&mut self, ty: &Type) -> Result<Value, ValueError> {
        let mut refinement = Refinement::default();
        for _ in 0..self.map_length("a refinement")? {
            let Some(key) = self.number()?.as_i64() else {
                return Err(invalid("the key of a refinement is not an integer"));
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
                    return Err(invalid("a refinement that the type does not allow"));
                }
                // A newer Terraform may know more refinements; the others still hold.
                _ => {
                    let length = MessageLen::len_of(self.bytes);
                    let length = length.map_err(|_| invalid("a refinement that cannot be skipped"))?;
                    self.take(length)?;
                }
            }
        }
        Ok(Value::unknown_with(refinement))
    }

    fn bound(&mut self) -> Result<Bound, ValueError> {
        if self.array_length("a number and a bool")? != 2 {
            return Err(invalid("expected a number and a bool"));
        }
        Ok(Bound { number: self.number()?, inclusive: self.bool()? })
    }

    fn count(&mut self) -> Result<u64, ValueError> {
        let length = self.number()?.as_i64().and_then(|length| u64::try_from(length).ok());
        length.ok_or_else(|| invalid("expected a length"))
    }

    fn bool(&mut self) -> Result<bool, ValueError> {
        let bool = read::read_bool(&mut self.bytes);
        expect(bool, "a bool")
    }

    fn number(&mut self) -> Result<Number, ValueError> {
        let float = match self.peek()? {
            Marker::F32 => read::read_f32(&mut self.bytes).map(f64::from),
            Marker::F64 => read::read_f64(&mut self.bytes),
            Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => {
                let text = self.text()?;
                return Number::parse(&text).map_err(|_| invalid("a string that is not a number"));
            }
            _ => {
                let int: Result<i128, _> = read::read_int(&mut self.bytes);
                let int = expect(int, "a number")?;
                return Ok(Number::parse(&int.to_string()).expect("an integer is a number"));
            }
        };
        let float = expect(float, "a number")?;
        Number::from_exact_f64(float).ok_or_else(|| invalid("NaN is not a number"))
    }

    fn text(&mut self) -> Result<String, ValueError> {
        let length = read::read_str_len(&mut self.bytes);
        let length = expect(length, "a string")?;
        let bytes = self.take(length as usize)?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| invalid("a string that is not UTF-8"))
    }

    fn binary(&mut self) -> Result<&'b [u8], ValueError> {
        let length = match self.peek()? {
            Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => read::read_bin_len(&mut self.bytes),
            _ => read::read_str_len(&mut self.bytes),
        };
        let length = expect(length, "the notation of a type")?;
        self.take(length as usize)
    }

    fn array_length(&mut self, expected: &str) -> Result<usize, ValueError> {
        let length = read::read_array_len(&mut self.bytes);
        expect(length, expected).map(|length| length as usize)
    }

    fn map_length(&mut self, expected: &str) -> Result<usize, ValueError> {
        let length = read::read_map_len(&mut self.bytes);
        expect(length, expected).map(|length| length as usize)
    }

    fn peek(&self) -> Result<Marker, ValueError> {
        self.bytes
            .first()
            .map(|byte| Marker::from_u8(*byte))
            .ok_or_else(|| invalid("the bytes end too early"))
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], ValueError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(length) else {
            return Err(invalid("the bytes end too early"));
        };
        self.bytes = rest;
        Ok(taken)
    }
}

fn expect<T, E: Into<NumValueReadError>>(read: Result<T, E>, expected: &str) -> Result<T, ValueError> {
    read.map_err(|error| match error.into() {
        NumValueReadError::TypeMismatch(_) => invalid(format!("expected {expected}")),
        _ => invalid("the bytes end too early"),
    })
}

fn invalid(problem: impl Into<String>) -> ValueError {
    ValueError::new(problem)
}
