//! `plimsoll ui` against a real API server: who may see it, what it says, and how it moves.

#![expect(clippy::unwrap_used, reason = "all of this is tests, also what has no #[test] of its own")]

mod access;
mod browser;
mod data;
mod inventories;
mod live;
mod server;
