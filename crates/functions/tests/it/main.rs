//! The engine's side and a function's side against each other, over real connections on loopback.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in tests, and in an integration test it knows only the test functions as such"
)]

mod calls;
mod certificates;
mod faults;
mod fixture;
mod foreign;
mod starvation;
