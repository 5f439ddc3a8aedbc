//! Encodes values.

use std::iter::repeat;

use rmp::encode::{self as write, ByteBuf, ValueWriteError};

use super::{MAX_REFINEMENT, REFINED_UNKNOWN, refinement_key};
use crate::types::Type;
use crate::value::{Bound, Number, Object, Refinement, Value, ValueError, WireNumber};

/// Encodes `value` as `ty`, after [`Value::conform`] has filled in what it omits.
pub(crate) fn encode(value: Value, ty: &Type) -> Result<Vec<u8>, ValueError> {
    Ok(encode_complete(&value.conform(ty)?, ty))
}

/// Encodes a value that conforms to `ty`.
pub(crate) fn encode_complete(value: &Value, ty: &Type) -> Vec<u8> {
    let mut writer = Writer(ByteBuf::new());
    writer.value(value, ty);
    writer.0.into_vec()
}

/// Writes values that conform to their types, to memory.
struct Writer(ByteBuf);

impl Writer {
    fn value(&mut self, value: &Value, ty: &Type) {
        match (value, ty) {
            (Value::Null, _) => {
                done(write::write_nil(&mut self.0).map_err(ValueWriteError::InvalidMarkerWrite));
            }
            (Value::Unknown(refinement), _) => self.unknown(refinement, ty),
            (Value::Bool(value), _) => self.bool(*value),
            (Value::Number(number), _) => self.number(number),
            (Value::String(text), _) => self.text(text),
            (Value::List(values), Type::Tuple(types)) => self.elements(values, types),
            (Value::List(values), Type::List(element)) => self.elements(values, repeat(&**element)),
            (Value::Set(values), Type::Set(element)) => self.elements(values, repeat(&**element)),
            (Value::Object(object), Type::Map(element)) => self.entries(object, |_| element),
            (Value::Object(object), Type::Object(attributes)) => {
                self.entries(object, |name| &attributes[name]);
            }
            (Value::Dynamic(dynamic), _) => {
                self.array(2);
                done(write::write_bin(&mut self.0, &dynamic.ty.to_json_bytes()));
                self.value(&dynamic.value, &dynamic.ty);
            }
            (Value::List(_) | Value::Set(_) | Value::Object(_), _) => {
                unreachable!("the value conforms to its type")
            }
        }
    }

    fn elements<'t>(&mut self, values: &[Value], types: impl IntoIterator<Item = &'t Type>) {
        self.array(values.len());
        for (value, ty) in values.iter().zip(types) {
            self.value(value, ty);
        }
    }

    fn entries<'t>(&mut self, object: &Object, ty: impl Fn(&str) -> &'t Type) {
        done(write::write_map_len(&mut self.0, length(object.len())));
        for (name, value) in object.iter() {
            self.text(name);
            self.value(value, ty(name));
        }
    }

    fn unknown(&mut self, refinement: &Refinement, ty: &Type) {
        let mut map = Self(ByteBuf::new());
        let keys = map.refinement(refinement, ty);
        if keys == 0 || map.0.as_slice().len() >= MAX_REFINEMENT {
            // The shortest extension has one byte.
            done(write::write_ext_meta(&mut self.0, 1, 0).map(drop));
            self.0.as_mut_vec().push(0);
            return;
        }
        let mut head = ByteBuf::new();
        done(write::write_map_len(&mut head, keys));
        let (head, body) = (head.into_vec(), map.0.into_vec());
        done(write::write_ext_meta(&mut self.0, length(head.len() + body.len()), REFINED_UNKNOWN).map(drop));
        self.0.as_mut_vec().extend(head);
        self.0.as_mut_vec().extend(body);
    }

    /// Writes the refinements that apply to `ty` and returns the number of keys.
    fn refinement(&mut self, refinement: &Refinement, ty: &Type) -> u32 {
        if *ty == Type::Dynamic {
            return 0;
        }
        let mut keys = 0;
        let mut key = |writer: &mut Self, key| {
            keys += 1;
            writer.int(key);
        };
        if refinement.not_null {
            key(self, refinement_key::NULLNESS);
            self.bool(false);
        }
        match ty {
            Type::String if !refinement.prefix.is_empty() => {
                key(self, refinement_key::PREFIX);
                self.text(short_prefix(&refinement.prefix));
            }
            Type::Number => {
                let bounds = [(refinement_key::MIN, &refinement.min), (refinement_key::MAX, &refinement.max)];
                for (name, bound) in bounds {
                    if let Some(bound) = bound {
                        key(self, name);
                        self.bound(bound);
                    }
                }
            }
            Type::List(_) | Type::Set(_) | Type::Map(_) => {
                let (min, max) = (refinement.min_length, refinement.max_length);
                for (name, length) in [(refinement_key::MIN_LENGTH, min), (refinement_key::MAX_LENGTH, max)] {
                    if let Some(length) = length {
                        key(self, name);
                        self.int(i64::try_from(length).unwrap_or(i64::MAX));
                    }
                }
            }
            _ => {}
        }
        keys
    }

    fn bound(&mut self, bound: &Bound) {
        self.array(2);
        self.number(&bound.number);
        self.bool(bound.inclusive);
    }

    fn number(&mut self, number: &Number) {
        match number.to_wire() {
            WireNumber::Int(int) => self.int(int),
            WireNumber::Float(float) => done(write::write_f64(&mut self.0, float)),
            WireNumber::Text(text) => self.text(&text),
        }
    }

    fn int(&mut self, int: i64) {
        done(write::write_sint(&mut self.0, int).map(drop));
    }

    fn bool(&mut self, value: bool) {
        done(write::write_bool(&mut self.0, value).map_err(ValueWriteError::InvalidMarkerWrite));
    }

    fn text(&mut self, text: &str) {
        done(write::write_str(&mut self.0, text));
    }

    fn array(&mut self, elements: usize) {
        done(write::write_array_len(&mut self.0, length(elements)).map(drop));
    }
}

/// Terraform keeps at most 256 bytes of a prefix; the cut must be between characters.
fn short_prefix(prefix: &str) -> &str {
    let mut end = prefix.len().min(255);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    &prefix[..end]
}

fn length(elements: usize) -> u32 {
    u32::try_from(elements).expect("a value with 2^32 elements does not fit into memory")
}

fn done<E: write::RmpWriteErr>(written: Result<impl Sized, ValueWriteError<E>>) {
    written.expect("writing to memory does not fail");
}
