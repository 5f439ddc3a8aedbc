//! The provider for real clients without any settings, as `plimsoll terraform install` leaves it.

#![expect(clippy::unwrap_used, reason = "all of this is tests, also what has no #[test] of its own")]

#[path = "../book/blocks.rs"]
mod blocks;
mod install;
mod left_behind;
mod left_by_0_1;
mod left_by_go;
#[path = "../cluster/schema.rs"]
mod schema;
mod user;
