//! What an object has at a path.

use serde_json::Value;

use crate::{FieldPath, PathElement, Schema, items};

/// The value of `object` at `path`; list elements are found by the key or value that names them.
pub fn value_at<'v>(object: &'v Value, path: &FieldPath, schema: &Schema) -> Option<&'v Value> {
    let (mut value, mut shape) = (object, schema.root());
    for element in path.elements() {
        value = match (element, value) {
            (PathElement::Field(name), Value::Object(fields)) => fields.get(&**name)?,
            (PathElement::Field(_), _) => return None,
            (element, Value::Array(list)) => items::find(list, element, shape.list_kind())?.1,
            _ => return None,
        };
        shape = shape.step(element);
    }
    Some(value)
}
