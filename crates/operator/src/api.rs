//! The custom resources of the kinds at Oracle Cloud, which follow from their descriptions.

mod definition;
mod schema;

pub use definition::{VERSION, crd_name, definition, definitions};
pub(crate) use schema::observed_name;
