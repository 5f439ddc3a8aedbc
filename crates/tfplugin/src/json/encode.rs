//! Encodes values as JSON.

use serde_json::Value as Json;

use super::JsonError;
use crate::path::Path;
use crate::types::Type;
use crate::value::{ConformError, Value};

/// Unknown values have no JSON and are an error.
pub fn encode(value: Value, ty: &Type) -> Result<Vec<u8>, JsonError> {
    let value = value.conform(ty).map_err(|error: ConformError| JsonError {
        problem: format!("expected {}, found {}", error.expected, error.found),
        path: error.path,
    })?;
    if !value.is_wholly_known() {
        return Err(JsonError { path: Path::root(), problem: "an unknown value has no JSON".to_owned() });
    }
    let mut out = String::new();
    write(&value, &mut out);
    Ok(out.into_bytes())
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => out.push_str(&quoted(text)),
        Value::List(values) => write_elements(values, out),
        Value::Set(values) => write_elements(values, out),
        Value::Object(object) => {
            out.push('{');
            for (position, (name, value)) in object.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                out.push_str(&quoted(name));
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Dynamic(dynamic) => {
            out.push_str(r#"{"value":"#);
            write(&dynamic.value, out);
            out.push_str(r#","type":"#);
            out.push_str(&dynamic.ty.to_json().to_string());
            out.push('}');
        }
        Value::Unknown(_) => unreachable!("unknown values were refused"),
    }
}

fn write_elements(values: &[Value], out: &mut String) {
    out.push('[');
    for (position, value) in values.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        write(value, out);
    }
    out.push(']');
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}
