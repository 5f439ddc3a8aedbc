//! The operator as a process that is killed, starved and kept waiting, with the rights that its deployment gives it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod frozen;
mod idle;
mod kinds;
mod matrix;
#[path = "../operations/objects.rs"]
mod objects;
mod place;
mod process;
mod soak;
