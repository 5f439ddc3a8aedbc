//! Which fields a manifest writes: the set its manager will hold once the manifest is applied.

use serde_json::Value;

use crate::{FieldPath, FieldSet, ListKind, PathElement, Schema, Shape, items};

#[cfg(test)]
mod tests;

/// The fields that `body` writes, by the rules of server-side apply.
///
/// What the server keeps to itself is included (see [`identity`]): a manifest does write its `kind`.
pub fn written(body: &Value, schema: &Schema) -> FieldSet {
    below(body, schema.root())
}

/// The fields that say which object it is. Every manifest has them, and no manager holds them.
pub fn identity() -> FieldSet {
    let paths: [&[&str]; 4] = [&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];
    paths.iter().map(|names| FieldPath::of_fields(names.iter().copied())).collect()
}

/// What is written below `value`.
fn below(value: &Value, shape: Shape<'_>) -> FieldSet {
    match value {
        Value::Object(fields) if !shape.is_atomic() => {
            let mut set = FieldSet::with_capacity(fields.len());
            for (name, child) in fields {
                let shape_below = shape.field(name);
                let below = below(child, shape_below);
                // Keys of a map are held for themselves, fields of a type only for what is in them.
                let member = is_leaf(child, shape_below) || shape.is_map();
                set.add(PathElement::field(name), member, below);
            }
            set
        }
        Value::Array(list) => items_below(list, shape),
        _ => FieldSet::new(),
    }
}

/// Whether writing `value` means to hold it as a whole.
fn is_leaf(value: &Value, shape: Shape<'_>) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty() || shape.is_atomic(),
        Value::Array(_) => shape.list_kind() == ListKind::Atomic,
        _ => true,
    }
}

fn items_below(list: &[Value], shape: Shape<'_>) -> FieldSet {
    let kind = shape.list_kind();
    let mut set = FieldSet::new();
    if kind == ListKind::Atomic {
        return set;
    }
    for named in items::by_name(list, kind) {
        // Items of the same name cannot be told apart, so they are held together as a whole.
        let below = if let [item] = *named.items { below(item, shape.element()) } else { FieldSet::new() };
        set.add(named.name.to_element(), true, below);
    }
    set
}
