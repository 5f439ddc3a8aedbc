//! A small cluster in memory, in virtual time, and the real operator in it, which can be killed or frozen at any call; and
//! the invariants that hold whatever happens to them.
//!
//! The seed decides everything that happens, so `PLIMSOLL_SEED=<number>` plays one history again; `PLIMSOLL_CASES=<number>`
//! plays more.

use mimalloc::MiMalloc;

mod controllers;
mod function;
mod histories;
mod incidents;
mod kinds;
mod managed_fields;
mod network;
mod operator;
mod request;
mod rules;
mod server;
mod truth;
mod user;

/// A history is thousands of small trees of JSON, of which glibc's allocator takes a third of the time.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;
