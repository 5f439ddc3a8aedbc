//! Compositions on a real control plane: one operator for all tests, with no more rights than `deploy/roles` gives it, which
//! calls its functions over mutual TLS.

#![expect(clippy::unwrap_used, reason = "a panic in a test's helper is a failed test")]

mod breaker;
mod churn;
mod composed;
mod conflicts;
mod connection;
mod crash;
mod definitions;
mod deleted_definition;
mod failures;
mod faults;
mod fixture;
mod function_health;
mod hostile_requests;
mod impersonation;
mod isolation;
mod kubectl;
mod operators;
mod overloaded;
mod packages;
mod platform;
mod propagation;
mod python_sdk;
mod recordings;
mod requirements;
mod restart;
mod restored;
mod revisions;
mod rivals;
mod scenarios;
mod scopes;
mod shards;
mod takeover;
mod tenants;
mod thawed;
mod unserved;
mod waiting;
