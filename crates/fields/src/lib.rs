//! Where things are in an object: paths, sets of paths, and what an object holds at them.
//!
//! Everything here is a function of values: no cluster, no files, no clock. A field is named the way the API server
//! names it (list elements by merge key or value), and turned into text only for people.

pub mod jsonpath;
mod order;
mod path;
mod schema;
mod set;

#[cfg(test)]
mod arbitrary;

pub use path::{ElementError, FieldPath, ListKey, PathElement, SetValue};
pub use schema::{KeyField, ListKind, Schema, Shape};
pub use set::{DecodeError, Entry, FieldSet};
