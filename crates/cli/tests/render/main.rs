//! `plimsoll render` and the engine behind it as whole commands.

#![expect(clippy::unwrap_used, reason = "all of this is tests, also what has no #[test] of its own")]

mod files;
mod fixture;
mod internal;
mod official;
#[path = "../cluster/schema.rs"]
mod schema;
