//! `plimsoll sandbox` as people use it: the real thing where it must start, stand-ins where it must not.

#![expect(clippy::unwrap_used, reason = "all of this is tests, also what has no #[test] of its own")]

mod cache;
mod failures;
mod harness;
mod leftovers;
mod lifecycle;
mod stock;
mod workload;
