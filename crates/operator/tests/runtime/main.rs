//! Operators as a whole on a real API server, as an account that has only the rights that `deploy/` grants.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod deploy;
mod operators;
