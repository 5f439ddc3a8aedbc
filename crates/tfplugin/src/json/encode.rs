//! Encodes values as JSON, for tests: Terraform itself writes states.

use serde::ser::{Error as _, Serialize, SerializeStruct, Serializer};
use serde_json::value::RawValue;

use crate::path::Path;
use crate::types::Type;
use crate::value::{Value, ValueError};

/// Unknown values have no JSON and are an error.
pub(crate) fn encode(value: Value, ty: &Type) -> Result<Vec<u8>, ValueError> {
    let value = value.conform(ty)?;
    serde_json::to_vec(&Encoded(&value))
        .map_err(|error| ValueError { path: Path::root(), problem: error.to_string() })
}

struct Encoded<'v>(&'v Value);

impl Serialize for Encoded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Unknown(_) => Err(S::Error::custom("an unknown value has no JSON")),
            Value::Bool(value) => serializer.serialize_bool(*value),
            // Raw, because serde_json has no numbers of this precision.
            Value::Number(number) => match RawValue::from_string(number.to_string()) {
                Ok(digits) => digits.serialize(serializer),
                Err(_) => Err(S::Error::custom("an infinite number has no JSON")),
            },
            Value::String(text) => serializer.serialize_str(text),
            Value::List(values) => serializer.collect_seq(values.iter().map(Encoded)),
            Value::Set(values) => serializer.collect_seq(values.iter().map(Encoded)),
            Value::Object(object) => {
                serializer.collect_map(object.iter().map(|(name, value)| (name, Encoded(value))))
            }
            Value::Dynamic(dynamic) => {
                let mut typed = serializer.serialize_struct("Dynamic", 2)?;
                typed.serialize_field("value", &Encoded(&dynamic.value))?;
                typed.serialize_field("type", &dynamic.ty.to_json())?;
                typed.end()
            }
        }
    }
}
