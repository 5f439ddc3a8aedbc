//! `plimsoll sandbox` as users run it: with real programs if it has to start, with stand-ins otherwise.

#![expect(clippy::unwrap_used, reason = "all of this is tests, also what has no #[test] of its own")]

mod cache;
mod disk_full;
mod failures;
mod harness;
mod installed;
mod leftovers;
mod lifecycle;
#[path = "../cluster/schema.rs"]
mod schema;
mod stock;
mod workload;
