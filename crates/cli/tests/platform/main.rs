//! `plimsoll plan` of a changed platform, and `plimsoll inspect`: with a running operator that has the rights of `deploy/`, and a real
//! function.

#![expect(clippy::unwrap_used, reason = "a panic in a test's helper is a failed test")]

mod fixture;
#[path = "../cluster/schema.rs"]
mod schema;

mod inspect;
mod operators;
mod plan;
mod rights;
mod states;
