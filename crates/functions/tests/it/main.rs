//! The client against the server, over real connections on loopback.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in tests, but clippy recognises only test functions as tests here"
)]

mod calls;
mod certificates;
mod faults;
mod fixture;
mod memory;
mod python;
mod starvation;
