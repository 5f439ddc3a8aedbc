//! Fields with something about each, as the tree that managedFields have: `f:data` above `f:level`. It is much smaller than
//! a list of paths.

use std::collections::BTreeMap;

use fields::{FieldPath, PathElement};
use serde_json::{Map, Value};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The key of a field that has others below it.
const ITSELF: &str = ".";

/// Adds what is kept of the field at `path`, which is not a map.
pub(crate) fn insert(fields: &mut Map<String, Value>, path: &[PathElement], entry: Value) {
    let Some((element, rest)) = path.split_first() else {
        fields.insert(ITSELF.to_owned(), entry);
        return;
    };
    match fields.entry(element.to_wire()).or_insert(Value::Null) {
        empty @ Value::Null if rest.is_empty() => *empty = entry,
        Value::Object(below) => insert(below, rest, entry),
        other => {
            let mut below = Map::new();
            if !other.is_null() {
                below.insert(ITSELF.to_owned(), other.take());
            }
            insert(&mut below, rest, entry);
            *other = Value::Object(below);
        }
    }
}

/// Reads the tree back; `read` understands what is kept of a field.
pub(crate) fn collect<T>(
    fields: &Map<String, Value>,
    read: &impl Fn(&Value) -> Result<T, Failure>,
) -> Result<BTreeMap<FieldPath, T>, Failure> {
    let mut found = BTreeMap::new();
    collect_below(fields, &FieldPath::root(), read, &mut found)?;
    Ok(found)
}

fn collect_below<T>(
    fields: &Map<String, Value>,
    above: &FieldPath,
    read: &impl Fn(&Value) -> Result<T, Failure>,
    found: &mut BTreeMap<FieldPath, T>,
) -> Result<(), Failure> {
    for (name, value) in fields {
        let path = match name.as_str() {
            ITSELF => above.clone(),
            name => above.child(PathElement::from_wire(name)?),
        };
        match value {
            Value::Object(below) => collect_below(below, &path, read, found)?,
            entry => drop(found.insert(path, read(entry)?)),
        }
    }
    Ok(())
}
