//! Where things are in an object: paths, sets of paths, and what an object holds at them.
//!
//! Everything here is a function of values: no cluster, no files, no clock. A field is named the way the API server
//! names it (list elements by merge key or value), and turned into text only for people.
//!
//! ```text
//! managedFields ──▶ FieldSet ─┐
//! body ─ written ──▶ FieldSet ─┼─ leaf_values, project ──▶ values ─ flat_values ──▶ Terraform's text maps
//! live object ────────────────┘                            diff, equal (as Kubernetes compares)
//! apiVersion, kind ──▶ Schema: which lists are keyed, what is held whole, where quantities are
//! ```
//!
//! ```
//! use fields::{FieldSet, Positions, Schema, leaf_values};
//! use serde_json::json;
//!
//! let live = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [
//!     {"name": "sidecar"}, {"name": "web", "image": "nginx"},
//! ]}});
//! let held = FieldSet::from_json(r#"{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}"#)?;
//! let schema = Schema::of(&live);
//! let values = leaf_values(&live, &held, &schema);
//! let (path, image) = values.first_key_value().unwrap();
//! assert_eq!(path.to_string(), "spec.containers[name=web].image");
//! assert_eq!(Positions::of(&live, &schema).print(path), "spec.containers[1].image");
//! assert_eq!(*image, json!("nginx"));
//! # Ok::<(), fields::DecodeError>(())
//! ```

mod canonical;
pub mod codes;
mod diff;
mod equality;
mod flat;
mod ignore;
mod items;
pub mod jsonpath;
mod lookup;
mod merge;
mod named;
mod order;
mod path;
mod positions;
mod projection;
mod quantity;
mod schema;
mod set;
mod written;

#[cfg(test)]
mod against_go;
#[cfg(test)]
mod arbitrary;

pub use canonical::canonical;
pub use codes::CODES;
pub use diff::{Change, diff};
pub use equality::equal;
pub use flat::{flat_managers, flat_text, flat_values};
pub use ignore::{INTERNAL_ANNOTATIONS, IgnoreFields, Ignored};
pub use lookup::value_at;
pub use named::NamedField;
pub use path::{ElementError, FieldPath, ListKey, Notation, PathElement, SetValue};
pub use positions::Positions;
pub use projection::{Leaf, leaf_columns, leaf_values, project};
pub use quantity::Quantity;
pub use schema::{KeyField, ListKind, Schema, Shape};
pub use set::{DecodeError, Entry, FieldSet, fuzz as fuzz_field_set};
pub use written::{identity, written};
