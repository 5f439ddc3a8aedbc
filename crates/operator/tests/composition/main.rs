//! Compositions on a real control plane: one operator for all tests, with no more rights than `deploy/roles` gives it, which
//! calls its functions over mutual TLS.

#![expect(clippy::unwrap_used, reason = "a panic in a test's helper is a failed test")]

mod breaker;
mod composed;
mod connection;
mod definitions;
mod fixture;
mod functions_found;
mod platform;
mod propagation;
mod requirements;
mod revisions;
mod scopes;
mod seed;
