//! The custom resources of the kinds at Oracle Cloud, which follow from their descriptions.

mod cel;
mod definition;
mod rights;
mod schema;

pub use definition::{VERSION, crd_name, definition, definitions};
pub use rights::{rights, role};
pub(crate) use schema::observed_name;
