//! JSON fixtures.

use serde_json::Value;

/// The object `base`, with `fields` set in it.
pub(super) fn with(mut base: Value, fields: Value) -> Value {
    match (&mut base, fields) {
        (Value::Object(base), Value::Object(fields)) => base.extend(fields),
        (base, fields) => panic!("{base} and {fields} should be objects"),
    }
    base
}
